"""A question to the person in front of the host, as a typed request, and the answer.

Rule 1: a question reaches a person or fails; nobody else answers for them. Must not know: how it is shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, final

from greenroom.core import frozen


@final
@frozen(kw_only=True)
class Option:
    """One answer to choose.

    Attributes:
        label: What is shown to choose, in one to five words.
        description: What choosing it means.
    """

    label: str
    description: str


@final
@frozen(kw_only=True)
class Question:
    """One question with its answers to choose from; the person may also write one.

    Attributes:
        question: The question, as a sentence.
        header: What it is about, at most 12 characters.
        options: Two to four answers.
        multiSelect: Whether several may be chosen.
    """

    question: str
    header: str
    options: list[Option]
    multiSelect: bool = False  # noqa: N815 - the name that models know


@final
@frozen(kw_only=True)
class QuestionRequest:
    """A request of questions to the person."""

    actor: str
    """Id of the agent that asks."""
    tool_use_id: str
    questions: tuple[Question, ...]


@final
@frozen(kw_only=True)
class QuestionAnswers:
    """The answers of the person."""

    answers: tuple[tuple[str, ...], ...] = ()
    """For each question the labels that were chosen, or the one text that was written; empty if they declined."""


AskUser: TypeAlias = Callable[[QuestionRequest], Awaitable[QuestionAnswers]]
"""Asks the person and returns the answers. On cancellation, the questions are withdrawn."""

"""Suggestions of what a person may say next, for an input line.

The model is asked only when it has finished: in the middle of a turn there is nothing to suggest. Only a
line that a person would write is a suggestion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from greenroom.agents._forked import run_forked
from greenroom.agents._side_run import SideRun
from greenroom.core import UsageError
from greenroom.core.texts import reminder
from greenroom.models import Message

SUGGESTION: Final = "prompt suggestion"
MAX_WORDS: Final = 12
MAX_CHARS: Final = 100
_NOTHING: Final = frozenset({"nothing", "none", "no suggestion", "n/a"})
_AGENTS_VOICE: Final = (
    "i'll ",
    "i will ",
    "i've ",
    "i have ",
    "let me ",
    "here's ",
    "here is ",
    "you can ",
    "you should ",
)
_QUOTES: Final = "\"'`“”‘’*"

DIRECTIVE: Final = reminder(
    "Say what the user would most likely write next, as they would write it: from what they asked for, and what is left of it. "
    "2 to 12 words on one line, nothing else; no question to the user, no praise, nothing that they did not ask for in some "
    "way. Calls of tools are not run here. Where the next step is not plain, answer NOTHING."
)


def has_finished(messages: Sequence[Message]) -> bool:
    """Return whether a conversation ends with what the model had to say."""
    return bool(messages) and messages[-1].role == "assistant" and not messages[-1].tool_uses


def read_suggestion(text: str) -> str:
    """Return the suggestion in what the model said; empty where it holds none."""
    lines = text.strip().splitlines()
    line = " ".join(lines[0].split()).strip(_QUOTES).strip() if len(lines) == 1 else ""
    low = line.lower()
    if low.rstrip(".!") in _NOTHING or low.startswith(_AGENTS_VOICE):
        return ""
    return line if len(line) <= MAX_CHARS and len(line.split()) <= MAX_WORDS else ""


async def suggest_prompt(place: SideRun) -> str:
    """Return what the user may want to say next; empty where there is nothing to suggest.

    Cancelled, it leaves nothing but what the request had used.

    Raises:
        ProviderError: The model could not be asked.
        ForkFailed: It called tools and said nothing.
    """
    if not has_finished(place.conversation.messages):
        return ""
    return read_suggestion((await run_forked(place, DIRECTIVE, purpose=SUGGESTION, max_rounds=1)).text)


QUESTION: Final = "side question"
_ABOUT: Final = (
    "The user asks something aside. Answer in this one reply, from what this conversation holds already. You are a copy that is "
    "gone afterwards, while the work goes on without you: do not go on with it, and do not announce what you would look up or do. "
    "Calls of tools are not run here. Where the conversation does not hold the answer, say so."
)


def question_directive(question: str) -> str:
    """Return what the model is told for a side question.

    Raises:
        UsageError: It is blank.
    """
    if not question.strip():
        raise UsageError("a side question needs text; this one is blank")
    return f"{reminder(_ABOUT)}\n\n{question.strip()}"


async def ask_aside(place: SideRun, question: str) -> str:
    """Return the model's answer to a question about the conversation as it is now.

    Cancelled, it leaves nothing but what the request had used.

    Raises:
        UsageError: The question is blank.
        ProviderError: The model could not be asked.
        ForkFailed: It called tools and said nothing.
    """
    result = await run_forked(place, question_directive(question), purpose=QUESTION, max_rounds=1)
    return result.text.strip()

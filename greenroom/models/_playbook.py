"""A rule-based model: one pure function per agent definition answers from the conversation alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias, final

from greenroom.core import UsageError
from greenroom.models._answer_stream import AnswerStream
from greenroom.models._canned import PIECES, Canned, CannedSource
from greenroom.models._clean_text import clean
from greenroom.models._model import ModelStream
from greenroom.models._types import ModelRequest
from greenroom.models._written_answers import AnswerLike, as_answer, estimate_usage, name_calls

Play: TypeAlias = Callable[[ModelRequest], AnswerLike]
"""Returns the next answer of one kind of agent. Its only memory is the conversation in the request."""


@final
class PlaybookModel:
    """A model that answers by rules: no network, no cost, and the same conversation always gets the same answer.

    So an agent on it resumes and replays. Ids of tool calls are derived from the agent's id and the number of the call
    in the conversation; usage is an estimate from the number of characters, see `estimate_tokens`.

    Args:
        plays: The function of each agent definition.
        wait_s: Seconds before the first delta of each answer, for a show that people can follow.
    """

    def __init__(
        self, plays: Mapping[str, Play], *, name: str = "playbook", wait_s: float = 0.0, pieces: int = PIECES
    ) -> None:
        self._plays = dict(plays)
        self._name = clean(name)
        self._wait_s = wait_s
        self._pieces = pieces

    def __repr__(self) -> str:
        return f"<PlaybookModel {self._name!r} for {', '.join(sorted(self._plays))}>"

    @property
    def name(self) -> str:
        """The name given to it."""
        return self._name

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Do nothing: there are no connections."""
        yield

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Answer by the function of the request's definition.

        Raises:
            UsageError: No function was given for that definition.
        """
        if request.definition not in self._plays:
            known = ", ".join(repr(name) for name in sorted(self._plays)) or "none"
            raise UsageError(f"the playbook has no function for definition {request.definition!r}; it has {known}")
        return AnswerStream(CannedSource(self._prepare, request, model=self._name, pieces=self._pieces))

    def _prepare(self, request: ModelRequest) -> Canned:
        answer = as_answer(self._plays[request.definition](request))
        return Canned(
            answer=answer,
            call_ids=name_calls(request, answer),
            usage=answer.usage or estimate_usage(request, answer),
            id=f"msg_{len(request.messages)}",
            wait_s=self._wait_s,
        )

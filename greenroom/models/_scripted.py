"""A model for tests: it answers from a script, and fails on surprises and leftovers."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, TypeAlias, final

import attrs

from greenroom.core import ProviderError, UsageError
from greenroom.models._answer_stream import AnswerStream
from greenroom.models._canned import PIECES, Canned, CannedSource
from greenroom.models._clean_text import clean
from greenroom.models._model import ModelStream
from greenroom.models._token_usage import Usage
from greenroom.models._types import ModelRequest
from greenroom.models._written_answers import AnswerLike, as_answer, name_calls

ANYONE: Final = "*"
"""The key of answers for requests without a list of their own."""


@final
class ScriptError(UsageError):
    """Script and requests did not match.

    Attributes:
        surprises: A line for each request without a scripted answer.
        leftovers: A line for each list with unused answers.
    """

    def __init__(self, *, surprises: tuple[str, ...] = (), leftovers: tuple[str, ...] = ()) -> None:
        super().__init__("; ".join((*surprises, *leftovers)))
        self.surprises = surprises
        self.leftovers = leftovers


@attrs.frozen(kw_only=True)
class ScriptStep:
    """One scripted answer with all options."""

    answer: AnswerLike = ()
    error: ProviderError | None = None
    """Raised after `error_after` deltas of the answer, or after all of them if it has fewer."""
    error_after: int = 0
    wait_s: float = 0.0
    """Seconds before the first delta, on Trio's clock."""
    matches: Callable[[ModelRequest], bool] | None = None
    """A request for which this returns False is a surprise."""


Scripted: TypeAlias = AnswerLike | ProviderError | ScriptStep
ScriptEntry: TypeAlias = Scripted | Callable[[ModelRequest], Scripted]


@final
class ScriptedModel:
    """A model that answers requests from a list, in the order in which they are sent.

    An entry of the script is a text, a `Call`, a list of both, or a `WrittenAnswer` with a stop reason or usage; an error
    of the provider, to be raised; a `ScriptStep`, which has all options; or a function that makes one of these from the request.

    A request counts as sent when its stream is first read. Calls without an id get one derived from the conversation,
    as in `PlaybookModel`; answers without usage cost nothing.

    Args:
        script: A list for all requests, or lists by agent id or definition; an agent's id is looked up first, then its
            definition, then `"*"`.
        wait_s: Seconds before the first delta of each answer that does not set it itself.
        pieces: Pieces in which each text and each tool input is streamed.
        keeps_requests: True to fill `requests`; it holds every conversation at every length, so not for long runs.

    Attributes:
        requests: Every request that was sent, in order.
    """

    def __init__(
        self,
        script: Iterable[ScriptEntry] | Mapping[str, Iterable[ScriptEntry]],
        *,
        name: str = "scripted",
        wait_s: float = 0.0,
        pieces: int = PIECES,
        keeps_requests: bool = True,
    ) -> None:
        lists = script if isinstance(script, Mapping) else {ANYONE: script}
        self._entries = {key: deque(entries) for key, entries in lists.items()}
        self._name = clean(name)
        self._wait_s = wait_s
        self._pieces = pieces
        self._surprises: list[str] = []
        self.requests: list[ModelRequest] = []
        self._keeps_requests = keeps_requests
        self._asked = 0

    def __repr__(self) -> str:
        left = sum(len(entries) for entries in self._entries.values())
        return f"<ScriptedModel {self._name!r} asked={self._asked} left={left}>"

    @property
    def name(self) -> str:
        """The name given to it."""
        return self._name

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Check at the end that the whole script was used; the body's own exception takes precedence.

        Raises:
            ScriptError: There were surprises or leftovers.
        """
        yield
        self.assert_done()

    def assert_done(self) -> None:
        """Check that every request was scripted, and every scripted answer used.

        Raises:
            ScriptError: The check failed.
        """
        leftovers = tuple(f"{len(left)} left for {key!r}" for key, left in self._entries.items() if left)
        if self._surprises or leftovers:
            raise ScriptError(surprises=tuple(self._surprises), leftovers=leftovers)

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Answer from the script; a surprise is raised by the first read, and again at the end."""
        return AnswerStream(CannedSource(self._prepare, request, model=self._name, pieces=self._pieces))

    def _prepare(self, request: ModelRequest) -> Canned:
        self._asked += 1
        if self._keeps_requests:
            self.requests.append(request)
        scripted = self._take(request)
        if isinstance(scripted, ScriptStep):
            step, answer = scripted, as_answer(scripted.answer)
        else:
            step, answer = _PLAIN, as_answer(scripted)
        return Canned(
            answer=answer,
            call_ids=name_calls(request, answer),
            usage=answer.usage or _NOTHING,
            id=f"msg_{self._asked}",
            wait_s=step.wait_s or self._wait_s,
            error=step.error,
            error_after=step.error_after,
        )

    def _take(self, request: ModelRequest) -> AnswerLike | ScriptStep:
        by_key = self._entries
        entries = by_key.get(request.agent)
        if entries is None:
            entries = by_key.get(request.definition)
        if entries is None:
            entries = by_key.get(ANYONE)
        if not entries:
            raise self._surprised(request, "no answer is scripted for it")
        entry = entries[0]
        scripted: Scripted = entry(request) if callable(entry) else entry
        if isinstance(scripted, ProviderError):
            scripted = ScriptStep(error=scripted)
        elif isinstance(scripted, ScriptStep) and scripted.matches is not None and not scripted.matches(request):
            raise self._surprised(request, "the next step does not match it")
        entries.popleft()
        return scripted

    def _surprised(self, request: ModelRequest, why: str) -> ScriptError:
        last = request.messages[-1].text if request.messages else ""
        who = f"agent={request.agent!r} definition={request.definition!r}"
        self._surprises.append(f"request {self._asked} ({who}, ends {last[-80:]!r}): {why}")
        return ScriptError(surprises=(self._surprises[-1],))


_NOTHING: Final = Usage()
_PLAIN: Final = ScriptStep()
"""The options of an answer that is scripted without a step."""

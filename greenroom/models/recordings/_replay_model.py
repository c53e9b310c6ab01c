"""A model that replays a recording of an earlier run, and fails at the first request that differs.

Rule 1: requests are compared by agent: the k-th request of one with the k-th of its recording. Rule 2: an agent with
another id than in the recording takes the place of the first one that began with the same request. Rule 3: the whole
input of the model is compared, except the agent's id; a difference is final, and every later request fails with the
first one.

Must not know: a provider, the network, waits of the recorded run.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import chain
from typing import Any, Final, final

import attrs
import trio

from greenroom.core import UsageError
from greenroom.models._answer_stream import AnswerStream
from greenroom.models._model import ModelStream
from greenroom.models._token_usage import Usage
from greenroom.models._types import Block, Delta, ModelRequest, ModelResponse, StreamRestarted, TextBlock, UsageDelta
from greenroom.models.recordings._plain_values import (
    JsonObject,
    block_of,
    delta_of,
    error_of,
    plain,
    request_of,
    response_of,
)
from greenroom.models.recordings._recording_file import ModelRecording, RecordedExchange, piece_of

_FIRST: Final = ("definition", "model", "system", "tools")
"""The fields compared first: a difference in one explains those in others."""
_DEFAULTS: Final = {
    field.name: plain(field.default) for field in attrs.fields(ModelRequest) if field.default is not attrs.NOTHING
}
_SHOWN: Final = 60
"""Characters shown of each of two texts, from a little before they differ."""
_BEFORE: Final = 16
_MISSING: Final = "(nothing)"
CUT_WAIT_S: Final = 60.0
"""Seconds that a request that was cancelled in the recorded run waits for its cancellation."""


@final
class ReplayMismatch(UsageError):
    """A run differs from its recording: the first request that differs.

    Attributes:
        agent: Id of the requesting agent, in this run.
        number: Number of its request, from 1.
        path: Where the requests differ, like `messages[3].content[0].text`; empty if there is none to compare with.
        recorded: The recorded value, as plain values; None if absent.
        asked: The present value; None if absent.
    """

    def __init__(
        self, why: str, *, agent: str, number: int, path: str = "", recorded: Any = None, asked: Any = None
    ) -> None:
        super().__init__(why)
        self.agent = agent
        self.number = number
        self.path = path
        self.recorded = recorded
        self.asked = asked

    def again(self) -> ReplayMismatch:
        """Return an equal error that has not been raised yet."""
        return ReplayMismatch(
            str(self),
            agent=self.agent,
            number=self.number,
            path=self.path,
            recorded=self.recorded,
            asked=self.asked,
        )


@final
class RecordedModel:
    """A model that replays the answers of a recorded run: deltas, usage and errors, without the waits.

    A wait before another attempt takes 0 s, except one in which the request was abandoned, so that it can be again.

    Args:
        recording: The result of `read_recording`.
        normalize: Applied to both requests before they are compared, for parts that may differ: dates, folders, ids.
        pace: Awaited before the end of an answer, with the number of the journal's last event before it; by default answers
            come at once.
        on_mismatch: Called with the first difference and the request as plain values, in the step in which it is found. If it
            returns True, the request does not fail, and waits until it is cancelled.
        serves_changed: True to serve the recorded answers also to requests that differ; `changed` then has these.
    """

    def __init__(
        self,
        recording: ModelRecording,
        *,
        normalize: Callable[[ModelRequest], ModelRequest] | None = None,
        pace: Callable[[int], Awaitable[object]] | None = None,
        on_mismatch: Callable[[ReplayMismatch, Mapping[str, Any]], object] | None = None,
        serves_changed: bool = False,
    ) -> None:
        self._name = recording.model
        self._on_mismatch = on_mismatch
        self._normalize = normalize
        self._pace = pace
        self._left: dict[str, deque[RecordedExchange]] = {}
        for exchange in recording.exchanges:
            self._left.setdefault(exchange.agent, deque()).append(exchange)
        self._recorded_as: dict[str, str] = {}
        self._asked: dict[str, int] = {}
        self._mismatch: ReplayMismatch | None = None
        self.compared = 0
        """Number of requests that were equal."""
        self.attempts: tuple[int, int] | None = None
        """Maximum number of attempts at a request, recorded and now; a request that was retried differs if these do."""
        self._serves_changed = serves_changed
        self.changed: dict[tuple[str, int], tuple[ReplayMismatch, JsonObject]] = {}
        """Requests that differed and were served all the same, by the recorded agent and its number of the request: the difference,
        and the request of today.
        """

    def __repr__(self) -> str:
        return f"<RecordedModel {self._name!r} left={sum(map(len, self._left.values()))}>"

    @property
    def name(self) -> str:
        """The name of the model that was recorded."""
        return self._name

    @property
    def mismatch(self) -> ReplayMismatch | None:
        """The first difference, if any."""
        return self._mismatch

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Check at the end that no request differed; the body's own exception takes precedence.

        Raises:
            ReplayMismatch: One did.
        """
        yield
        if self._mismatch is not None:
            raise self._mismatch.again()

    def assert_done(self) -> None:
        """Check that no request differed, and that all recorded ones have been made.

        Raises:
            ReplayMismatch: The check failed.
        """
        if self._mismatch is not None:
            raise self._mismatch.again()
        for agent, left in self._left.items():
            if left:
                why = f"the run has ended, but {len(left)} more requests of {agent!r} were recorded"
                raise ReplayMismatch(why, agent=agent, number=left[0].number, recorded=left[0].request)

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Answer from the recording; a difference is raised by the first read."""
        return AnswerStream(_RecordedSource(self._take, request, self._name, self._pace))

    def _take(self, request: ModelRequest) -> RecordedExchange | None:
        """Return the exchange of a request; None if it is to wait."""
        if self._mismatch is not None:
            raise self._mismatch.again()
        self._asked[request.agent] = number = self._asked.get(request.agent, 0) + 1
        asked = self._plain(request)
        track = self._track(request, asked)
        difference = self._difference(track[0], asked) or self._of_retries(track[0]) if track else None
        if track and difference is None:
            self.compared += 1
            return track.popleft()
        mismatch = _mismatch(request.agent, number, difference, asked)
        if track and self._serves_changed:
            exchange = track.popleft()
            self.changed[exchange.agent, exchange.number] = mismatch, asked
            return exchange
        if self._on_mismatch is not None and self._on_mismatch(mismatch, asked) is True:
            return None
        self._mismatch = mismatch
        raise mismatch.again()

    def _track(self, request: ModelRequest, asked: JsonObject) -> deque[RecordedExchange] | None:
        """Return the remaining exchanges of the agent whose place this one takes."""
        if request.agent in self._recorded_as:
            return self._left[self._recorded_as[request.agent]]
        taken = set(self._recorded_as.values())
        free = {name: left for name, left in self._left.items() if name not in taken and left}
        by_id = [request.agent] if request.agent in free else []
        same = (name for name in (*by_id, *free) if self._difference(free[name][0], asked) is None)
        # None matches: the choice only affects the message.
        alike = (name for name, left in free.items() if left[0].request.get("definition", "") == request.definition)
        name = next(chain(same, by_id, alike), None)
        if name is None:
            return None
        self._recorded_as[request.agent] = name
        return free[name]

    def _of_retries(self, exchange: RecordedExchange) -> tuple[str, Any, Any] | None:
        is_retried = any(said["type"] == "restarted" for said in exchange.said)
        if self.attempts is None or not is_retried or self.attempts[0] == self.attempts[1]:
            return None
        return ("retries.attempts", *self.attempts)

    def _plain(self, request: ModelRequest) -> JsonObject:
        normal = request if self._normalize is None else self._normalize(request)
        values: JsonObject = plain(attrs.evolve(normal, agent=""))
        return values

    def _difference(self, exchange: RecordedExchange, asked: JsonObject) -> tuple[str, Any, Any] | None:
        recorded = exchange.request
        if self._normalize is not None:
            recorded = self._plain(request_of(recorded))
        return next(_differences(recorded, asked), None)


def _mismatch(agent: str, number: int, difference: tuple[str, Any, Any] | None, request: JsonObject) -> ReplayMismatch:
    who = f"request {number} of {agent!r}"
    if difference is None:
        why = f"{who} was not recorded: no more requests of this agent exist"
        return ReplayMismatch(why, agent=agent, number=number, asked=request)
    path, recorded, asked = difference
    was, now = _shown(recorded, asked)
    why = f"{who} differs from the recording: {path} was {was} and is {now}"
    return ReplayMismatch(why, agent=agent, number=number, path=path, recorded=recorded, asked=asked)


def _differences(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in dict.fromkeys((*_FIRST, *sorted((recorded.keys() | asked.keys()) - {"agent"}))):
        default = _DEFAULTS.get(name)
        yield from _compared(name, recorded.get(name, default), asked.get(name, default))


def _compared(path: str, recorded: Any, asked: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield where two plain values differ, the first place first."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for name in dict.fromkeys((*recorded, *asked)):
            yield from _compared(f"{path}.{name}", recorded.get(name), asked.get(name))
    elif isinstance(recorded, list) and isinstance(asked, list):
        for at in range(max(len(recorded), len(asked))):
            both = (side[at] if at < len(side) else None for side in (recorded, asked))
            yield from _compared(f"{path}[{at}]", *both)
    elif recorded != asked or isinstance(recorded, bool) != isinstance(asked, bool):
        yield path, recorded, asked


def _shown(recorded: Any, asked: Any) -> tuple[str, str]:
    """Return both values, shortened: for texts the part where they differ."""
    if isinstance(recorded, str) and isinstance(asked, str):
        pairs = zip(recorded, asked, strict=False)
        same = next((at for at, (mine, other) in enumerate(pairs) if mine != other), min(len(recorded), len(asked)))
        start = max(0, same - _BEFORE) if max(len(recorded), len(asked)) > _SHOWN else 0
        return _part(recorded, start), _part(asked, start)
    return _brief(recorded), _brief(asked)


def _part(text: str, start: int) -> str:
    end = start + _SHOWN
    return f"{'...' if start else ''}{text[start:end]!r}{'...' if end < len(text) else ''}"


def _brief(value: Any) -> str:
    text = _MISSING if value is None else repr(value)
    return text if len(text) <= 2 * _SHOWN else f"{text[: 2 * _SHOWN]}..."


@final
class _RecordedSource:
    """Streams one recorded answer."""

    def __init__(
        self,
        take: Callable[[ModelRequest], RecordedExchange | None],
        request: ModelRequest,
        model: str,
        pace: Callable[[int], Awaitable[object]] | None,
    ) -> None:
        self._take = take
        self._pace = pace
        self._request = request
        self._exchange: RecordedExchange | None = None
        self._at = 0
        self._final = self._so_far = ModelResponse((), None, Usage(), model)
        self._contents: deque[tuple[Block, ...]] = deque()
        """The final content of each attempt."""

    @property
    def so_far(self) -> ModelResponse:
        return self._so_far

    async def finish(self) -> bool:
        """Return the whole answer at once if it was complete at the first attempt."""
        if self._exchange is not None:
            return False
        exchange = await self._begin()
        await trio.lowlevel.checkpoint()
        if exchange.end != "complete" or len(self._contents) > 1:
            return False
        await self._wait_end(exchange)
        self._so_far = self._final
        return True

    async def next_delta(self) -> Delta | None:
        exchange = self._exchange or await self._begin()
        await trio.lowlevel.checkpoint()
        if self._at < len(exchange.said):
            said = exchange.said[self._at]
            self._at += 1
            return self._show(exchange, said)
        self._so_far = self._final
        if exchange.end != "cut":
            await self._wait_end(exchange)
        if exchange.end == "error":
            raise self._error(exchange)
        if exchange.end == "cut":
            await trio.sleep(CUT_WAIT_S if self._pace is None else math.inf)
            raise self._unlike(
                exchange, f"it was cancelled in the recorded run, but not in {CUT_WAIT_S:g} s of this one"
            )
        return None

    async def _wait_end(self, exchange: RecordedExchange) -> None:
        if self._pace is not None:
            await self._pace(exchange.at)

    async def _begin(self) -> RecordedExchange:
        exchange = self._take(self._request)
        if exchange is None:
            await trio.sleep_forever()
        self._exchange = exchange
        if exchange.response is not None:
            self._final = response_of(exchange.response)
        void = [said["void"] for said in exchange.said if said["type"] == "restarted"]
        self._contents.extend(tuple(block_of(block) for block in content) for content in void)
        self._contents.append(self._final.content)
        return exchange

    def _show(self, exchange: RecordedExchange, said: Mapping[str, Any]) -> Delta:
        delta = delta_of(piece_of(said))
        if isinstance(delta, StreamRestarted):
            self._contents.popleft()
            if exchange.end != "cut" or self._at < len(exchange.said):
                delta = attrs.evolve(delta, wait_s=0.0)
        usage = delta.usage if isinstance(delta, UsageDelta) else self._so_far.usage
        blocks, characters = said["shown"]
        content = self._contents[0][:blocks]
        if content and isinstance(content[-1], TextBlock):
            content = (*content[:-1], TextBlock(content[-1].text[:characters]))
        self._so_far = attrs.evolve(self._final, content=content, usage=usage, stop_reason=None)
        return delta

    def _error(self, exchange: RecordedExchange) -> Exception:
        values = exchange.error or {"type": "an error", "message": ""}
        return error_of(values) or self._unlike(exchange, f"it failed with {values['type']}: {values['message']}")

    def _unlike(self, exchange: RecordedExchange, why: str) -> ReplayMismatch:
        agent, number = self._request.agent, exchange.number
        return ReplayMismatch(f"request {number} of {agent!r} cannot be replayed: {why}", agent=agent, number=number)

    @property
    def is_holding(self) -> bool:
        """Always False."""
        return False

    async def close(self) -> None:
        """Do nothing."""

"""The reader's end of every stream: one class over any source of deltas.

A read that failed or was cancelled ends the stream; the received part stays visible. There is no async generator, so
leaving a stream early leaves nothing for the garbage collector to finish.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Protocol, Self, final

import trio

from greenroom.core import Closed
from greenroom.models._types import Delta, ModelResponse, Notice

CLOSE_GRACE_S: Final = 2.0
"""Time limit for closing, in seconds: it includes a TLS goodbye to a peer that may be gone."""


_UNREADABLE: Final = "the stream has failed, was cancelled or closed, or another task is reading it"


class AnswerSource(Protocol):
    """The source of the deltas of one answer."""

    @property
    def so_far(self) -> ModelResponse:
        """The valid received part."""
        ...

    async def next_delta(self) -> Delta | None:
        """Return the next delta, or None at the end; every call is a cancel point, and none follows one that raised."""
        ...

    async def finish(self) -> bool:
        """Read the rest at once, for a reader without deltas; return False to be read delta by delta."""
        ...

    @property
    def is_holding(self) -> bool:
        """True if there is something for `close` to free."""
        ...

    async def close(self) -> None:
        """Abandon the rest and free everything, also after an end or a failure.

        It runs shielded, for `CLOSE_GRACE_S` at most.
        """
        ...


@final
class AnswerStream:
    """One answer while it arrives, and its own context manager; see `ModelStream` and `Model.stream`.

    Entering does nothing; leaving refuses further reads and closes the source. Holds no scope and no nursery.
    """

    __slots__ = ("_has_ended", "_is_readable", "_source")

    def __init__(self, source: AnswerSource) -> None:
        self._source = source
        self._is_readable = True
        self._has_ended = False

    def __repr__(self) -> str:
        state = "ended" if self._has_ended else "open" if self._is_readable else "broken or being read"
        return f"<AnswerStream {state}, {len(self._source.so_far.content)} blocks>"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        if self._has_ended:
            await trio.lowlevel.checkpoint()
            raise StopAsyncIteration
        if not self._is_readable:
            raise Closed(_UNREADABLE)
        self._is_readable = False  # stays so if the next line raises
        delta = await self._source.next_delta()
        self._is_readable = True
        if delta is None:
            self._has_ended = True
            raise StopAsyncIteration
        return delta

    @property
    def so_far(self) -> ModelResponse:
        """The valid received part; the final response once the stream has ended."""
        return self._source.so_far

    async def wait_response(self, on_notice: Callable[[Notice], Awaitable[object]] | None = None) -> ModelResponse:
        """Read the rest and return the final response, see `ModelStream`.

        Raises:
            ProviderError: The request failed, or the stream was cut.
            Closed: An earlier read failed or was cancelled, so there is no final response.
        """
        if not self._has_ended:
            if not self._is_readable:
                raise Closed(_UNREADABLE)
            self._is_readable = False
            self._has_ended = await self._source.finish()
            self._is_readable = True
            if not self._has_ended:
                async for delta in self:
                    if on_notice is not None and isinstance(delta, Notice):
                        await on_notice(delta)
        return self._source.so_far

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_readable = False
        if self._source.is_holding:
            with trio.move_on_after(CLOSE_GRACE_S, shield=True):
                await self._source.close()

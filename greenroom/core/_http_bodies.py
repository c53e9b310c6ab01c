"""Limits on the bodies of HTTP answers, which HTTP libraries read to the end however long they are.

The library is imported by the first answer, because that is slow.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from typing import TYPE_CHECKING, Any, final

import trio

if TYPE_CHECKING:
    import httpx2


def limit_body(response: httpx2.Response, most_bytes: int, *, is_cut: bool = False) -> None:
    """Limit the body of an answer that has not been read.

    Call it in an event hook of the client, which sees each answer before anything reads it.

    Args:
        response: The answer.
        most_bytes: Maximum number of bytes as they arrive; a sixteenth of it if they are compressed.
        is_cut: True if a longer body ends at the limit; otherwise reading it is an `httpx2.DecodingError`.
    """
    if "content-encoding" in response.headers:
        most_bytes //= 16
    response.stream = _limited_stream()(response.stream, most_bytes, is_cut=is_cut)


@cache
def _limited_stream() -> Any:
    import httpx2

    @final
    class LimitedStream(httpx2.AsyncByteStream):
        """The bytes of an answer up to a limit; not a generator, which the garbage collector would have to finish."""

        def __init__(self, stream: httpx2.AsyncByteStream, most_bytes: int, *, is_cut: bool) -> None:
            self._stream = stream
            self._most_bytes = self._left = most_bytes
            self._is_cut = is_cut
            self._chunks: AsyncIterator[bytes] | None = None

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self

        async def __anext__(self) -> bytes:
            if self._chunks is None:
                self._chunks = aiter(self._stream)
            if self._left >= 0:
                chunk = await anext(self._chunks)
                self._left -= len(chunk)
                if self._left >= 0 or self._is_cut:
                    return chunk[: self._left] if self._left < 0 else chunk
            # A cancelled read unwinds the library's chain of generators from the innermost one; closing does not.
            with trio.CancelScope() as scope:
                scope.cancel()
                async for _ in self._chunks:
                    pass
            if self._is_cut:
                raise StopAsyncIteration
            raise httpx2.DecodingError(f"it is longer than {self._most_bytes} bytes")

        async def aclose(self) -> None:
            await self._stream.aclose()

    return LimitedStream

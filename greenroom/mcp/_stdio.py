"""Transport to a program: one message per line, through its stdin and stdout.

The SDK could start programs as well; ours are known to the session's reaper, so that they always end with it, and their
stderr goes to a file instead of the terminal.

Rule 1: the end of a program is noticed at once, even if other processes hold its output open. Rule 2: a line that is
not a message is remembered and skipped; an endless one ends the connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, final

import trio

from greenroom.mcp._message_decoder import LINE_BYTES, LineDecoder, Said
from greenroom.mcp._peer import ConnectionEnd
from greenroom.tools import PipedProcess, ToolError

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_WAITING: Final = 64
"""Maximum number of queued messages to a program; further senders wait."""
_DRAIN_S: Final = 0.2
"""Seconds to read the remaining output after a program has ended."""


@asynccontextmanager
async def talk(process: PipedProcess, ending: ConnectionEnd, lost: trio.Event) -> AsyncIterator[TransportStreams]:
    """Open the two streams that the SDK uses; `lost` is set when the program has ended or closed its output."""
    import anyio
    from mcp.shared.message import SessionMessage

    inward, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outward = anyio.create_memory_object_stream[SessionMessage](_WAITING)
    pipes = _Pipes(process, ending)

    async with inward, incoming, outgoing, outward, trio.open_nursery() as nursery:

        async def read() -> None:
            async with inward:
                if await pipes.read(inward):
                    lost.set()

        async def watch() -> None:
            try:
                await process.wait_ended()
            except ToolError as problem:
                ending.why = str(problem)
            await trio.sleep(_DRAIN_S)
            await inward.aclose()
            lost.set()

        async def write() -> None:
            if await pipes.write(outward):
                lost.set()
                await inward.aclose()  # otherwise callers would wait for their answers indefinitely

        for task in (read, watch, write):
            nursery.start_soon(task)
        yield incoming, outgoing
        nursery.cancel_scope.cancel("the connection is closed")


@final
class _Pipes:
    def __init__(self, process: PipedProcess, ending: ConnectionEnd) -> None:
        self._process = process
        self._ending = ending

    async def read(self, inward: Any) -> bool:
        """Forward the program's messages; return True at the end of its output, False if the reader has gone."""
        import anyio

        lines, ending = LineDecoder(), self._ending
        try:
            while chunk := await self._process.stdout.receive_some():
                for message in lines.feed(bytes(chunk)):
                    await inward.send(as_item(message))
                ending.said = ending.said or lines.noise
                if lines.is_endless:
                    ending.why = f"it sent a line of more than {LINE_BYTES} bytes"
                    break
        except trio.BrokenResourceError:
            pass  # it is gone, as at the end of its output
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        return True

    async def write(self, outward: Any) -> bool:
        """Forward messages to the program; return True if it no longer accepts any, False if none are left."""
        async for message in outward:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await self._process.stdin.send_all(line.encode(errors="replace") + b"\n")
            except trio.BrokenResourceError:
                return True
        return False


def as_item(said: Said) -> Any:
    """Convert a server's message to an item of the SDK's streams."""
    from mcp.shared.message import SessionMessage

    return said if isinstance(said, Exception) else SessionMessage(said)

"""Talking to a program: a message a line, through its input and its output.

The SDK could start programs as well; ours are known to the session's reaper, so that they end with it whatever happens, and
what they complain about lands in a file instead of on the terminal.
Rule 1: a program that ends is noticed at once, also where others hold its output open. Rule 2: a line that is no message is
remembered and passed over; one without an end ends the connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, final

import trio

from greenroom.mcp._peer import Ending
from greenroom.mcp._wire import LINE_BYTES, Lines, Said
from greenroom.tools import PipedProcess, ToolError

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_WAITING: Final = 64
"""Messages to a program that does not read them; more wait in their senders."""
_DRAIN_S: Final = 0.2
"""How long what a program printed last is read, once it has ended."""


class Programs(Protocol):
    """Starts programs that are talked to; `greenroom.tools.open_processes` gives one."""

    def new_output(self) -> Path:
        """Return a name for a file that no other one has."""
        ...

    def open_piped(
        self, command: Sequence[str], *, cwd: Path, complaints: Path, env: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[PipedProcess]:
        """Start a program for as long as the block lasts; see `SystemProcesses.open_piped`."""
        ...


@asynccontextmanager
async def talk(process: PipedProcess, ending: Ending, lost: trio.Event) -> AsyncIterator[TransportStreams]:
    """Open the two streams that the SDK talks through; `lost` is set when the program has ended or fallen silent."""
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
                await inward.aclose()  # whoever waits for an answer would wait for ever

        for task in (read, watch, write):
            nursery.start_soon(task)
        yield incoming, outgoing
        nursery.cancel_scope.cancel("the connection is closed")


@final
class _Pipes:
    def __init__(self, process: PipedProcess, ending: Ending) -> None:
        self._process = process
        self._ending = ending

    async def read(self, inward: Any) -> bool:
        """Hand on what the program says; returns whether it says no more, as opposed to nobody listening."""
        import anyio

        lines, ending = Lines(), self._ending
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
        """Hand on what is said to the program; returns whether it cannot be told any more, as opposed to nothing left."""
        async for message in outward:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await self._process.stdin.send_all(line.encode(errors="replace") + b"\n")
            except trio.BrokenResourceError:
                return True
        return False


def as_item(said: Said) -> Any:
    """Return what the streams of the SDK carry of something that a server said."""
    from mcp.shared.message import SessionMessage

    return said if isinstance(said, Exception) else SessionMessage(said)

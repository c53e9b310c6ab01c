"""A proxy between two nodes on Unix sockets that cuts their connections."""

from __future__ import annotations

import random
from pathlib import Path
from typing import final

import trio

from greenroom.serving import connect_unix

_MANY = 1 << 60


@final
class CuttingProxy:
    """Passes bytes between a guest and a host, and cuts connections: at random places, and whenever it is told to.

    Args:
        path: The socket of the host.
        chance: Chooses the places; without it there are none.
    """

    def __init__(self, path: Path, *, chance: random.Random | None = None) -> None:
        self.path = path
        self.cuts = 0
        self._chance = chance
        self._open: list[trio.CancelScope] = []

    def cut(self) -> int:
        """Cut all connections; return how many there were."""
        found, self._open = self._open, []
        for scope in found:
            scope.cancel()
        return len(found)

    async def serve(self, stream: trio.SocketStream) -> None:
        """Pass bytes until the connection is cut, or closed by one side."""
        try:
            host = await connect_unix(self.path)
        except OSError:
            await trio.aclose_forcefully(stream)
            return
        left = [self._chance.randrange(2_000, 60_000) if self._chance is not None else _MANY]
        async with trio.open_nursery() as nursery:
            scope = nursery.cancel_scope
            self._open.append(scope)

            async def pump(source: trio.SocketStream, target: trio.SocketStream) -> None:
                try:
                    while left[0] > 0 and (chunk := await source.receive_some(4_096)):
                        sent = chunk[: max(left[0], 0)]
                        left[0] -= len(sent)
                        await target.send_all(sent)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    pass
                scope.cancel()

            nursery.start_soon(pump, stream, host)
            nursery.start_soon(pump, host, stream)
        self.cuts += 1
        if scope in self._open:
            self._open.remove(scope)
        for each in (stream, host):
            await trio.aclose_forcefully(each)

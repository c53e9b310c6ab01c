"""The Ray actor of one host: Trio as a guest of the actor's asyncio loop.

Ray makes it on a node, and never restarts it. It is given by name the function that serves, since the floor of hosts is above this one.
"""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, final

import attrs
import trio

from greenroom.remote.ray._ray_place import RayTls
from greenroom.serving import Tcp, UnixSocket


@final
@attrs.frozen(kw_only=True)
class GuestSeat:
    """The place of one host on a node."""

    name: str
    """Name of its node in links."""
    token: bytes = attrs.field(repr=False)
    folder: Path
    """Folder for its files; removed with it."""
    listen: Tcp | UnixSocket
    arguments: Mapping[str, Any]
    """Plain JSON values of the launcher."""


ServeSeat = Callable[[GuestSeat], AbstractAsyncContextManager[str]]
"""Serves until the block is left, and yields the address."""


def find_named(name: str) -> Any:
    """Return the object that `MODULE:NAME` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


@final
class HostGuest:
    """The actor. Its methods run on asyncio, and all that it serves on Trio.

    Args:
        wish: The name, the token, the function that serves, its arguments, and where it listens: a folder that the launcher has made
            on this machine, or certificates.
    """

    def __init__(self, wish: Mapping[str, Any]) -> None:
        self._wish = wish
        self._stopping = trio.Event()
        self._trio: trio.lowlevel.TrioToken | None = None
        self._ended: Any = None

    async def start(self, address: str) -> dict[str, Any]:
        """Start the host, and return where it listens, and the id of its process; raises what its start raised.

        Args:
            address: The address of this node, for a host that others reach by TCP.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        started: asyncio.Future[str] = loop.create_future()
        self._ended = loop.create_future()

        async def serve() -> None:
            self._trio = trio.lowlevel.current_trio_token()
            await self._serve(address, started.set_result)

        trio.lowlevel.start_guest_run(
            serve, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=self._ended.set_result
        )
        await asyncio.wait({started, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            self._ended.result().unwrap()
        return {"address": started.result(), "pid": os.getpid()}

    async def wait_ended(self) -> str:
        """Wait for the end of the host, and return its error; empty if it was stopped."""
        import asyncio

        error = getattr(await asyncio.shield(self._ended), "error", None)  # the outcome of Trio's run
        return "" if error is None else f"{type(error).__name__}: {error}"

    async def stop(self) -> None:
        """Stop the host, and wait for its end."""
        if self._trio is not None:
            self._trio.run_sync_soon(self._stopping.set)
        await self.wait_ended()

    async def _serve(self, address: str, note_started: Callable[[str], object]) -> None:
        wish = self._wish
        serve: ServeSeat = find_named(wish["serve"])
        is_here = bool(wish["folder"])
        folder = Path(wish["folder"] or tempfile.mkdtemp(prefix="greenroom-host-"))
        try:
            seat = GuestSeat(
                name=wish["name"],
                token=bytes.fromhex(wish["token"]),
                folder=folder,
                listen=UnixSocket(folder / "host") if is_here else _tls_port(address, wish["tls"]),
                arguments=wish["arguments"],
            )
            async with serve(seat) as at:
                note_started(at)
                await self._stopping.wait()
        finally:
            if not is_here:
                shutil.rmtree(folder, ignore_errors=True)


def _tls_port(address: str, tls: Mapping[str, str]) -> Tcp:
    import ssl

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tls["certificate"], tls["key"])
    return Tcp(host=address, tls=context)


def tls_wish(tls: RayTls | None) -> dict[str, str] | None:
    """Return what an actor is told of certificates."""
    return None if tls is None else {"certificate": str(tls.certificate), "key": str(tls.key)}

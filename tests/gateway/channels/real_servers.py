"""Real chat servers on free ports of this machine, and a plain IRC client for the people who write there.

A test that needs a server is skipped where it is not installed, and fails instead if `CHANNEL_SERVERS=demanded` (`make test-channels`).
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL

import attrs
import pytest
import trio

from greenroom.gateway.channels._irc_lines import IrcLine, format_line, parse_line

ROOT = Path(__file__).resolve().parents[3]
IS_DEMANDED = os.environ.get("CHANNEL_SERVERS") == "demanded"
SYNAPSE = Path(os.environ.get("SYNAPSE_PYTHON", ROOT / ".venv-synapse" / "bin" / "python"))
"""The Python of the environment that holds Synapse."""
NGIRCD = shutil.which("ngircd") or shutil.which("ngircd", path="/usr/sbin")


def need(name: str, *, is_there: bool) -> None:
    """Skip the test if a server is not installed."""
    if not is_there:
        text = f"{name} is not installed; `make test-channels` installs it"
        pytest.fail(text) if IS_DEMANDED else pytest.skip(text)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@attrs.define(eq=False)
class RealServer:
    """A server that is started, killed and started again, each time on the same port and with the same files."""

    command: list[str]
    port: int
    folder: Path
    wait_s: float = 10.0
    process: trio.Process | None = None

    async def start(self) -> None:
        self.process = await trio.lowlevel.open_process(
            self.command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, cwd=self.folder
        )
        with trio.fail_after(self.wait_s):
            while True:
                assert self.process.poll() is None, f"{self.command[0]} ended with {self.process.returncode}"
                with suppress(OSError):
                    stream = await trio.open_tcp_stream("127.0.0.1", self.port)
                    await stream.aclose()
                    return
                await trio.sleep(0.02)

    async def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            await self.process.wait()
            self.process = None


@asynccontextmanager
async def open_server(server: RealServer) -> AsyncIterator[RealServer]:
    await server.start()
    try:
        yield server
    finally:
        with trio.CancelScope(shield=True):
            await server.kill()


def ngircd(folder: Path, *, has_penalties: bool = False) -> RealServer:
    """Return an IRC server; with its default penalties for haste, or without."""
    need("ngircd", is_there=NGIRCD is not None)
    port = free_port()
    limits = "" if has_penalties else "MaxPenaltyTime = 0\n"
    path = folder / "ngircd.conf"
    path.write_text(
        "[Global]\nName = irc.test.local\nInfo = tests\nListen = 127.0.0.1\n"
        f"Ports = {port}\nMotdPhrase = hello\n"
        f"[Limits]\nMaxConnectionsIP = 0\nMaxNickLength = 20\n{limits}"
        "[Options]\nDNS = no\nIdent = no\nPAM = no\n"
    )
    return RealServer([str(NGIRCD), "-n", "-f", str(path)], port, folder)


@attrs.define(eq=False)
class IrcPerson:
    """Somebody with an IRC client."""

    stream: trio.abc.Stream
    nick: str
    lines: list[IrcLine] = attrs.field(factory=list)
    has_more: trio.Event = attrs.field(factory=trio.Event)

    async def tell(self, command: str, *params: str) -> None:
        await self.stream.send_all(format_line(command, *params))

    async def read(self) -> None:
        pending = b""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while chunk := await self.stream.receive_some():
                *raw, pending = (pending + bytes(chunk)).split(b"\n")
                for line in filter(None, map(parse_line, raw)):
                    if line.command == "PING":
                        await self.tell("PONG", line.param(-1))
                    self.lines.append(line)
                    self.has_more.set()

    async def wait_for(self, command: str, count: int = 1) -> list[IrcLine]:
        """Return the first lines of a command, as soon as there are so many."""
        with trio.fail_after(60):
            while len(found := [line for line in self.lines if line.command == command]) < count:
                self.has_more = trio.Event()
                await self.has_more.wait()
        return found

    def texts(self, sender: str = "agent") -> list[str]:
        return [line.param(-1) for line in self.lines if line.command == "PRIVMSG" and line.nick == sender]


@asynccontextmanager
async def open_person(server: RealServer, nick: str = "ann", *channels: str) -> AsyncIterator[IrcPerson]:
    stream = await trio.open_tcp_stream("127.0.0.1", server.port)
    async with trio.open_nursery() as nursery:
        person = IrcPerson(stream, nick)
        nursery.start_soon(person.read)
        await person.tell("NICK", nick)
        await person.tell("USER", nick, "0", "*", nick)
        await person.wait_for("376")
        for channel in channels:
            await person.tell("JOIN", channel)
        if channels:
            await person.wait_for("366", len(channels))
        try:
            yield person
        finally:
            await trio.aclose_forcefully(stream)
            nursery.cancel_scope.cancel()


def open_files() -> int:
    """Return the number of descriptors of this process."""
    assert sys.platform == "linux"
    return len(list(Path("/proc/self/fd").iterdir()))

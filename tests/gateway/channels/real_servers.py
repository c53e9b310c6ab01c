"""Real chat servers on free ports of this machine, and a plain IRC client for the people who write there.

A test that needs a server is skipped where it is not installed, and fails instead if `CHANNEL_SERVERS=demanded` (`make test-channels`).
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any
from urllib.parse import quote

import attrs
import httpx2
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


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of a key and of a certificate for this machine that nobody trusts yet."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    named = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *named], check=True, capture_output=True)
    return key, certificate


def ngircd(folder: Path, *, has_penalties: bool = False, certificate: tuple[Path, Path] | None = None) -> RealServer:
    """Return an IRC server; with its default penalties for haste, or without; with encryption, if it gets a key and a certificate."""
    need("ngircd", is_there=NGIRCD is not None)
    port = free_port()
    tls = (
        ""
        if certificate is None
        else f"[SSL]\nKeyFile = {certificate[0]}\nCertFile = {certificate[1]}\nPorts = {port}\n"
    )
    limits = "" if has_penalties else "MaxPenaltyTime = 0\n"
    path = folder / "ngircd.conf"
    path.write_text(
        "[Global]\nName = irc.test.local\nInfo = tests\nListen = 127.0.0.1\n"
        f"Ports = {port if not tls else free_port()}\nMotdPhrase = hello\n"
        f"[Limits]\nMaxConnectionsIP = 0\nMaxNickLength = 20\n{limits}"
        f"[Options]\nDNS = no\nIdent = no\nPAM = no\n{tls}"
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
        """Return the first lines of a command, as soon as there are that many."""
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


# --- Matrix -----------------------------------------------------------------------------------------------------------


@attrs.define(eq=False)
class Synapse:
    """A Matrix server of its own, with open registration and generous limits. Its calls block."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _command(self) -> list[str]:
        return [
            str(SYNAPSE),
            "-m",
            "synapse.app.homeserver",
            "--config-path",
            str(self.folder / "homeserver.yaml"),
            "--config-path",
            str(self.folder / "tests.yaml"),
        ]

    def set_up(self) -> None:
        """Write the configuration."""
        command = [str(SYNAPSE), "-m", "synapse.app.homeserver", "--server-name", "localhost", "--generate-config"]
        command += ["--config-path", str(self.folder / "homeserver.yaml"), "--report-stats=no"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=120)
        much = {"per_second": 10_000, "burst_count": 10_000}
        settings = {
            "listeners": [
                {
                    "port": self.port,
                    "bind_addresses": ["127.0.0.1"],
                    "type": "http",
                    "resources": [{"names": ["client"], "compress": False}],
                }
            ],
            "enable_registration": True,
            "enable_registration_without_verification": True,
            "bcrypt_rounds": 4,
            "presence": {"enabled": False},
            "trusted_key_servers": [],
            "rc_message": much,
            "rc_registration": much,
            "rc_login": {"address": much, "account": much, "failed_attempts": much},
            "rc_joins": {"local": much, "remote": much},
            "rc_invites": {"per_room": much, "per_user": much, "per_issuer": much},
        }
        (self.folder / "tests.yaml").write_text(json.dumps(settings))  # every JSON text is YAML

    def start(self) -> None:
        self.process = subprocess.Popen(self._command(), cwd=self.folder, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        deadline = time.monotonic() + 90
        while True:
            assert self.process.poll() is None, f"Synapse ended with {self.process.returncode}"
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/_matrix/client/versions", trust_env=False).status_code == 200:
                    return
            assert time.monotonic() < deadline, "Synapse does not answer"
            time.sleep(0.1)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def register(self, name: str) -> MatrixPerson:
        """Return a new person."""
        body = {"username": name, "password": f"password of {name}", "auth": {"type": "m.login.dummy"}}
        answer = httpx2.post(f"{self.url}/_matrix/client/v3/register", json=body, trust_env=False, timeout=60)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return MatrixPerson(self.url, found["user_id"], found["access_token"])


@attrs.frozen
class MatrixPerson:
    """Somebody with a Matrix client. The calls block."""

    url: str
    id: str
    token: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = httpx2.request(
            method,
            f"{self.url}/_matrix/client/v3{path}",
            json=body,
            headers={"authorization": f"Bearer {self.token}"},
            trust_env=False,
            timeout=60,
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def make_room(self, *invited: str, is_direct: bool = False, **more: Any) -> str:
        body = {"preset": "private_chat", "invite": list(invited), "is_direct": is_direct, **more}
        room: str = self.call("POST", "/createRoom", body)["room_id"]
        return room

    def join(self, room: str) -> None:
        self.call("POST", f"/join/{quote(room)}", {})

    def say(self, room: str, body: str, **content: Any) -> str:
        path = f"/rooms/{quote(room)}/send/m.room.message/{next(_NUMBERS)}-{self.id}"
        event_id: str = self.call("PUT", path, {"msgtype": "m.text", "body": body, **content})["event_id"]
        return event_id

    def read(self, room: str) -> list[Any]:
        """Return the messages of a room, in order."""
        path = f"/rooms/{quote(room)}/messages?dir=b&limit=200"
        return [event for event in self.call("GET", path)["chunk"][::-1] if event["type"] == "m.room.message"]


_NUMBERS = itertools.count()

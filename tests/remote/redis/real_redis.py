"""A redis server on a free port of this machine, in a folder of its own.

A test that needs one is skipped where the program is not installed, and fails instead if `REDIS_SERVER=demanded` (`make test-redis`).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL

import attrs
import pytest

PROGRAM = shutil.which("redis-server")
IS_DEMANDED = os.environ.get("REDIS_SERVER") == "demanded"
MEMORY_STREAMS = "ignore:Unclosed <Memory:ResourceWarning"
"""What the library leaves to the garbage collector at each connection that is closed."""


def need_redis() -> None:
    """Skip the test if the program is not installed."""
    if PROGRAM is None:
        text = "redis-server is not installed; `make test-redis` installs it"
        pytest.fail(text) if IS_DEMANDED else pytest.skip(text)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@attrs.define(eq=False)
class RealRedis:
    """A server that is started, killed and started again, on the same port and with the same files. Its calls block."""

    folder: Path
    port: int = attrs.field(factory=free_port)
    options: tuple[str, ...] = ("--appendonly", "yes", "--appendfsync", "always")
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        self.process = subprocess.Popen([str(PROGRAM), *where, *self.options], stdin=DEVNULL, stdout=DEVNULL)
        until = time.monotonic() + 10
        while not self.answers():
            assert self.process.poll() is None, f"redis-server ended with {self.process.returncode}"
            assert time.monotonic() < until, "redis-server does not answer"
            time.sleep(0.01)

    def answers(self) -> bool:
        """True if it has read its files and answers."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as probe:
                probe.sendall(b"PING\r\n")
                return probe.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def started_redis(folder: Path, *options: str) -> Iterator[RealRedis]:
    """Start a server; further options replace those that keep everything."""
    need_redis()
    server = RealRedis(folder, **({"options": options} if options else {}))  # type: ignore[arg-type]
    server.start()
    try:
        yield server
    finally:
        server.kill()

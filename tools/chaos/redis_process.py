"""A redis server on a free port of this machine, in a folder of its own; it is started, killed and started again."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path
from subprocess import DEVNULL

import attrs

PROGRAM = shutil.which("redis-server")


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

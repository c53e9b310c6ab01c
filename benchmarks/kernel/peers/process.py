"""Our side of a peer: is it installed, how is it started, what does it say.

Rule 1: a peer that is missing, or does not run here, is skipped with the reason and stops nothing. Rule 2: each has a
process of its own, so that neither its modules nor its threads and its garbage are in our measurements.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final

import attrs

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
LIMIT_S: Final = 60.0
"""A peer that says nothing for so long is ended."""


class PeerFailed(Exception):
    """A peer is not installed, its process ended, or it said something else than was asked for; the text says why."""


class PeerProcess:
    """A running peer. Made by `open_process`."""

    def __init__(self, name: str, process: subprocess.Popen[str], errors: IO[str]) -> None:
        self._name = name
        self._process = process
        self._errors = errors
        self.version = self._read("ready")[-1]

    def measure(self, bench: str, count: int, *, limit_s: float | None = None) -> tuple[float, float]:
        """Return the CPU seconds and the wall seconds of one thing.

        Args:
            bench: What to do.
            count: How many of it.
            limit_s: Seconds until a peer that says nothing is ended; `LIMIT_S` unless said.

        Raises:
            PeerFailed: The process has ended.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            self._process.stdin.write(f"{bench} {count}\n")
            self._process.stdin.flush()
        cpu_s, wall_s = self._read("", limit_s)
        return float(cpu_s) / count, float(wall_s) / count

    def _read(self, first: str, limit_s: float | None = None) -> list[str]:
        assert self._process.stdout is not None
        limit = threading.Timer(LIMIT_S if limit_s is None else limit_s, self._process.kill)
        limit.start()
        try:
            words = self._process.stdout.readline().split()
        finally:
            limit.cancel()
        if len(words) != 2 or not words[0].startswith(first):
            self._process.kill()
            self._process.wait()
            self._errors.seek(0)
            said = [line.strip() for line in self._errors if line.strip()]
            raise PeerFailed(f"{self._name} does not run here: {said[-1] if said else 'it ended without a word'}")
        return words


@contextlib.contextmanager
def open_process(name: str, command: Sequence[str], cwd: Path = ROOT) -> Iterator[PeerProcess]:
    """Start a peer and wait until it is ready; leaving the block ends it.

    Raises:
        PeerFailed: It ended before it was ready.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            yield PeerProcess(name, process, errors)
        finally:
            process.kill()
            process.communicate()


@attrs.frozen(kw_only=True)
class Peer:
    """Another system: its name in the tables, and what it needs."""

    name: str
    needs: str | None
    """The module to import; None for the standard library."""
    serves: str
    """Our module that speaks for it."""
    package: str = __package__
    """Where that module lies."""

    def why_missing(self) -> str | None:
        if self.needs is None or importlib.util.find_spec(self.needs):
            return None
        return f"{self.needs} is not installed"

    @contextlib.contextmanager
    def open(self) -> Iterator[PeerProcess]:
        with open_process(self.name, [sys.executable, "-m", f"{self.package}.{self.serves}"]) as process:
            yield process


@attrs.frozen(kw_only=True)
class Erlang:
    """Erlang on one scheduler; what it runs is compiled when it is opened."""

    name: str = "Erlang"

    def why_missing(self) -> str | None:
        return None if shutil.which("erl") else "erl is not on the path"

    @contextlib.contextmanager
    def open(self) -> Iterator[PeerProcess]:
        erl = shutil.which("erl") or "erl"
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(HERE / "peer.erl", folder)
            compiled = "case compile:file(peer) of {ok, _} -> halt(0); _ -> halt(1) end."
            done = subprocess.run(
                [erl, "-noshell", "-eval", compiled], cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode:
                said = (done.stdout + done.stderr).strip().partition("\n")[0]
                raise PeerFailed(f"{self.name} does not run here: {said or 'peer.erl does not compile'}")
            with open_process(self.name, [erl, "+S", "1", "-noshell", "-s", "peer", "main"], Path(folder)) as process:
                yield process


AnyPeer = Peer | Erlang

ASYNCIO: Final = Peer(name="asyncio", needs=None, serves="on_asyncio")
AUTOGEN: Final = Peer(name="AutoGen core", needs="autogen_core", serves="on_autogen")
ERLANG: Final = Erlang()
PYKKA: Final = Peer(name="Pykka", needs="pykka", serves="on_pykka")
THESPIAN: Final = Peer(name="Thespian", needs="thespian", serves="on_thespian")
XOSCAR: Final = Peer(name="xoscar", needs="xoscar", serves="on_xoscar")


@contextlib.contextmanager
def open_peer(peer: AnyPeer) -> Iterator[PeerProcess]:
    """Start a peer; leaving the block ends it.

    Raises:
        PeerFailed: It is not installed, or does not run here.
    """
    if why := peer.why_missing():
        raise PeerFailed(why)
    with peer.open() as process:
        yield process

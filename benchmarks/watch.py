"""`greenroom watch` on a run of another process: how soon an event is on the screen, and what it costs the run.

    python -m benchmarks.watch [--events 100] [--rounds 5]

The first figure is the time from the write of an event to its text on a pseudo-terminal. For the second, the same swarm runs without a
watcher, with one, and with one that is stopped by SIGSTOP, in alternating rounds; its CPU time tells more than the clock on a busy machine.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import resource
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from greenroom.actors import ActorBegan, ActorCreated
from greenroom.agents.events import AgentDefined
from greenroom.core import Event, field_values
from greenroom.gateway.record import EVENTS
from greenroom.session import SessionBegan
from greenroom.teams import ItemCompleted, ItemCreated
from greenroom.trace import Codec, Header, hold_run

P95_MS = 100.0
COST_PERCENT = 1.0
SURVEYED = Path(__file__).parents[1] / "greenroom" / "trace"
COMMAND = [sys.executable, "-m", "greenroom"]
WAIT_S = 30.0


class Watcher:
    """A `greenroom watch` on a pseudo-terminal."""

    def __init__(self, folder: Path) -> None:
        self._end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color"}
        command = [sys.executable, "-c", _OWN_TERMINAL, *COMMAND, "watch", str(folder)]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
        )
        os.close(theirs)
        self._seen = b""

    def wait_for(self, text: bytes) -> bool:
        """Return True when a text is on the screen, False if it does not come."""
        limit = time.monotonic() + WAIT_S
        while text not in self._seen and time.monotonic() < limit:
            if select.select([self._end], [], [], 0.5)[0]:
                self._seen = self._seen[-20_000:] + os.read(self._end, 65_536)
        return text in self._seen

    def drain(self) -> None:
        """Take what has been drawn, so that it never waits for us."""
        while select.select([self._end], [], [], 0)[0]:
            try:
                os.read(self._end, 65_536)
            except OSError:
                return

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        os.close(self._end)


_OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


# --- how soon -------------------------------------------------------------------------------------------------------------


class Writer:
    """A journal that is written event by event."""

    def __init__(self, path: Path) -> None:
        self._codec = Codec(EVENTS)
        self._file = path.open("ab", buffering=0)
        self._file.write(self._codec.encode_header(Header(run="bench", greenroom="0", python="3", trio="0")))
        self._began = time.monotonic()
        self._seq = 0

    def write(self, *events: Event) -> None:
        now = time.monotonic() - self._began
        lines = []
        for event in events:
            self._seq += 1
            lines.append(self._codec.encode((self._seq, now, type(event), *field_values(event)), 0.0))
        self._file.write(b"".join(lines))


def measure_delays(count: int) -> list[float]:
    """Return the seconds that events take to the screen."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with hold_run(folder):
            writer = Writer(folder / "journal.jsonl")
            writer.write(SessionBegan(session="bench", model="playbook", cwd="/bench"), *_agents(5))
            watcher = Watcher(folder)
            try:
                assert watcher.wait_for(b"agent-4"), "the watcher shows nothing"
                return list(_delays(writer, watcher, count))
            finally:
                watcher.close()


def _agents(count: int) -> Iterator[Event]:
    for number in range(count):
        about: dict[str, Any] = {"actor": f"a{number:016x}", "inc": 1}
        path = f"session/agent-{number}"
        yield ActorCreated(**about, path=path, behavior="Agent", supervisor="", descent="", journal="full")
        yield ActorBegan(**about)
        yield AgentDefined(**about, definition="d", model="m", transcript="")


def _delays(writer: Writer, watcher: Watcher, count: int) -> Iterator[float]:
    pause = random.Random(1).uniform
    for number in range(count):
        time.sleep(pause(0.05, 0.35))
        watcher.drain()
        text = f"seen{number:04}"
        writer.write(
            ItemCreated(team="t", item=str(number), subject=text, description="", by="agent-0"),
            ItemCompleted(team="t", item=str(number), by="agent-1"),
        )
        began = time.monotonic()
        assert watcher.wait_for(text.encode()), f"event {number} never came"
        yield time.monotonic() - began


# --- at what price --------------------------------------------------------------------------------------------------------

ALONE, WATCHED, STOPPED = "alone", "watched", "watcher stopped"


def measure_run(how: str) -> tuple[float, float]:
    """Return the seconds and CPU seconds of a swarm."""
    with tempfile.TemporaryDirectory() as name:
        runs = Path(name)
        command = [*COMMAND, "swarm", str(SURVEYED), "--runs", str(runs), "--latency", "0.1", "--json"]
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
            with _watching(how, runs, process) as watcher:
                while process.poll() is None:
                    if watcher is not None and how == WATCHED:
                        watcher.drain()
                    time.sleep(0.01)
                wall_s = time.monotonic() - began
                after = resource.getrusage(resource.RUSAGE_CHILDREN)  # the watcher is not waited for yet
        return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def _watching(how: str, runs: Path, process: subprocess.Popen[bytes]) -> Iterator[Watcher | None]:
    if how == ALONE:
        yield None
        return
    while not (found := list(runs.glob("*/journal.jsonl"))) and process.poll() is None:
        time.sleep(0.01)
    watcher = Watcher(found[0].parent)
    try:
        if how == STOPPED:
            watcher.wait_for(b"event")
            watcher.process.send_signal(signal.SIGSTOP)
        yield watcher
    finally:
        watcher.close()


def measure_costs(rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return what each kind of run took, by round."""
    taken: dict[str, list[tuple[float, float]]] = {ALONE: [], WATCHED: [], STOPPED: []}
    for round_ in range(rounds):
        names = list(taken)
        for how in names[round_ % 3 :] + names[: round_ % 3]:
            taken[how].append(measure_run(how))
    return taken


def _more_percent(values: Sequence[float], others: Sequence[float]) -> float:
    """Return the median of what the first take more than the second, round by round."""
    return statistics.median((value / other - 1) * 100 for value, other in zip(values, others, strict=True))


def _print(figure: str, value: float, limit: float | None, unit: str) -> None:
    verdict = "no target" if limit is None else "met" if value <= limit else "MISSED"
    print(json.dumps({"figure": figure, "value": round(value, 2), "limit": limit, "unit": unit, "verdict": verdict}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if asked.events:
        delays = sorted(delay * 1000 for delay in measure_delays(asked.events))
        _print("event to screen, p50", delays[len(delays) // 2], None, "ms")
        _print("event to screen, p95", delays[len(delays) * 95 // 100], P95_MS, "ms")
        _print("event to screen, worst", delays[-1], None, "ms")
    if asked.rounds:
        taken = measure_costs(asked.rounds)
        for how in (WATCHED, STOPPED):
            for at, figure in enumerate(("wall time", "CPU of the run")):
                more = _more_percent([each[at] for each in taken[how]], [each[at] for each in taken[ALONE]])
                _print(f"{figure}, {how} over alone", more, COST_PERCENT, "%")


if __name__ == "__main__":
    main()

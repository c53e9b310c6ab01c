"""Kill and stop processes that share a box on a real redis server, and the server, and account for each item: `make chaos-redis N=20`.

Two writers put, and two takers of two nodes want to take; one of them has the lease. Each line tells one blow: a writer, a taker or the
server is killed with -9 and started again, a taker is killed and left dead until the other has the box, or it is stopped with SIGSTOP
until the other has it. In the end the rest is taken. No acknowledged item may be lost; none may be in a transcript twice; and of two
lines in two transcripts, one has to be of a taker whose acknowledgement was refused.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from tools.chaos.redis_child import LEASE_S
from tools.chaos.redis_process import PROGRAM, RealRedis
from tools.chaos.store_child import logged

ROOT: Final = Path(__file__).resolve().parents[2]
WRITERS: Final = ("a", "b")
TAKERS: Final = ("take-1", "take-2")
BLOWS: Final = ("writer", "taker", "server", "dead taker", "stopped taker")
WAIT_S: Final = 15.0
REST_S: Final = 60.0


@attrs.frozen
class RedisTotals:
    """The account of a series."""

    acknowledged: int
    lines: int
    refused: int
    """Acknowledgements of a taker whose lease another one has."""
    late: int
    """Acknowledgements of a taker that were accepted though another one had the lease."""
    lost: tuple[str, ...]
    """Acknowledged items without a line."""
    twice: tuple[str, ...]
    """Items with two lines in one transcript, or in two of which neither taker was refused."""

    @property
    def is_right(self) -> bool:
        """True if nothing was lost, nothing taken twice, and nothing acknowledged late."""
        return not self.lost and not self.twice and not self.late


@attrs.define(eq=False)
class SharedBox:
    """The server, the processes and their files."""

    folder: Path
    server: RealRedis
    children: dict[str, subprocess.Popen[bytes]] = attrs.field(factory=dict)
    late: int = 0

    def start(self, role: str) -> None:
        command = [sys.executable, "-m", "tools.chaos.redis_child", role, self.server.url, str(self.folder)]
        self.children[role] = subprocess.Popen(command, cwd=ROOT, start_new_session=True)

    def kill(self, role: str) -> None:
        child = self.children.pop(role)
        child.kill()
        child.wait()

    def lines(self, *names: str) -> list[str]:
        return [line for name in names for line in logged(self.folder / name)]

    def accepted(self, role: str) -> int:
        return sum(line.startswith("accepted") for line in self.lines(f"{role}.said"))

    def refusals(self, role: str) -> int:
        return sum(line.startswith("refused") for line in self.lines(f"{role}.said"))

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < until, f"after {WAIT_S:g} s still not: {what}"
            time.sleep(0.02)

    def wait_progress(self) -> None:
        """Wait until something more was put and taken."""
        put, taken = len(self.lines(*WRITERS)), sum(map(self.accepted, TAKERS))
        self.wait("put and taken", lambda: len(self.lines(*WRITERS)) > put and sum(map(self.accepted, TAKERS)) > taken)

    def holder(self) -> str:
        """Wait until a taker goes on, and return which."""
        before = {role: self.accepted(role) for role in TAKERS}
        found: list[str] = []

        def is_found() -> bool:
            found.extend(role for role in TAKERS if self.accepted(role) > before[role])
            return bool(found)

        self.wait("a taker goes on", is_found)
        return found[0]

    def strike(self, blow: str, chance: random.Random) -> str:
        """Strike once, and return who it was; what goes on afterwards has been seen."""
        if blow == "server":
            self.server.kill()
            time.sleep(chance.uniform(0.0, 0.2))
            self.server.start()
            return "server"
        role = chance.choice(WRITERS) if blow == "writer" else self.holder()
        if blow == "stopped taker":
            self.stop_past_lease(role)
            return role
        self.kill(role)
        if blow == "dead taker":
            self.wait_other(role)
        self.start(role)
        return role

    def wait_other(self, role: str) -> None:
        """Wait until the other taker has the box."""
        (other,) = set(TAKERS) - {role}
        before = self.accepted(other)
        self.wait(f"{other} has the box", lambda: self.accepted(other) > before)

    def stop_past_lease(self, role: str) -> None:
        before = self.refusals(role)
        self.children[role].send_signal(signal.SIGSTOP)
        try:
            time.sleep(LEASE_S)
            self.wait_other(role)
            accepted = self.accepted(role)
        finally:
            self.children[role].send_signal(signal.SIGCONT)
        self.wait(f"{role} is refused", lambda: self.refusals(role) > before)
        self.late += self.accepted(role) - accepted

    def take_rest(self) -> None:
        """End the writers, and wait until all that they put has a line and was acknowledged."""
        for role in WRITERS:
            self.kill(role)
        until = time.monotonic() + REST_S
        while set(self.lines(*WRITERS)) - set(self.lines(*TAKERS)) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.3)  # whatever is taken twice is taken now

    def account(self) -> RedisTotals:
        acknowledged = set(self.lines(*WRITERS))
        transcripts = {role: Counter(self.lines(role)) for role in TAKERS}
        refused = {role: Counter(self.lines(f"{role}.said")) for role in TAKERS}
        twice = {item for lines in transcripts.values() for item, times in lines.items() if times > 1}
        for item in transcripts[TAKERS[0]].keys() & transcripts[TAKERS[1]].keys():
            if not any(refused[role][f"refused {item}"] for role in TAKERS):
                twice.add(item)
        lines = {item for role in TAKERS for item in transcripts[role]}
        return RedisTotals(
            len(acknowledged),
            len(lines),
            sum(map(self.refusals, TAKERS)),
            self.late,
            tuple(sorted(acknowledged - lines)),
            tuple(sorted(twice)),
        )


def strike_processes(folder: Path, count: int, *, seed: int, blows: tuple[str, ...] = BLOWS) -> RedisTotals:
    """Strike so often, each kind in turn, and return the account."""
    chance = random.Random(seed)
    files, kept = folder / "logs", folder / "server"
    files.mkdir()
    kept.mkdir()
    box = SharedBox(files, RealRedis(kept))
    box.server.start()
    try:
        for role in (*WRITERS, *TAKERS):
            box.start(role)
        for number in range(count):
            box.wait_progress()
            time.sleep(chance.uniform(0.0, 0.3))
            who = box.strike(blows[number % len(blows)], chance)
            put, taken = len(box.lines(*WRITERS)), sum(map(box.accepted, TAKERS))
            print(f"{number + 1}: {blows[number % len(blows)]} ({who}): {put} put, {taken} taken", flush=True)
        box.wait_progress()
        box.take_rest()
    finally:
        for role in list(box.children):
            box.kill(role)
        box.server.kill()
    return box.account()


def main() -> int:
    """Strike so often; 1 if an item was lost, taken twice or acknowledged late, 2 without a server."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos.redis_boxes", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=20, help="blows (20)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (0)")
    options = parser.parse_args()
    if PROGRAM is None:
        print("redis-server is not installed; `make test-redis` installs it", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        totals = strike_processes(Path(name), options.count, seed=options.seed)
    print(
        f"\n{options.count} blows: {totals.acknowledged} items acknowledged, {totals.lines} with a line, {len(totals.lost)} lost, "
        f"{len(totals.twice)} twice, {totals.refused} late acknowledgements refused, {totals.late} accepted"
    )
    for what, items in (("lost", totals.lost), ("twice", totals.twice)):
        for item in items[:20]:
            print(f"{what}: {item}")
    return 0 if totals.is_right else 1


if __name__ == "__main__":
    sys.exit(main())

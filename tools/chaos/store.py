"""Kill two writers and a taker of one store with -9 at random, and account for every item: `make chaos-store N=100`.

Each line tells one kill: which process, after how long, and the number of acknowledged and taken items so far. In the end the
rest is taken: no acknowledged item may be lost, and none taken twice.
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
from pathlib import Path
from typing import Final

import attrs

from greenroom.store import INBOX, stored_ids
from tools.chaos.store_child import logged

ROOT: Final = Path(__file__).resolve().parents[2]
ROLES: Final = ("a", "b", "take")
START_S: Final = 5.0
REST_S: Final = 30.0


@attrs.frozen
class Totals:
    """The account of a series."""

    acknowledged: int
    taken: int
    lost: tuple[str, ...]
    """Acknowledged items that were neither taken nor are in the store."""
    twice: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """True if nothing was lost and nothing taken twice."""
        return not self.lost and not self.twice


def kill_processes(folder: Path, count: int, *, seed: int) -> Totals:
    """Kill processes of a store so often, each started again, and return the account."""
    chance = random.Random(seed)
    children = {role: start(folder, role) for role in ROLES}
    try:
        for role in ROLES:
            wait_busy(folder / role, 0)
        for number in range(count):
            role, wait_s = chance.choice(ROLES), chance.uniform(0.05, 0.5)
            time.sleep(wait_s)
            children[role].send_signal(signal.SIGKILL)
            children[role].wait()
            before = len(logged(folder / role))
            children[role] = start(folder, role)
            wait_busy(folder / role, before)
            done = {name: len(logged(folder / name)) for name in ROLES}
            print(
                f"kill {number + 1}: {role} after {wait_s:.3f} s: {done['a'] + done['b']} acknowledged, {done['take']} taken",
                flush=True,
            )
        for role in ("a", "b"):
            children[role].send_signal(signal.SIGKILL)
            children[role].wait()
        children["take"].send_signal(signal.SIGKILL)
        children["take"].wait()
        children["take"] = start(folder, "take")
        began = time.monotonic()
        while stored_ids(folder / INBOX) and time.monotonic() - began < REST_S:
            time.sleep(0.1)
    finally:
        for child in children.values():
            child.kill()
            child.wait()
    acknowledged = {*logged(folder / "a"), *logged(folder / "b")}
    taken = Counter(logged(folder / "take"))
    return Totals(
        len(acknowledged),
        len(taken),
        tuple(sorted(acknowledged - taken.keys())),
        tuple(sorted(item for item, times in taken.items() if times > 1)),
    )


def wait_busy(path: Path, before: int) -> None:
    """Wait until a process that was started has done something; a taker that has nothing to do is not waited for."""
    began = time.monotonic()
    while len(logged(path)) <= before and time.monotonic() - began < START_S:
        time.sleep(0.02)


def start(folder: Path, role: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tools.chaos.store_child", role, str(folder / INBOX), str(folder / role)]
    return subprocess.Popen(command, cwd=ROOT)


def main() -> int:
    """Kill so many processes; 1 if an item was lost or taken twice."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos.store", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=100, help="kills (100)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills (0)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        totals = kill_processes(Path(name), options.count, seed=options.seed)
    print(
        f"\n{options.count} kills: {totals.acknowledged} items acknowledged, {totals.taken} taken, "
        f"{len(totals.lost)} lost, {len(totals.twice)} taken twice"
    )
    for what, items in (("lost", totals.lost), ("twice", totals.twice)):
        for item in items[:20]:
            print(f"{what}: {item}")
    return 0 if totals.is_right else 1


if __name__ == "__main__":
    sys.exit(main())

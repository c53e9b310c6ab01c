"""Kill a gateway after events of a scripted day, start it again, let it run out, and compare: `make chaos-gateway N=20`.

The day runs in virtual time on a disk that keeps what was durable. Each line tells one kill; what is different stands below it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

import trio

from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL
from tests.gateway.process.day import open_day
from tests.gateway.process.test_day import Outcome, check_same, run_day
from tests.gateway.process.town import RecordingTownDisk, Town

CALLS_CUT = frozenset({"run.registered", "pairing.asked"})
"""Events after which a kill may change what is said: a call is cut, which the model is told; a stranger loses a code."""


def main() -> int:
    """Run the kills, and return 1 if a day came to something else."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-gateway-") as name:
        return run(Path(name), asked.kills, random.Random(asked.seed))


def run(folder: Path, kills: int, chance: random.Random) -> int:
    """Run the day once, then with each kill; return the exit code."""
    count = sum(1 for _ in record(folder / "count", frozenset())[1])
    chosen = frozenset(chance.sample(range(count), min(kills, count)))
    whole, kinds, left = record(folder / "days", chosen)
    failed = 0
    for number, town in sorted(left.items()):
        kind = kinds[number]
        try:
            check_same(whole, run_virtual(run_day, town).result)
            said = "the same"
        except Exception as error:  # noqa: BLE001 - whatever it is, this day has not come to the same
            is_known = kind in CALLS_CUT
            failed += not is_known
            said = f"{'known: ' if is_known else 'DIFFERENT: '}{(str(error).strip() or type(error).__name__).splitlines()[0][:200]}"
        print(f"event {number} of {count}, {kind or 'other'}: {said}", flush=True)
    print(f"{len(left)} kills, {failed} days that came to something else")
    return 1 if failed else 0


def record(folder: Path, chosen: frozenset[int]) -> tuple[Outcome, list[str], dict[int, Town]]:
    """Run the day; return its result, the kinds of its events, and what a kill after each chosen one would have left."""
    town = open_day(folder / "day")
    kinds: list[str] = []
    left: dict[int, Town] = {}

    def note(kind: str) -> None:
        if len(kinds) in chosen:
            left[len(kinds)] = town.copy(folder / str(len(kinds)), trio.current_time())
        kinds.append(kind)

    return run_virtual(run_day, town, RecordingTownDisk(town.state / JOURNAL, note)).result, kinds, left


if __name__ == "__main__":
    sys.exit(main())

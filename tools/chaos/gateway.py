"""Kill a gateway after events of a scripted day, start it again, let it run out, and compare: `make chaos-gateway N=20`.

The day runs in virtual time on a disk that keeps what was durable. Each line tells one kill; what is different stands below it. `N=all`
kills after each event.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import trio

from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL
from tests.gateway.process.day import open_day
from tests.gateway.process.day_outcome import Outcome, run_day
from tests.gateway.process.town import RecordingTownDisk, Town


def main() -> int:
    """Run the kills, and return 1 if a day came to something else."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", help="number of kills, or `all`, or numbers of events: 12,34")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--acts", action="store_true", help="also after writes to other files, texts shown, and acknowledgements"
    )
    parser.add_argument("--jobs", type=int, default=1, help="days that run side by side")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-gateway-") as name:
        return run(Path(name), asked.kills, random.Random(asked.seed), asked.jobs, has_acts=asked.acts)


def run(folder: Path, kills: str, chance: random.Random, jobs: int, *, has_acts: bool) -> int:
    """Run the day once, then with each kill; return the exit code."""
    count = len(record(folder / "count", frozenset(), has_acts=has_acts)[1])
    if "," in kills:
        chosen = frozenset(int(number) for number in kills.split(",") if number)
    else:
        chosen = frozenset(range(count) if kills == "all" else chance.sample(range(count), min(int(kills), count)))
    whole, kinds, left = record(folder / "days", chosen, has_acts=has_acts)
    failed, blocked = Counter[str](), 0
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for number, outcome in pool.imap(run_out, sorted(left.items())):
            found = [outcome] if isinstance(outcome, str) else whole.differences(outcome)
            blocked += 0 if isinstance(outcome, str) else len(outcome.blocked)
            print(f"event {number} of {count}, {kinds[number]}: {'DIFFERENT' if found else 'the same'}", flush=True)
            for line in found:
                print(f"    {line}", flush=True)
            failed[kinds[number]] += bool(found)
    print(f"{len(left)} kills, {failed.total()} days that came to something else, {blocked} texts blocked")
    return 1 if failed.total() else 0


def run_out(numbered: tuple[int, Town]) -> tuple[int, Outcome | str]:
    """Run a day from a kill to its end, and return its number and result, or the error."""
    number, town = numbered
    try:
        return number, run_virtual(run_day, town).result
    except Exception as error:  # noqa: BLE001 - whatever it is, this day has not come to the same
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        return number, f"{type(error).__name__}: {error}"


def record(folder: Path, chosen: frozenset[int], *, has_acts: bool) -> tuple[Outcome, list[str], dict[int, Town]]:
    """Run the day; return its result, the kinds of its events, and what a kill after each chosen one would have left."""
    town = open_day(folder / "day")
    kinds: list[str] = []
    left: dict[int, Town] = {}

    def note(kind: str) -> None:
        if len(kinds) in chosen:
            left[len(kinds)] = town.copy(folder / str(len(kinds)), trio.current_time())
        kinds.append(kind)

    if has_acts:
        for service in town.services.values():
            service.on_act = note
    disk = RecordingTownDisk(town.state / JOURNAL, note, has_others=has_acts)
    return run_virtual(run_day, town, disk).result, kinds, left


if __name__ == "__main__":
    sys.exit(main())

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
from pathlib import Path
from typing import Final

import trio

from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL
from tests.gateway.process.day import open_day
from tests.gateway.process.day_outcome import Outcome, cut_day, run_day
from tests.gateway.process.town import RecordingTownDisk, Town

MAX_SECOND: Final = 40
"""Most events of a second process before it is killed as well."""


def main() -> int:
    """Run the kills, and return 1 if a day came to something else."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", help="number of kills, or `all`, or numbers of events: 12,34")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--acts", action="store_true", help="also after writes to other files, texts shown, and acknowledgements"
    )
    parser.add_argument("--twice", action="store_true", help="kill the second process as well, soon after its start")
    parser.add_argument("--jobs", type=int, default=1, help="days that run side by side")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-gateway-") as name:
        return run(Path(name), asked, random.Random(asked.seed))


def run(folder: Path, asked: argparse.Namespace, chance: random.Random) -> int:
    """Run the day once, then with each kill; return the exit code."""
    count = len(record(folder / "count", frozenset(), has_acts=asked.acts)[1])
    if "," in asked.kills:
        chosen = frozenset(int(number) for number in asked.kills.split(",") if number)
    elif asked.kills == "all":
        chosen = frozenset(range(count))
    else:
        chosen = frozenset(chance.sample(range(count), min(int(asked.kills), count)))
    whole, kinds, left = record(folder / "days", chosen, has_acts=asked.acts)
    days = [
        (number, town, chance.randint(1, MAX_SECOND) if asked.twice else 0) for number, town in sorted(left.items())
    ]
    failed, blocked = 0, 0
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        for (number, _, second), outcome in zip(days, pool.imap(run_out, days), strict=True):
            found = [outcome] if isinstance(outcome, str) else whole.differences(outcome, kills=2 if second else 1)
            blocked += 0 if isinstance(outcome, str) else len(outcome.blocked)
            again = f", then {second} events later" if second else ""
            print(
                f"event {number} of {count}, {kinds[number]}{again}: {'DIFFERENT' if found else 'the same'}", flush=True
            )
            for line in found:
                print(f"    {line}", flush=True)
            failed += bool(found)
    print(f"{len(left)} kills, {failed} days that came to something else, {blocked} texts blocked")
    return 1 if failed else 0


def run_out(day: tuple[int, Town, int]) -> Outcome | str:
    """Run a day from a kill to its end, with another kill on the way if one is asked for; return its result, or the error."""
    _, town, second = day
    try:
        if second:
            again = town.folder.with_name(f"{town.folder.name}-again")
            town = run_virtual(cut_day, town, again, second).result or town
        return run_virtual(run_day, town).result
    except Exception as error:  # noqa: BLE001 - whatever it is, this day has not come to the same
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        return f"{type(error).__name__}: {error}"


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

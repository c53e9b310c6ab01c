"""Run fifty claimers on two hundred items under explored schedules, and check each: a part of `make soak`.

`SOAK_CLAIMS` says how many schedules, 10,000 if it is not set. A schedule under which an item is claimed or completed twice, or not
at all, is told with its choices. Exit code 1 when there was one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from typing import Final

import attrs

from greenroom.core import Level
from greenroom.teams._board import Board
from greenroom.testing import ExplorationFailed, Search, explore, pct
from tests.teams.claims import CLAIMERS, ITEMS, crowd

STRATEGIES: Final[tuple[Search | str, ...]] = ("random", pct(3))
EACH: Final = 50
"""Schedules of a strategy in a row."""


@attrs.define
class Tally:
    """What one process saw."""

    schedules: int = 0
    journals: int = 0
    seconds: float = 0.0
    violations: list[str] = attrs.Factory(list)


def soak(task: tuple[int, int]) -> Tally:
    """Run so many schedules, from a seed."""
    seed, most = task
    Board.journal = Level.LIFECYCLE  # what the kernel says of each message costs a third, and is not looked at here
    tally = Tally()
    began = time.monotonic()
    while tally.schedules < most and len(tally.violations) < 5:
        for strategy in STRATEGIES:
            schedules = min(EACH, most - tally.schedules)
            if schedules < 1:
                break
            try:
                explored = explore(crowd(), schedules=schedules, strategy=strategy, seed=seed, shrinks=0)
            except ExplorationFailed as error:
                tally.violations.append(f"{error}: {error.__cause__!r}")
                schedules = error.runs
            else:
                tally.journals += explored.journals
            tally.schedules += schedules
        seed += 1
    tally.seconds = time.monotonic() - began
    return tally


def main() -> int:
    """Soak on all cores."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak.claims", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    schedules = int(os.environ.get("SOAK_CLAIMS", "10000"))
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"{schedules:,} schedules of {CLAIMERS} claimers on {ITEMS} items, seed {seed}", flush=True)
    tasks = [(seed + number * 1_000_000, -(-schedules // options.jobs)) for number in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        tallies = pool.map(soak, tasks)
    runs, journals = sum(tally.schedules for tally in tallies), sum(tally.journals for tally in tallies)
    violations = [text for tally in tallies for text in tally.violations]
    per_minute = sum(tally.schedules / tally.seconds for tally in tallies) * 60
    print(f"{runs:,} schedules, {per_minute:,.0f} a minute, {journals:,} distinct journals, {runs * ITEMS:,} claims")
    print(f"{len(violations)} violations", *violations, sep="\n  ")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

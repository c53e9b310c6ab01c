"""Run drawn plans over whole sessions under explored schedules, and check each: a part of `make soak`.

`SOAK_SESSIONS` says how many schedules, 100,000 if it is not set. A plan that breaks a promise is made short, saved under
tests/agents/crew/histories, and told. Exit code 1 when there was one.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import random
import sys
import time
import zlib
from pathlib import Path
from typing import Final

import attrs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from greenroom.testing import ExplorationFailed, Search, explore, pct
from tests.agents.crew.machine import Plan, own_folder, scenario
from tests.agents.crew.plans import plans

HISTORIES: Final = Path(__file__).resolve().parents[1] / "agents" / "crew" / "histories"
EACH: Final = 5
"""Schedules of a plan, for each of the strategies."""
STRATEGIES: Final[tuple[Search | str, ...]] = ("random", pct(3))
BATCH: Final = 100
"""Plans that are drawn from one seed."""


@attrs.define
class Tally:
    """What one process saw."""

    schedules: int = 0
    journals: int = 0
    plans: int = 0
    seconds: float = 0.0
    violations: list[str] = attrs.Factory(list)


def soak(task: tuple[int, int]) -> Tally:
    """Run so many schedules of plans that are drawn from a seed."""
    logging.disable(logging.CRITICAL)  # crashes are what a soak is made of
    seed, schedules = task
    tally = Tally()
    began = time.monotonic()
    with own_folder() as folder:
        while tally.schedules < schedules and len(tally.violations) < 5:
            _soak_batch(tally, seed + tally.plans, folder, most=schedules)
    tally.seconds = time.monotonic() - began
    return tally


def _soak_batch(tally: Tally, seed: int, folder: Path, *, most: int) -> None:
    failed: list[tuple[Plan, ExplorationFailed]] = []

    @seeded(seed)
    @settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(plans())
    def check(plan: Plan) -> None:
        if tally.schedules >= most:
            return
        tally.plans += 1
        number = zlib.crc32(repr(plan).encode())  # the same plan meets the same schedules
        for strategy in STRATEGIES:
            try:
                explored = explore(scenario(plan, folder), schedules=EACH, strategy=strategy, seed=number, shrinks=0)
            except ExplorationFailed as error:
                failed.append((plan, error))
                raise
            tally.schedules += explored.runs
            tally.journals += explored.journals

    try:
        check()
    except (ExplorationFailed, ExceptionGroup):  # a group where plans failed in several ways, or not each time
        plan, error = failed[-1]
        path = HISTORIES / f"found-{seed}.json"
        plan.save(path, error.choices, why=str(error.__cause__))
        tally.violations.append(f"{path.name}: {error.__cause__!r}")


def main() -> int:
    """Soak on all cores."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.sessions", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    schedules = int(os.environ.get("SOAK_SESSIONS", "100000"))
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"{schedules:,} schedules of sessions on {options.jobs} processes, seed {seed}", flush=True)
    tasks = [(seed + number * 1_000_000, -(-schedules // options.jobs)) for number in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        tallies = pool.map(soak, tasks)
    runs = sum(one.schedules for one in tallies)
    plans_run, journals = sum(one.plans for one in tallies), sum(one.journals for one in tallies)
    violations = [text for one in tallies for text in one.violations]
    per_minute = sum(one.schedules / one.seconds for one in tallies) * 60
    print(f"{runs:,} schedules of {plans_run:,} plans, {per_minute:,.0f} a minute, {journals:,} distinct journals")
    print(f"{len(violations)} violations", *violations, sep="\n  ")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

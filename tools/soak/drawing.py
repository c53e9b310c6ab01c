"""Runs plans that Hypothesis draws under explored schedules, on all cores: what the soaks of sessions and of teams share.

A plan that breaks a promise is made short, saved as a history, and told.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import random
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.strategies import SearchStrategy

from greenroom.testing import ExplorationFailed, Search, explore, pct
from tools.soak.session_machine import own_folder

EACH: Final = 5
"""Schedules of a plan, for each of the strategies."""
STRATEGIES: Final[tuple[Search | str, ...]] = ("random", pct(3))
BATCH: Final = 100
"""Plans that are drawn from one seed."""


@final
@attrs.frozen(kw_only=True)
class Drawn:
    """What is drawn, and how it is run; of functions of modules, so that processes can be told of it."""

    what: str
    """What the schedules are of."""
    module: str
    """What is run with `python -m`."""
    variable: str
    """The environment variable that says how many schedules."""
    schedules: int
    """How many, if it is not set."""
    plans: Callable[[], SearchStrategy[Any]]
    scenario: Callable[[Any, Path], Any]
    histories: Path
    """Where a plan is saved that breaks a promise."""
    prefix: str = "found"
    """What the file of such a plan is called, before the seed."""
    max_steps: int = 100_000


@attrs.define
class Tally:
    """What one process saw."""

    schedules: int = 0
    journals: int = 0
    plans: int = 0
    seconds: float = 0.0
    violations: list[str] = attrs.Factory(list)


def soak(drawn: Drawn, task: tuple[int, int]) -> Tally:
    """Run so many schedules of plans that are drawn from a seed."""
    logging.disable(logging.CRITICAL)  # crashes are what a soak is made of
    seed, schedules = task
    tally = Tally()
    began = time.monotonic()
    with own_folder() as folder:
        while tally.schedules < schedules and len(tally.violations) < 5:
            _soak_batch(drawn, tally, seed + tally.plans, folder, most=schedules)
    tally.seconds = time.monotonic() - began
    return tally


def _soak_batch(drawn: Drawn, tally: Tally, seed: int, folder: Path, *, most: int) -> None:
    failed: list[tuple[Any, ExplorationFailed]] = []

    @seeded(seed)
    @settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn.plans())
    def check(plan: Any) -> None:
        if tally.schedules >= most:
            return
        tally.plans += 1
        number = zlib.crc32(repr(plan).encode())  # the same plan meets the same schedules
        run = partial(explore, schedules=EACH, seed=number, shrinks=0, max_steps=drawn.max_steps)
        for strategy in STRATEGIES:
            try:
                explored = run(drawn.scenario(plan, folder), strategy=strategy)
            except ExplorationFailed as error:
                failed.append((plan, error))
                raise
            tally.schedules += explored.runs
            tally.journals += explored.journals

    try:
        check()
    except (ExplorationFailed, ExceptionGroup):  # a group where plans failed in several ways, or not each time
        plan, error = failed[-1]
        path = drawn.histories / f"{drawn.prefix}-{seed}.json"
        plan.save(path, error.choices, why=repr(error.__cause__))
        tally.violations.append(
            f"{path.name}: {error.__cause__!r}\n"
            f"    again: {drawn.variable}={EACH * len(STRATEGIES) * BATCH} python -m {drawn.module} --seed {seed} --jobs 1"
        )


def soak_on_all_cores(drawn: Drawn, about: str | None) -> int:
    """Run it as the command line says, and print what came of it; returns the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {drawn.module}", description=about)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    schedules = int(os.environ.get(drawn.variable, drawn.schedules))
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"{schedules:,} schedules of {drawn.what} on {options.jobs} processes, seed {seed}", flush=True)
    tasks = [(seed + number * 1_000_000, -(-schedules // options.jobs)) for number in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        tallies = pool.map(partial(soak, drawn), tasks)
    runs = sum(tally.schedules for tally in tallies)
    plans_run, journals = sum(tally.plans for tally in tallies), sum(tally.journals for tally in tallies)
    violations = [text for tally in tallies for text in tally.violations]
    per_minute = sum(tally.schedules / tally.seconds for tally in tallies) * 60
    print(f"{runs:,} schedules of {plans_run:,} plans, {per_minute:,.0f} a minute, {journals:,} distinct journals")
    print(f"{len(violations)} violations", *violations, sep="\n  ")
    return 1 if violations else 0

"""Run nodes over simulated networks under drawn schedules, and check the journals of all: `make soak-remote`.

`SOAK_NETWORKS` says how many schedules, 100,000 if it is not set; `SOAK_FRAMES` how many frames have to cross at least, 1,000,000. Prints both
counts, faults, violations and the seed; a violation is made short and saved under tests/remote/network/histories. Exit code 1 when there was one.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.testing import ExplorationFailed, SimNetwork, explore
from tests.remote.network.scenarios import SCENARIOS

HISTORIES: Final = Path(__file__).resolve().parents[2] / "tests" / "remote" / "network" / "histories"
BATCH: Final = 20
"""Schedules that are drawn from one seed."""
MOST_FOUND: Final = 5


@attrs.define
class NetworkTally:
    """What one process saw."""

    schedules: Counter[str] = attrs.Factory(Counter)
    frames: int = 0
    faults: Counter[str] = attrs.Factory(Counter)
    violations: list[str] = attrs.Factory(list)

    def count(self, network: SimNetwork) -> None:
        """Count what a schedule that kept every promise has seen."""
        self.faults.update(network.faults)
        for entries in network.journals().values():
            self.frames += sum(entry.kind == "link.taken" for entry in entries)


def soak_networks(task: tuple[int, int, int, float]) -> NetworkTally:
    """Run so many schedules, and so many frames, from a seed, in at most so many seconds."""
    logging.disable(logging.CRITICAL)  # crashes are what a soak is made of
    seed, schedules, frames, limit_s = task
    tally, until_s = NetworkTally(), time.monotonic() + limit_s
    names = sorted(SCENARIOS)
    while (tally.schedules.total() < schedules or tally.frames < frames) and len(tally.violations) < MOST_FOUND:
        if time.monotonic() > until_s:
            break
        _soak_batch(tally, names[seed % len(names)], SCENARIOS, seed)
        seed += 1
    return tally


def _soak_batch(tally: NetworkTally, name: str, scenarios: dict[str, Callable[..., Any]], seed: int) -> None:
    run = partial(explore, scenarios[name](tally.count), strategy="random", seed=seed)
    try:
        tally.schedules[name] += run(schedules=BATCH).runs
    except ExplorationFailed as error:
        tally.schedules[name] += error.runs
        path = HISTORIES / f"found-{seed}.json"
        history = {"scenario": name, "choices": list(error.choices), "why": repr(error.__cause__)[:1_000]}
        path.write_text(json.dumps(history) + "\n", encoding="utf-8")
        tally.violations.append(f"{path.name}: {history['why']}")


def main() -> int:
    """Soak on all cores."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak.remote", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="stop after this time, and say what was run")
    options = parser.parse_args()
    schedules = int(os.environ.get("SOAK_NETWORKS", "100000"))
    frames = int(os.environ.get("SOAK_FRAMES", "1000000"))
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"{schedules:,} schedules and {frames:,} frames on {options.jobs} processes, seed {seed}", flush=True)
    share = -(-schedules // options.jobs), -(-frames // options.jobs), options.minutes * 60
    tasks = [(seed + number * 1_000_000, *share) for number in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        tallies = pool.map(soak_networks, tasks)
    done = sum((tally.schedules for tally in tallies), Counter[str]())
    faults = sum((tally.faults for tally in tallies), Counter[str]())
    violations = [text for tally in tallies for text in tally.violations]
    for name, count in sorted(done.items()):
        print(f"  {name:<28} {count:>9,} schedules")
    print(f"{done.total():,} schedules, {sum(tally.frames for tally in tallies):,} frames")
    print("faults:", ", ".join(f"{count:,} {name}" for name, count in sorted(faults.items()) if name != "none"))
    print(f"{len(violations)} violations", *violations, sep="\n  ")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

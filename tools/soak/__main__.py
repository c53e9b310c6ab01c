"""Run as many schedules as fit in some minutes over every scenario, with faults, and check every record: `make soak`.

Prints schedules a minute, distinct journals, faults and violations; a violation is saved under tests/histories. Exit code
1 when there was one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
from collections import Counter

from tools.soak.running import soak


def main() -> int:
    """Soak on all cores."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="by default another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--unchecked", action="store_true", help="run without the checkers, to see what they cost")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"{options.minutes:g} minutes on {options.jobs} processes, seed {seed}", flush=True)
    tasks = [(seed + number, options.minutes * 60, not options.unchecked) for number in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        tallies = pool.map(soak, tasks)
    runs = sum(tally.runs for tally in tallies)
    journals = set().union(*(tally.journals for tally in tallies))
    violations = [text for tally in tallies for text in tally.violations]
    per_minute = sum(tally.runs / tally.seconds for tally in tallies) * 60
    for name, count in sorted(sum((tally.by_scenario for tally in tallies), Counter()).items()):
        print(f"  {name:<28} {count:>9,} schedules")
    print(f"{runs:,} schedules, {per_minute:,.0f} a minute ({per_minute / options.jobs:,.0f} a core)")
    print(f"{len(journals):,} distinct journals, {sum(tally.faults for tally in tallies):,} faults injected")
    print(f"{len(violations)} violations")
    for text in violations:
        print(f"  {text}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

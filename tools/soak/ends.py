"""Cut runs at every event, and check what each leaves: a part of `make soak`, or `make ends` alone.

Who is cut (main, sub-agents, a fork, a teammate) x the verb x what is in flight x 1, 2 and 3 calls side by side x every event. It
is the same set of runs each time: nothing is drawn. `--kinds` and `--calls` choose a part. Exit code 1 when a run broke a promise.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time

from tools.soak.strikes import CALLS, Case, cases, strike


def sweep(case: Case) -> tuple[int, int, list[str]]:
    """Return how many runs of a case there were, how many of them cut a turn, and what was wrong."""
    logging.disable(logging.CRITICAL)  # what fails on purpose is logged as well
    cut, problems = 0, []
    count = strike(case, None).count
    for event in range(count):
        try:
            run = strike(case, event)
        except Exception as error:  # noqa: BLE001 - told with its case; the others go on
            problems.append(f"{case} at {event}: {error!r}")
            continue
        cut += run.cut_turns > 0
        problems += [f"{case} at {event}: {problem}" for problem in run.problems]
    return count, cut, problems


def main() -> int:
    """Run what the command line chooses, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak.ends", description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=[*CALLS], default=[*CALLS])
    parser.add_argument("--calls", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    chosen = list(cases(calls=tuple(options.calls), kinds=tuple(options.kinds)))
    print(f"{len(chosen)} cases on {options.jobs} processes", flush=True)
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        runs, cut, problems = 0, 0, list[str]()
        for count, cuts, found in pool.imap_unordered(sweep, chosen):
            runs, cut, problems = runs + count, cut + cuts, [*problems, *found]
            for one in found:
                print(one, flush=True)
    print(f"{runs:,} runs in {time.monotonic() - began:,.0f} s, {cut:,} of them with a turn that was cut")
    print(f"{len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

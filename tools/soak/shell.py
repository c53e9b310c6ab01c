"""Hold the rules for commands against bash itself: many scripts, run where every program is a stub.

`python -m tools.soak.shell` prints how many scripts were decided about and run, and every one that ran unasked and should not
have, or ran what is denied. SOAK_SCRIPTS says how many, SOAK_SEED from where on. Exit code 1 when there was one.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import trio

from tests.permissions.scripts import Scripts
from tests.permissions.shell_runs import Shell, Tally, hold

SCRIPTS: Final = int(os.environ.get("SOAK_SCRIPTS", "100000"))
SEED: Final = int(os.environ.get("SOAK_SEED", "20260711"))
BATCH: Final = 1_000


def soak(batch: int) -> Tally:
    """Run one batch of scripts."""
    made, tally = Scripts(SEED + batch), Tally()
    with tempfile.TemporaryDirectory() as folder:
        trio.run(hold, [made.script() for _ in range(BATCH)], Shell(Path(folder)), tally)
    return tally


def main() -> int:
    """Soak on all cores."""
    jobs = os.cpu_count() or 1
    print(f"{SCRIPTS:,} scripts on {jobs} processes, seed {SEED}", flush=True)
    whole = Tally()
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for number, tally in enumerate(pool.imap_unordered(soak, range(-(-SCRIPTS // BATCH))), 1):
            whole.add(tally)
            for text in tally.violations:
                print(f"  {text}", flush=True)
            if number % 10 == 0:
                print(f"  {whole.scripts:,} scripts, {len(whole.violations)} violations", flush=True)
    print(f"{whole.scripts:,} scripts decided about twice: without rules, and with all allowed but one program")
    print(f"{whole.unasked:,} ran unasked without rules, {whole.undenied:,} with one program denied")
    print(f"{whole.ran_denied:,} of the {whole.sampled:,} that were held back and run all the same did run it")
    print(f"{len(whole.violations)} violations")
    return 1 if whole.violations else 0


if __name__ == "__main__":
    sys.exit(main())

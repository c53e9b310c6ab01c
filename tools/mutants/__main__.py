"""Break the kernel in many small ways, and show which test notices each: `make mutants`.

Exit code 1 when a mutant survives, or when its patch no longer fits the code.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import attrs

from tests.promises import PROMISES
from tools.mutants.all_mutants import MUTANTS
from tools.mutants.catalogue import KERNEL_TESTS, Mutant

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT_S: Final = 120
TESTS_FAILED: Final = 1


@attrs.frozen
class Verdict:
    mutant: Mutant
    is_killed: bool
    by: str
    seconds: float

    def __str__(self) -> str:
        verdict = "killed by" if self.is_killed else "SURVIVED:"
        names = ", ".join(self.mutant.promises) or "(its own tests)"
        return f"{self.mutant.name:<44} {names:<12} {self.seconds:5.1f} s  {verdict} {self.by}"


def run(mutant: Mutant) -> Verdict:
    """Run the tests that should notice a mutant, until one does."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    command += ["-p", "tools.mutants.plugin", *(mutant.tests or KERNEL_TESTS)]
    environment = os.environ | {"MUTANT": mutant.name, "PYTHONDONTWRITEBYTECODE": "1"}
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Verdict(mutant, is_killed=True, by=f"nothing that ends within {LIMIT_S} s", seconds=LIMIT_S)
    seconds = time.monotonic() - began
    found = re.search(
        r"^(?:FAILED|ERROR) (\S+\.py\S*)", done.stdout, re.MULTILINE
    )  # also one that breaks the collection
    if done.returncode == TESTS_FAILED and found is not None:
        return Verdict(mutant, is_killed=True, by=found[1], seconds=seconds)
    if done.returncode == 0:
        return Verdict(mutant, is_killed=False, by="every test passed", seconds=seconds)
    tail = " / ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
    return Verdict(mutant, is_killed=False, by=f"the run itself failed ({done.returncode}): {tail}", seconds=seconds)


def main() -> int:
    """Run all mutants, or those that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="names of mutants or ids of promises; by default all")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not options.names or {mutant.name, *mutant.promises} & set(options.names)]
    unknown = set(options.names) - {one for mutant in MUTANTS for one in (mutant.name, *mutant.promises)}
    if unknown:
        parser.error(f"no mutant and no promise is called {', '.join(map(repr, sorted(unknown)))}; --list names them")
    if options.list:
        for one in chosen:
            print(f"{one.name:<44} {', '.join(one.promises)}")
        return 0
    for one in chosen:
        one.check(ROOT)
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = []
        for verdict in pool.map(run, chosen):
            print(verdict, flush=True)
            verdicts.append(verdict)
    survivors = [verdict.mutant.name for verdict in verdicts if not verdict.is_killed]
    broken = {name for mutant in MUTANTS for name in mutant.promises}
    untested = sorted(set(PROMISES) - broken, key=lambda name: (len(name), name)) if not options.names else []
    print(f"\n{len(verdicts)} mutants, {len(survivors)} survived{': ' if survivors else ''}{', '.join(survivors)}")
    if untested:
        print(f"promises that no mutant breaks: {', '.join(untested)}")
    return 1 if survivors or untested else 0


if __name__ == "__main__":
    sys.exit(main())

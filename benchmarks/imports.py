"""What starting costs: importing the package against its three base libraries, and `--version` against a bare Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from benchmarks.measure import Target, print_figures, run_group

RUNS = 10


def cpu_of_python(*arguments: str) -> Callable[[], float]:
    """Return a measure of the CPU seconds that a fresh interpreter takes with these arguments."""

    def measure() -> float:
        before = os.times()
        for _ in range(RUNS):
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = os.times()
        children = after.children_user + after.children_system - before.children_user - before.children_system
        return children / RUNS

    return measure


def main() -> None:
    names = "import greenroom; [getattr(greenroom, name) for name in greenroom.__all__]"
    systems = {
        "bare python": cpu_of_python("-c", "pass"),
        "greenroom --version": cpu_of_python("-m", "greenroom", "--version"),
        "import trio, attrs, cattrs": cpu_of_python("-c", "import trio, attrs, cattrs"),
        "import greenroom": cpu_of_python("-c", "import greenroom"),
        "import greenroom and touch every name": cpu_of_python("-c", names),
    }
    version = Target(
        bench="greenroom --version",
        numerator="greenroom --version",
        denominator="bare python",
        limit=3.0,
        at_least=False,
    )
    package = Target(
        bench="import greenroom",
        numerator="import greenroom",
        denominator="import trio, attrs, cattrs",
        limit=1.5,
        at_least=False,
    )
    every_name = Target(
        bench="import greenroom and touch every name",
        numerator="import greenroom and touch every name",
        denominator="import trio, attrs, cattrs",
        limit=1.5,
        at_least=False,
    )
    run_group("starting", systems, [version, package, every_name], unit="ms CPU", scale=1e3, slices=1)


if __name__ == "__main__":
    main()
    print_figures()

"""The CPU that a command costs before it does anything: each against a bare start of Python, and imports against those of the base libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.measure import Target, print_figures, run_group

RUNS: Final = 4
HISTORY: Final = Path(__file__).resolve().parents[1] / "tests" / "histories" / "old-swarm-restarted.jsonl"
BARE: Final = "bare python"
LIBRARIES: Final = "import trio, attrs, cattrs"
PUBLIC: Final = "import greenroom; [getattr(greenroom, name) for name in greenroom.__all__]"
TO_REQUEST: Final = """
import os, sys
from greenroom.models import PlaybookModel
PlaybookModel.stream = lambda model, request: os._exit(0)
sys.argv = ["greenroom", "run", "hello", "--model", "playbook"]
from greenroom.__main__ import main
main()
"""
"""A run that ends where it would send its first request."""


def cpu_of_python(folder: Path, *arguments: str) -> Callable[[], float]:
    """Return a measure of the CPU seconds that a fresh interpreter takes with these arguments, its threads included."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"HOME": str(folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def measure() -> float:
        before = os.times()
        for _ in range(RUNS):
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True, cwd=folder, env=environ)
        after = os.times()
        children = after.children_user + after.children_system - before.children_user - before.children_system
        return children / RUNS

    return measure


def main() -> None:
    """Measure the starts side by side, each from an empty folder."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        commands = {
            "greenroom --version": cpu_of_python(folder, "-m", "greenroom", "--version"),
            "greenroom swarm --help": cpu_of_python(folder, "-m", "greenroom", "swarm", "--help"),
            "greenroom replay": cpu_of_python(folder, "-m", "greenroom", "replay", str(HISTORY)),
            "greenroom run, to its first request": cpu_of_python(folder, "-c", TO_REQUEST),
        }
        packages = {
            LIBRARIES: cpu_of_python(folder, "-c", LIBRARIES),
            "import greenroom": cpu_of_python(folder, "-c", "import greenroom"),
            "import greenroom and touch every name": cpu_of_python(folder, "-c", PUBLIC),
        }
        limits = {"greenroom --version": 3.0}
        targets = [_at_most(name, BARE, limits.get(name)) for name in commands]
        targets += [_at_most(name, LIBRARIES, 1.5) for name in packages if name != LIBRARIES]
        systems = {BARE: cpu_of_python(folder, "-c", "pass"), **commands, **packages}
        run_group("starting", systems, targets, unit="ms CPU", scale=1e3, slices=1)


def _at_most(name: str, peer: str, limit: float | None) -> Target:
    return Target(bench=name, numerator=name, denominator=peer, limit=limit, at_least=False)


if __name__ == "__main__":
    main()
    print_figures()

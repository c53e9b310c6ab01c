"""Every kind of work, everything that can happen to it, at its first, a middle and its last event: python -m tools.fire

Runs every cell of that matrix in virtual time and prints the outcome of each beside the expected one; exit code 1 if one differs.
`tests/agents/subagents/test_fire.py` runs the same cells.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from tools.fire.expected import Fault, Moment, Work, expected
from tools.fire.stage import CELLS, Cell, play_virtually


def main() -> int:
    """Play all cells and print what came of each."""
    began_s = time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="fire-"))
    bad: list[str] = []
    try:
        for fault in Fault:
            print(f"\n{fault}")
            for work in Work:
                cells = [(work, fault, moment) for moment in Moment]
                print(f"  {work:<12}" + "".join(f"{_shown(cell, folder, bad):<34}" for cell in cells), flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"\n{len(CELLS) - len(bad)} of {len(CELLS)} cells are as expected ({time.perf_counter() - began_s:.1f} s)")
    for one in bad:
        print(f"  {one}")
    return 1 if bad else 0


def _shown(cell: Cell, folder: Path, bad: list[str]) -> str:
    place = folder / "-".join(one.name for one in cell)
    place.mkdir()
    seen = play_virtually(cell, place)
    problems = seen.problems(expected(*cell))
    if problems:
        bad.append(f"{', '.join(cell)}: {'; '.join(problems)}")
    assert seen.task is not None or problems
    state = "none" if seen.task is None else seen.task.state
    return f"{'ok ' if not problems else 'BAD'} {state}, {seen.told}"


if __name__ == "__main__":
    sys.exit(main())

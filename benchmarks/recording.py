"""Cost of a run on record (`--record`): CPU time of a swarm's process, and size of the record beside its transcripts.

    python -m benchmarks.recording [--rounds 10]

Each round runs the same swarm without a record and with one, in another order each time.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.measure import Target, print_figures, print_table, report, report_ratio
from benchmarks.viewers import COMMAND, SURVEYED, end_of, wait_journal
from greenroom.effects import EFFECTS_FILE
from greenroom.models.recordings import MODEL_FILE
from greenroom.trace import TRANSCRIPTS

PLAIN, RECORDED = "without a record", "with a record"
CPU: Final = Target(bench="record-cpu", numerator=RECORDED, denominator=PLAIN, limit=1.05, at_least=False)
SIZE: Final = Target(bench="record-size", numerator="record", denominator="transcripts", limit=1.3, at_least=False)


def run_swarm(way: str, surveyed: Path) -> tuple[float, float]:
    """Run a swarm; return the CPU seconds that it took from its first event on, and the size of its record over that of its transcripts."""
    with tempfile.TemporaryDirectory(prefix="gr") as name:
        runs = Path(name)
        record = "--record" if way == RECORDED else "--no-record"
        command = [*COMMAND, "swarm", str(surveyed), "--runs", str(runs), "--latency", "0", "--json", record]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
            journal, before_s = wait_journal(process, runs)
            cpu_s = end_of(process) - before_s
        folder = journal.parent
        kept = sum(path.stat().st_size for part in (MODEL_FILE, EFFECTS_FILE) for path in folder.glob(part))
        said = sum(path.stat().st_size for path in (folder / TRANSCRIPTS).glob("*.jsonl"))
        return cpu_s, kept / said


def main() -> None:
    """Measure, and print what a record costs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--surveyed", type=Path, default=SURVEYED)
    asked = parser.parse_args()
    taken: dict[str, list[float]] = {PLAIN: [], RECORDED: []}
    sizes = []
    for round_ in range(asked.rounds):
        for way in (PLAIN, RECORDED) if round_ % 2 else (RECORDED, PLAIN):
            cpu_s, size = run_swarm(way, asked.surveyed)
            taken[way].append(cpu_s)
            if way == RECORDED:
                sizes.append(size)
    print_table("CPU time of a swarm", taken, unit="s")
    report_ratio(CPU, taken)
    report(SIZE, sizes)
    print_figures()


if __name__ == "__main__":
    main()

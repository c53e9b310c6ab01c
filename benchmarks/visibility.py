"""Cost of seeing a run: reading, columns, server, page, exports; of a made-up run of any length with 1,000 actors.

    python -m benchmarks.visibility [--events 100000] [--only reading,page,live,exports]

Prints a table: target, measured, verdict. Targets in CPU seconds are for a million events, and less for fewer; those in seconds are of the
clock, and mean little on a busy machine. Each figure is taken in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import attrs
import trio

from benchmarks import page_speed
from benchmarks.long_runs import RUN, write_run
from greenroom.web._opened_page import page_collector
from greenroom.web._shown_run import ShownRun

MILLION: Final = 1_000_000
MEGABYTE: Final = 1e6


@attrs.frozen
class Aim:
    """The highest value that a figure may have."""

    limit: float
    is_for_million: bool = False
    """True if it is less for shorter runs."""
    start: float = 0.0
    """Time added for the start of a program."""

    def for_run(self, events: int) -> float:
        """Return the highest value for a run of that many events."""
        return self.start + self.limit * min(1.0, events / MILLION) if self.is_for_million else self.limit


AIMS: Final[Mapping[str, Aim]] = {
    "reading: first events, s": Aim(2.0),
    "reading: folded with columns, CPU s": Aim(18.0, is_for_million=True),
    "reading: memory, MB": Aim(350),
    "reading: longest part, CPU ms": Aim(50),
    "reading: words found, CPU s": Aim(2.0, is_for_million=True),
    "page: first picture, s": Aim(2.0),
    "page: last row, s": Aim(0.2),
    "page: needle found, s": Aim(2.0),
    "page: heap, MB": Aim(250),
    "page: complaints": Aim(0),
    "server: memory, MB": Aim(350),
    "live: disk to document, ms p95": Aim(250),
    "html: CPU s": Aim(60, is_for_million=True, start=2),
    "html: memory, MB": Aim(300),
    "html: MB": Aim(60, is_for_million=True, start=0.3),
    "html: usable, s": Aim(3),
    "chrome: CPU s": Aim(60, is_for_million=True, start=2),
    "chrome: memory, MB": Aim(300),
    "otlp: CPU s": Aim(60, is_for_million=True, start=2),
    "otlp: memory, MB": Aim(300),
    "perfetto: CPU s": Aim(60, is_for_million=True, start=2),
    "perfetto: memory, MB": Aim(300),
    **{f"step: {view}, ms p50": Aim(16) for view in page_speed.VIEWS},
    **{f"step: {view}, ms p99": Aim(50) for view in page_speed.VIEWS},
}


def read(folder: Path) -> dict[str, float]:
    """Measure what the server of a page does with a run, in this process."""
    began, cpu_s = time.perf_counter(), time.process_time()
    shown = ShownRun(folder / "journal.jsonl")
    longest = 0.0
    first_s = 0.0
    while True:
        part_s = time.process_time()
        if not any(shown._advance(256)):
            break
        if first_s:  # the first part compiles the readers of events
            longest = max(longest, time.process_time() - part_s)
        first_s = first_s or (time.perf_counter() - began if shown.rows()["events"] else 0.0)
    figures = {
        "reading: first events, s": first_s,
        "reading: folded with columns, CPU s": time.process_time() - cpu_s,
        "reading: longest part, CPU ms": longest * 1000,
    }
    cpu_s = time.process_time()
    assert len(shown.index.find_words([page_speed.NEEDLE], most=10)) == 1
    figures["reading: words found, CPU s"] = time.process_time() - cpu_s
    return figures


def _calm(measure: Callable[[Path], dict[str, float]], folder: Path) -> dict[str, float]:
    with page_collector():  # as the program does that serves a page
        return measure(folder)


def export(folder: Path, events: int) -> dict[str, float]:
    """Measure the exports of a run."""
    figures: dict[str, float] = {}
    for form in ("html", "chrome", "otlp", "perfetto"):
        output = folder / f"run.{form}"
        content = ["--content", "none"] if form == "html" else []
        _, cpu_s, peak_mb = _run(
            "greenroom", "replay", str(folder), "--export", form, "--output", str(output), *content
        )
        figures |= {f"{form}: CPU s": cpu_s, f"{form}: memory, MB": peak_mb}
        figures[f"{form}: MB"] = output.stat().st_size / MEGABYTE
        if form == "html":
            figures |= trio.run(page_speed.open_file, output, events)
        output.unlink()
    return figures


def _run(*arguments: str) -> tuple[str, float, float]:
    """Run a module of Python; return its output, its CPU seconds, and its peak memory in MB."""
    with subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (arguments, said)
    return said, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / MEGABYTE


PARTS: Final[Mapping[str, Callable[[Path, int], dict[str, float]]]] = {
    "reading": lambda folder, _: _calm(read, folder),
    "page": lambda folder, events: trio.run(page_speed.look, folder, events),
    "live": lambda _folder, _events: trio.run(page_speed.follow, 5.0),
    "exports": export,
}


def main() -> None:
    """Measure, and print a line for each figure as it comes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--actors", type=int, default=1_000)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--part", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part is not None:
        print(json.dumps(PARTS[asked.part[0]](Path(asked.part[1]), asked.events)))
        return
    with tempfile.TemporaryDirectory(prefix="gr") as name:
        folder = Path(name) / RUN
        journal = write_run(folder, events=asked.events, actors=asked.actors, needle=page_speed.NEEDLE)
        size_mb = journal.stat().st_size / MEGABYTE
        print(f"{asked.events:,} events of {asked.actors:,} actors, {size_mb:.0f} MB; load {os.getloadavg()[0]:.1f}")
        print(f"{'figure':<38} {'target':>10} {'measured':>10}  verdict")
        for part in asked.only.split(","):
            # In another process: what a child takes is measured from what its parent had when it was started.
            told = ("--part", part, str(folder), "--events", str(asked.events))
            said, _, peak_mb = _run("benchmarks.visibility", *told)
            figures = json.loads(said) | ({"reading: memory, MB": peak_mb} if part == "reading" else {})
            for figure, value in figures.items():
                _print(figure, value, asked.events)


def _print(figure: str, value: float, events: int) -> None:
    aim = AIMS.get(figure)
    if aim is None:
        print(f"{figure:<38} {'':>10} {value:>10.2f}", flush=True)
        return
    limit = aim.for_run(events)
    print(f"{figure:<38} {limit:>10.2f} {value:>10.2f}  {'met' if value <= limit else 'MISSED'}", flush=True)


if __name__ == "__main__":
    main()

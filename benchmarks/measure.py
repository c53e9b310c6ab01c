"""Measuring: every system of a group once a round, ratios within a round, the median of the rounds and their spread.

Rule 1: what is compared is measured in the same round, one after the other. Rule 2: a figure that could not be measured is
told as skipped, with the reason; it is neither met nor missed. Rule 3: a run ends with one JSON line for each figure.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

ROUNDS = 5
SLICES = 4


@attrs.frozen(kw_only=True)
class Target:
    """What a benchmark is held to: a ratio of two of its systems."""

    bench: str
    numerator: str
    denominator: str
    limit: float | None = None
    """None for a figure that is only watched."""
    at_least: bool = True
    """Whether the ratio has to be at least the limit; otherwise at most."""

    def verdict(self, ratio: float) -> str:
        if self.limit is None:
            return "no target"
        is_met = ratio >= self.limit if self.at_least else ratio <= self.limit
        return f"target {self.text}: {'met' if is_met else 'MISSED'}"

    @property
    def text(self) -> str | None:
        return None if self.limit is None else f"{'>=' if self.at_least else '<='} {self.limit:g}"

    @property
    def unit(self) -> str:
        return f"{self.numerator} / {self.denominator}"


_lines: Final[list[dict[str, object]]] = []
"""The figures of this run, for `print_figures`."""


def cpu_seconds(function: Callable[[], object]) -> float:
    """Return the CPU time that a call takes; garbage of others is collected before."""
    gc.collect()
    began = time.process_time()
    function()
    return time.process_time() - began


def run_group(
    title: str,
    systems: Mapping[str, Callable[[], float]],
    targets: Sequence[Target],
    *,
    unit: str,
    scale: float = 1.0,
    rounds: int = ROUNDS,
    slices: int = SLICES,
    missing: Mapping[str, str] | None = None,
) -> None:
    """Measure systems side by side, print a table and what each target came to.

    Args:
        title: Heading of the table.
        systems: Each returns a number; what the number is, `unit` says.
        targets: Ratios to print.
        unit: Unit of the table's numbers.
        scale: What the numbers are multiplied with for the table.
        rounds: How many ratios there are in the end.
        slices: How often each system is measured in a round, in turn with the others: a slow phase of the machine is
            shorter than a round, so it meets them all.
        missing: The systems that cannot be measured here, and why; a target that names one is skipped.
    """
    missing = missing or {}
    samples = measure_rounds(systems, rounds, slices)
    print_table(title, samples, unit=unit, scale=scale)
    for name, why in missing.items():
        print(f"  {name:<44} {'skipped':>12}  {why}")
    for target in targets:
        reasons = [missing[name] for name in (target.numerator, target.denominator) if name in missing]
        if reasons:
            report_skipped(target, reasons[0])
        else:
            report_ratio(target, samples)


def print_table(title: str, samples: Mapping[str, Sequence[float]], *, unit: str, scale: float = 1.0) -> None:
    """Print a line for each system: the median of its rounds, the lowest and the highest."""
    rounds = max(map(len, samples.values()))
    print(f"\n{title} ({unit}; median of {rounds} [lowest .. highest])")
    for name, values in samples.items():
        low, middle, high = (scale * one for one in (min(values), statistics.median(values), max(values)))
        print(f"  {name:<44} {middle:>12,.3f}  [{low:,.3f} .. {high:,.3f}]", flush=True)


def report_ratio(target: Target, samples: Mapping[str, Sequence[float]]) -> None:
    """Report the ratio of two systems, taken round by round."""
    pairs = zip(samples[target.numerator], samples[target.denominator], strict=True)
    report(target, [one / other for one, other in pairs])


def measure_rounds(systems: Mapping[str, Callable[[], float]], rounds: int, slices: int) -> dict[str, list[float]]:
    """Return for each system the mean of its slices in each round."""
    for measure in systems.values():  # warm up: imports, caches, lazily made things
        measure()
    samples: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(rounds):
        names = list(systems)
        if names:
            names = names[number % len(names) :] + names[: number % len(names)]
        sums = dict.fromkeys(names, 0.0)
        for _ in range(slices):
            for name in names:
                sums[name] += systems[name]()
        for name in names:
            samples[name].append(sums[name] / slices)
    return samples


def report(target: Target, ratios: Sequence[float]) -> None:
    """Print what a target came to, and keep it for the JSON lines; of several ratios the median counts."""
    ratio = statistics.median(ratios)
    print(
        f"  -> {target.bench}: {ratio:.2f} [{min(ratios):.2f} .. {max(ratios):.2f}], {target.verdict(ratio)}",
        flush=True,
    )
    _lines.append({"bench": target.bench, "ratio": round(ratio, 3), "target": target.text, "unit": target.unit})


def report_skipped(target: Target, why: str) -> None:
    """Print that a target is not shown here, and why, and keep it for the JSON lines."""
    print(f"  -> {target.bench}: skipped, {why}", flush=True)
    _lines.append({"bench": target.bench, "skipped": why, "target": target.text, "unit": target.unit})


def print_figures() -> None:
    """Print one JSON line for each figure since the last call; the last thing that a run prints."""
    print()
    for line in _lines:
        print(json.dumps(line), flush=True)
    _lines.clear()


def run_groups(program: str, about: str | None, groups: Mapping[str, Callable[[], None]]) -> None:
    """Run the groups that the command line names, all by default, and print their figures, also after an error.

    Args:
        program: The command, for its help.
        about: Its description.
        groups: The groups by name, in the order in which they run.
    """
    parser = argparse.ArgumentParser(prog=program, description=about)
    parser.add_argument("--only", default="", help="names of groups, with commas between")
    parser.add_argument("--list", action="store_true", help="list the groups and stop")
    options = parser.parse_args()
    if options.list:
        print("\n".join(groups))
        return
    chosen = options.only.split(",") if options.only else list(groups)
    unknown = [name for name in chosen if name not in groups]
    if unknown:
        parser.error(f"there is no group {', '.join(unknown)}; there are {', '.join(groups)}")
    try:
        for name in chosen:
            groups[name]()
    finally:
        print_figures()

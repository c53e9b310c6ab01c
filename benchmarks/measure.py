"""Measuring: every system of a group once a round, ratios within a round, the median of the rounds and their spread."""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import attrs

ROUNDS = 5
SLICES = 4


@attrs.frozen(kw_only=True)
class Target:
    """What a benchmark is held to: a ratio of two of its systems."""

    bench: str
    numerator: str
    denominator: str
    limit: float
    at_least: bool
    """Whether the ratio has to be at least the limit; otherwise at most."""

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.limit if self.at_least else ratio <= self.limit

    @property
    def text(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.limit:g}"


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
) -> None:
    """Measure systems side by side and print a table, then a JSON line for each target.

    Args:
        title: Heading of the table.
        systems: Each returns a number; what the number is, `unit` says.
        targets: Ratios to print.
        unit: Unit of the table's numbers.
        scale: What the numbers are multiplied with for the table.
        rounds: How many ratios there are in the end.
        slices: How often each system is measured in a round, in turn with the others: a slow phase of the machine is
            shorter than a round, so it meets them all.
    """
    for measure in systems.values():  # warm up: imports, caches, lazily made things
        measure()
    samples: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(rounds):
        names = list(systems)
        names = names[number % len(names) :] + names[: number % len(names)]
        sums = dict.fromkeys(names, 0.0)
        for _ in range(slices):
            for name in names:
                sums[name] += systems[name]()
        for name in names:
            samples[name].append(sums[name] / slices)
    print(f"\n{title} ({unit}; median of {rounds} [lowest .. highest])")
    for name, values in samples.items():
        low, middle, high = (scale * one for one in (min(values), statistics.median(values), max(values)))
        print(f"  {name:<44} {middle:>12,.3f}  [{low:,.3f} .. {high:,.3f}]")
    for target in targets:
        ratios = [a / b for a, b in zip(samples[target.numerator], samples[target.denominator], strict=True)]
        report(target, statistics.median(ratios), (min(ratios), max(ratios)))


def report(target: Target, ratio: float, spread: tuple[float, float]) -> None:
    """Print what a target came to, for people and as one JSON line."""
    verdict = "met" if target.is_met(ratio) else "MISSED"
    print(f"  -> {target.bench}: {ratio:.2f} [{spread[0]:.2f} .. {spread[1]:.2f}], target {target.text}: {verdict}")
    unit = f"{target.numerator} / {target.denominator}"
    line = {"bench": target.bench, "ratio": round(ratio, 3), "target": target.text, "unit": unit}
    print(json.dumps(line), flush=True)

"""One workload, several systems: each is an async function of how many things to do, and its CPU time is per thing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import attrs

from benchmarks.measure import Target, run_group
from benchmarks.messaging import cpu_of

System: TypeAlias = Callable[[int], Awaitable[None]]
"""Does so many things, and raises if it did not."""


@attrs.frozen(kw_only=True)
class Contest:
    """A group of the benchmarks: call it to measure."""

    title: str
    """What is done, and what the time is per."""
    count: int
    systems: Mapping[str, System]
    targets: Sequence[Target]
    slices: int = 2

    def __call__(self) -> None:
        run_group(
            f"{self.title}, CPU",
            {name: cpu_of(system, self.count) for name, system in self.systems.items()},
            self.targets,
            unit="us",
            scale=1e6,
            slices=self.slices,
        )

"""Every workload of the kernel's benchmarks does its work and ends, however small it is."""

from __future__ import annotations

from typing import Final

import pytest
import trio

from benchmarks.kernel import buffers, savina
from benchmarks.kernel.contest import Contest, System

CONTESTS: Final[dict[str, Contest]] = {**savina.GROUPS, **buffers.GROUPS}
SYSTEMS: Final = [
    pytest.param(system, id=f"{group}-{name}")
    for group, contest in CONTESTS.items()
    for name, system in contest.systems.items()
]


@pytest.mark.parametrize("count", [1, 10])
@pytest.mark.parametrize("system", SYSTEMS)
async def test_a_system_does_its_work_and_ends(system: System, count: int) -> None:
    with trio.fail_after(5):
        await system(count)


@pytest.mark.parametrize("group", CONTESTS)
def test_a_contest_compares_systems_that_it_has(group: str) -> None:
    contest = CONTESTS[group]

    for target in contest.targets:
        assert {target.numerator, target.denominator} <= set(contest.systems)

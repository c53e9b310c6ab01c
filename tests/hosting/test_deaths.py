"""Deaths of a run and of its host, and losses of the link between them: a slice of the table of `expected_ends`.

`make chaos-hosts` runs the whole table, and the same with real processes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import trio

from tests.hosting.expected_ends import EXPECTED, STOPS
from tests.hosting.lives import seen_of_fault, seen_of_stop

SLICE: Final = (
    pytest.param("launcher killed", "running", marks=pytest.mark.promise("R5-a")),
    ("host killed", "order taken"),
    ("both killed", "end decided"),
    ("link lost", "order on record"),
    pytest.param("host unreachable", "running", marks=pytest.mark.promise("R5-d")),
)


@pytest.mark.promise("R7-c")
@pytest.mark.parametrize(("fault", "moment"), SLICE)
async def test_a_remote_agent_ends_as_expected(
    fault: str, moment: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    assert await seen_of_fault(tmp_path, fault, moment) == EXPECTED[fault][moment]


@pytest.mark.promise("R5-c")
@pytest.mark.parametrize("fault", ["launcher killed", "host killed"])
async def test_a_stop_is_not_forgotten(fault: str, tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """Also by the later process of a run, and by a host that was away."""
    assert await seen_of_stop(tmp_path, fault) == STOPS[fault]

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.tools import SIDE_BY_SIDE, FunctionTool, ToolSet, plan_batches, tool


@attrs.frozen
class Use:
    name: str
    id: int = 0


def named(name: str, *, read_only: bool) -> FunctionTool:
    @tool(name=name, read_only=read_only)
    async def one() -> str:
        """Does it."""
        return ""

    return one


TOOLS = ToolSet([named("Read", read_only=True), named("Grep", read_only=True), named("Write", read_only=False)])


def plan(names: str, cap: int = SIDE_BY_SIDE) -> list[str]:
    """Plan calls given by their first letters."""
    full = {"R": "Read", "G": "Grep", "W": "Write", "?": "Unknown"}
    batches = plan_batches([Use(full[letter]) for letter in names], TOOLS, cap)
    return ["".join(call.name[0].replace("U", "?") for call in batch) for batch in batches]


def test_read_only_calls_share_a_batch_and_others_are_alone() -> None:
    assert plan("RGRWRWWGG") == ["RGR", "W", "R", "W", "W", "GG"]


def test_the_cap_splits_a_long_row() -> None:
    assert plan("RRRRRWRR", cap=2) == ["RR", "RR", "R", "W", "RR"]
    assert plan("R" * 11) == ["R" * 10, "R"]


def test_an_unknown_call_is_alone() -> None:
    assert plan("R?R") == ["R", "?", "R"]


def test_nothing_to_do_is_no_batch() -> None:
    assert plan("") == []


def test_a_cap_below_one_is_refused() -> None:
    with pytest.raises(UsageError):
        plan("R", cap=0)


@given(st.lists(st.sampled_from(["Read", "Grep", "Write", "Unknown"]), max_size=30), st.integers(1, 5))
def test_every_call_runs_once_in_order_and_no_batch_could_be_larger(names: list[str], cap: int) -> None:
    calls = [Use(name, at) for at, name in enumerate(names)]

    batches = plan_batches(calls, TOOLS, cap)

    assert [call for batch in batches for call in batch] == calls
    for batch in batches:
        assert 1 <= len(batch) <= cap
        assert len(batch) == 1 or all(call.name in {"Read", "Grep"} for call in batch)
    for one, following in pairwise(batches):
        are_read_only = all(call.name in {"Read", "Grep"} for call in (*one, *following))
        assert not are_read_only or len(one) == cap

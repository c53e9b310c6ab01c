"""Boards under drawn plans and explored schedules: nothing is lost, done twice, or owned by who is not there."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from greenroom.testing import Search, explore, pct
from tests.teams.machine import ACTS, OPERATIONS, Plan, scenario

NUMBERS = st.integers(0, 9)
HOST = st.lists(st.tuples(st.sampled_from(OPERATIONS), NUMBERS, NUMBERS), max_size=12).map(tuple)
MEMBER = st.lists(st.sampled_from(ACTS), min_size=1, max_size=4).map(tuple)
CREATE = (("create", 0, 0),) * 6
PLANS = st.builds(
    Plan,
    hosts=st.lists(HOST, min_size=1, max_size=3).map(lambda hosts: (CREATE, *hosts)),
    members=st.lists(MEMBER, min_size=1, max_size=4).map(tuple),
    one_each=st.booleans(),
)


@pytest.mark.parametrize("strategy", ["random", pct(3)])
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@example(plan=Plan((CREATE, (("kill", 0, 0), ("crash the board", 0, 0))), (("claim another", "die"), ("complete",))))
@given(plan=PLANS)
def test_no_plan_and_no_schedule_lose_an_item_or_give_it_to_two(strategy: Search | str, plan: Plan) -> None:
    """RC-97, RC-100: every item ends with one owner at most; what the dead had comes back; ids are never used again."""
    explore(scenario(plan), schedules=3, strategy=strategy, shrinks=0)

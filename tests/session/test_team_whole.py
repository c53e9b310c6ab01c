"""Whole teams under drawn plans and explored schedules, and every plan that once broke something."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from greenroom.testing import Search, explore, pct, replay
from tools.soak.session_machine import own_folder
from tools.soak.team_machine import MAX_STEPS, Plan, scenario
from tools.soak.team_programs import plans

HISTORIES = Path(__file__).parent / "histories"


@pytest.mark.parametrize("strategy", ["random", pct(3)])
@settings(max_examples=15, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans())
def test_no_plan_and_no_schedule_break_a_team(strategy: Search | str, plan: Plan) -> None:
    """Behaviours (7), lines 2 to 8; RC-48, RC-49, RC-51, RC-52, RC-97, CL-10, CL-20; `make soak` runs many more.

    Every item ends with at most one owner, none is lost or done twice; the lead reads one notice of each edge to idle; what a
    mate that was killed had comes back; whoever lives after an aborted turn answers and completes an item; mail is read once or
    comes back; each request has one end; a closed team leaves nothing, and is the same when it is open again.
    """
    with own_folder() as folder:
        explore(scenario(plan, folder), schedules=1, strategy=strategy, shrinks=0, max_steps=MAX_STEPS)


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("team-*.json")), ids=lambda path: path.stem)
def test_a_plan_that_once_broke_a_team_does_not_do_so_again(path: Path) -> None:
    plan, choices = Plan.loaded(path)
    with own_folder() as folder:
        explore(scenario(plan, folder), strategy=replay(choices), shrinks=0, max_steps=MAX_STEPS)
        explore(scenario(plan, folder), schedules=3, max_steps=MAX_STEPS)

"""Sessions under drawn plans and explored schedules, and every plan that once broke something."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from greenroom.testing import Search, explore, pct, replay
from tools.soak.session_machine import Plan, own_folder, scenario
from tools.soak.session_plans import plans

HISTORIES = Path(__file__).parent / "histories"


@pytest.mark.parametrize("strategy", ["random", pct(3)])
@settings(max_examples=15, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans())
def test_no_plan_and_no_schedule_break_a_promise(strategy: Search | str, plan: Plan) -> None:
    """RC-01, RC-04, RC-06, RC-10, RC-24, RC-37, RC-65, RC-80, RC-81; `make soak` runs 100,000 schedules of it.

    One terminal state and one report for each run, to the right reader; nobody ends whom nobody asked to; sums of usage
    are exact; conversations are sound; no place, task or actor is left (`tools/soak/session_invariants.py`).
    """
    with own_folder() as folder:
        explore(scenario(plan, folder), schedules=2, strategy=strategy, shrinks=0)


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.json")), ids=lambda path: path.stem)
def test_a_plan_that_once_broke_a_promise_does_not_do_so_again(path: Path) -> None:
    plan, choices = Plan.loaded(path)
    with own_folder() as folder:
        explore(scenario(plan, folder), strategy=replay(choices), shrinks=0)
        explore(scenario(plan, folder), schedules=5)

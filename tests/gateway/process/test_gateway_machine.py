"""Whole gateways under drawn plans and explored schedules, and every plan that once broke something."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from greenroom.testing import explore, pct, replay
from tools.soak.gateway_machine import GatewayPlan, scenario
from tools.soak.gateway_plans import gateway_plans
from tools.soak.session_machine import own_folder

HISTORIES = Path(__file__).parent / "histories"
MAX_STEPS = 2_000_000


@settings(max_examples=6, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(plan=gateway_plans())
def test_no_plan_and_no_schedule_break_a_gateway(plan: GatewayPlan) -> None:
    """One end and one completion for each run, at most one visible post for each part, every message answered; nothing is left.

    `make soak` runs 5,000 schedules of it (`tools/soak/gateway_invariants.py` says what is checked).
    """
    with own_folder() as folder:
        explore(scenario(plan, folder), schedules=1, strategy=pct(3), max_steps=MAX_STEPS, shrinks=0)


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.json")), ids=lambda path: path.stem)
def test_a_plan_that_once_broke_a_gateway_does_not_do_so_again(path: Path) -> None:
    plan, choices = GatewayPlan.loaded(path)
    with own_folder() as folder:
        explore(scenario(plan, folder), strategy=replay(choices), max_steps=MAX_STEPS, shrinks=0)

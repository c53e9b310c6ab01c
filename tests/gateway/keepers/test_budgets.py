"""Budgets of agents: in a day, over all sessions and restarts, and in a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.gateway._gateway_errors import Conflict
from greenroom.gateway.config._agents import AgentConfig, AgentsConfig, Amount, BudgetConfig, DefaultAgent
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import SessionConfig
from greenroom.gateway.keepers._agent_budgets import budget_of
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.models import Call, ModelRequest, Say, Usage, WrittenAnswer
from greenroom.tasks import TaskState
from greenroom.tools import tool
from tests.gateway.keepers.keeping import MAIN, Gateway, opened, uuid

DAY_S = 86_400.0
OTHER = SessionKey.parse(f"agent:main:subagent:{uuid(98)}")
CHILD = SessionKey.parse(f"agent:main:subagent:{uuid(99)}")


def spending(*tokens: int) -> Any:
    """Return answers that use this many tokens each."""
    return [WrittenAnswer((Say("Done."),), usage=Usage(0, each)) for each in tokens]


def with_budget(**amounts: Amount) -> GatewayConfig:
    defaults = DefaultAgent(budget=BudgetConfig(**amounts))
    return GatewayConfig(agents=AgentsConfig(defaults=defaults), session=SessionConfig(timezone="UTC"))


async def states(gateway: Gateway, *items: Any) -> list[TaskState]:
    """Say something in sessions, one after the other, and return how the turns ended."""
    before = len(gateway.watcher.ends)
    for at, (number, key) in enumerate(items, 1):
        await gateway.say("Work.", uuid(number), key)
        await gateway.watcher.wait_ends(before + at)
    return [end.state for end in gateway.watcher.ends[before:]]


async def test_a_day_is_one_budget_of_all_sessions_also_after_a_restart(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    config = with_budget(per_day=Amount(tokens=25_000))
    async with opened(tmp_path, spending(9_000, 9_000), config=config) as gateway:
        done = TaskState.COMPLETED
        assert await states(gateway, (1, MAIN), (2, CHILD)) == [done, done]

    async with opened(tmp_path, spending(9_000), config=config) as gateway:
        await gateway.keepers.recover()
        assert await states(gateway, (3, MAIN), (4, CHILD)) == [TaskState.FAILED] * 2
        assert "18000 of 25000 tokens of 'agent main today'" in gateway.watcher.ends[0].error
        with pytest.raises(Conflict, match="agent main today"):
            gateway.keepers.events_for_new(OTHER, spawned_by=str(MAIN))
        await trio.sleep(DAY_S)
        assert gateway.keepers.events_for_new(OTHER, spawned_by=str(MAIN))
        assert await states(gateway, (5, MAIN)) == [TaskState.COMPLETED]


async def test_a_run_ends_at_its_budget_and_the_next_one_has_its_own(tmp_path: Path, autojump_clock: MockClock) -> None:
    @tool(name="look")
    async def look() -> str:
        """Look."""
        return "nothing"

    def play(request: ModelRequest) -> WrittenAnswer:
        return WrittenAnswer((Call("look", {}),), usage=Usage(0, 5_000))

    config = with_budget(per_run=Amount(tokens=20_000))
    async with opened(tmp_path, play, config=config, tools=[look]) as gateway:
        assert await states(gateway, (1, MAIN), (2, MAIN)) == [TaskState.FAILED] * 2

        assert [
            len([each for each in end.requests if each.usage and each.usage.total]) for end in gateway.watcher.ends
        ] == [3, 3]
        assert "this run" in gateway.watcher.ends[0].error


def test_an_agents_own_budget_comes_before_the_defaults() -> None:
    own = BudgetConfig(per_day=Amount(tokens=1))
    config = GatewayConfig(agents=AgentsConfig(list=(AgentConfig(id="main", budget=own), AgentConfig(id="other"))))

    assert budget_of(config, "main") == own
    assert budget_of(config, "other") == BudgetConfig()

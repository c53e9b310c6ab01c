"""Turns leave nothing to the garbage collector: all that they need is freed at once, by its last reference."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
import trio

from greenroom.agents import Prompt
from greenroom.core import ProviderError, TurnFailed
from greenroom.models import Call, ScriptedModel
from greenroom.permissions import Effect, Policy, Rule, Scope, Source
from tests.agents.situations import Stage, open_stage
from tests.collector import uncollected

LOOK: Final = Call("Look", {"place": "here"})
ALLOWS_LOOK: Final = Policy(home="/root", rules=(Rule(Effect.ALLOW, "Look", None, Source(scope=Scope.USER)),))


async def answer(stage: Stage) -> None:
    await stage.agent.ask(Prompt("Go."), timeout_s=60)


async def fail(stage: Stage) -> None:
    with pytest.raises(TurnFailed):
        await stage.agent.ask(Prompt("Go."), timeout_s=60)


async def abort(stage: Stage) -> None:
    stage.agent.tell(Prompt("Go."))
    await trio.sleep(0.5)
    stage.agent.abort_turn(why="a test")
    await trio.sleep(0.5)


@pytest.mark.parametrize(
    ("script", "act"),
    [
        pytest.param([LOOK, [LOOK, LOOK], "Done."], answer, id="answer"),
        pytest.param([Call("Stumble", {}), "Done."], answer, id="bug of a tool"),
        pytest.param([Call("Nothing", {}), "Done."], answer, id="unknown tool"),
        pytest.param([ProviderError("no", kind="refused")], fail, id="failure"),
        pytest.param([LOOK], abort, id="abort"),
    ],
)
@pytest.mark.parametrize("policy", [None, ALLOWS_LOOK], ids=["all", "permissions"])
async def test_a_turn_leaves_no_cycles(
    script: list[Any],
    act: Callable[[Stage], Awaitable[None]],
    policy: Policy | None,
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_stage(ScriptedModel([*script, *script])) as stage:
        stage.home.replace(policy=policy)
        await act(stage)  # the first turn makes what an agent keeps
        with uncollected() as found:
            await act(stage)

    assert found == []

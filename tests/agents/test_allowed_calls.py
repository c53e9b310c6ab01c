"""A call that is allowed in any case costs no thread, and nothing on record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import attrs
import pytest

from greenroom.agents import Agent, AgentDefinition, AgentProfile, AgentServices, AgentState, Prompt
from greenroom.core.ports import InlineBlocking, Ports
from greenroom.models import Call, ScriptedModel
from greenroom.permissions import Effect, Policy, Rule, Scope, Source
from greenroom.supervisor import open_runtime
from greenroom.testing import BareAgentPorts
from greenroom.tools import ToolSet, tool

P = ParamSpec("P")
T = TypeVar("T")


@attrs.define
class CountedBlocking:
    """Counts the calls that would run in a thread."""

    calls: int = 0

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        self.calls += 1
        return await InlineBlocking().run(function, *args, **kwargs)


@tool
async def deploy(place: str) -> str:
    """Deploy.

    Args:
        place: Where.
    """
    return f"deployed to {place}"


def rule(effect: Effect, content: str | None = None) -> Rule:
    return Rule(effect, "Deploy", content, Source(scope=Scope.USER))


@pytest.mark.parametrize(
    ("rules", "denied"),
    [
        ((rule(Effect.ALLOW),), 0),
        ((rule(Effect.ALLOW), rule(Effect.DENY, "production")), 0),
        ((rule(Effect.ALLOW), rule(Effect.DENY, "staging")), 1),
        ((rule(Effect.ALLOW), rule(Effect.DENY)), 1),
    ],
)
async def test_a_decision_about_a_tool_without_paths_takes_no_thread(rules: tuple[Rule, ...], denied: int) -> None:
    counted = CountedBlocking()
    model = ScriptedModel([Call("Deploy", {"place": "staging"}), "done"])
    services = AgentServices(model=model, cwd=Path("/"), roots=(Path("/"),), blocking=counted)
    home = AgentState(
        ports=BareAgentPorts(),
        profile=AgentProfile(
            definition=AgentDefinition(name="deployer"),
            tools=ToolSet([deploy]),
            policy=Policy(home="/root", rules=rules),
        ),
        services=services,
    )

    async with model.open(), open_runtime(ports=Ports(blocking=InlineBlocking())) as runtime:
        agent = await runtime.spawn(Agent, home)
        await agent.ask(Prompt("go"))

    assert len(home.run.denials) == denied
    assert counted.calls == 0

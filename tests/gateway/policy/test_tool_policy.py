"""Which tools a session is offered."""

from __future__ import annotations

from typing import Final, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.gateway.config._agents import AgentConfig, ToolRules
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import SubagentTools, ToolsConfig
from greenroom.gateway.policy._tool_policy import SESSION_TOOLS, idle_patterns, may_call, tools_of

MAIN: Final = AgentConfig(id="main")
NAMES: Final = (
    "Read",
    "Write",
    "Edit",
    "Bash",
    "TaskOutput",
    "TaskStop",
    "Agent",
    "cron",
    "gateway",
    "mcp__x__y",
    "agents_list",
)
ALL: Final = (*NAMES, *SESSION_TOOLS)
PATTERNS: Final = st.lists(
    st.sampled_from(["read", "exec", "process", "*", "mcp__*", "group:fs", "Agent", *SESSION_TOOLS])
)
RULES: Final = st.builds(ToolRules, allow=st.none() | PATTERNS.map(tuple), deny=PATTERNS.map(tuple))


def child(rules: ToolRules) -> tuple[str, ...]:
    config = GatewayConfig(tools=ToolsConfig(subagents=SubagentTools(tools=rules)))
    return tools_of(config, MAIN, ALL, is_child=True).names


@pytest.mark.promise("A8-a", "A8-e", "A8-g")
@given(RULES, RULES, st.sampled_from(["sessions", "agent"]), st.booleans())
def test_rules_only_take_away(
    agent: ToolRules, children: ToolRules, vocabulary: Literal["sessions", "agent"], is_child: bool
) -> None:
    """A sub-agent never has a tool that starts others, and nobody has both vocabularies."""
    tools = attrs.evolve(ToolsConfig(subagents=SubagentTools(tools=children)), vocabulary=vocabulary)
    offered = tools_of(GatewayConfig(tools=tools), attrs.evolve(MAIN, tools=agent), ALL, is_child=is_child)

    assert {"sessions_spawn", "Agent"} & set(offered.names) <= (set() if is_child else {"sessions_spawn", "Agent"})
    assert not {"sessions_spawn", "Agent"} <= set(offered.names)
    assert sorted([*offered.names, *offered.why]) == sorted(ALL)
    assert not (is_child and set(SESSION_TOOLS) & set(offered.names))


def test_a_sub_agent_that_may_nest_gets_the_one_tool_for_it() -> None:
    plain = tools_of(GatewayConfig(), MAIN, ALL, is_child=True)
    nesting = tools_of(GatewayConfig(), MAIN, ALL, is_child=True, may_spawn=True)

    assert set(nesting.names) - set(plain.names) == {"sessions_spawn"}


@pytest.mark.promise("A8-b", "A8-g")
@pytest.mark.parametrize("name", ["sessions_spawn", "Agent"])
def test_a_call_of_a_tool_that_is_not_offered_is_refused(name: str) -> None:
    assert not may_call(tools_of(GatewayConfig(), MAIN, ALL, is_child=True), name)


@pytest.mark.promise("A8-c")
def test_a_denial_wins() -> None:
    assert child(ToolRules(allow=("read",), deny=("read",))) == ()


@pytest.mark.promise("A8-d")
def test_a_pattern_takes_away_all_that_it_fits() -> None:
    assert child(ToolRules(deny=("mcp__*",))) == tuple(name for name in NAMES if name not in {"mcp__x__y", "Agent"})


@pytest.mark.promise("A8-f")
def test_a_denial_of_the_agent_holds_for_its_children() -> None:
    agent = attrs.evolve(MAIN, tools=ToolRules(deny=("Bash",)))

    assert "Bash" not in tools_of(GatewayConfig(), agent, ALL, is_child=True).names


@pytest.mark.promise("A8-h")
@pytest.mark.parametrize("pattern", ["exec", "Exec", "Bash", "group:runtime"])
def test_each_name_of_the_shell_takes_it_away(pattern: str) -> None:
    assert "Bash" not in child(ToolRules(deny=(pattern,)))


@pytest.mark.promise("A21-a")
def test_the_lists_of_the_sample_decide() -> None:
    assert child(ToolRules(deny=("gateway", "cron"))) == tuple(
        name for name in NAMES if name not in {"gateway", "cron", "Agent"}
    )
    assert child(ToolRules(allow=("read", "exec", "process"), deny=("gateway", "cron"))) == (
        *("Read", "Bash", "TaskOutput", "TaskStop"),
    )


def test_a_pattern_that_fits_nothing_is_found() -> None:
    config = GatewayConfig(tools=ToolsConfig(deny=("read", "raed")))

    assert idle_patterns(config, ALL) == (("tools.deny[1]", "raed"),)

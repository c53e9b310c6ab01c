"""Which tools a child has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions._builtin_definitions import BUILTINS
from greenroom.agents.delegation import COORDINATOR_TOOLS, ZeroTools, coordinator_tools, tools_for_child, worker_tools
from greenroom.agents.delegation._tool_pool import _BUILT_IN, possible_tools
from greenroom.permissions import Mode
from greenroom.permissions._traits import KNOWN_TOOLS
from greenroom.tools import FunctionTool
from greenroom.tools.builtin import STANDARD_TOOLS

NEVER = (
    "AskUserQuestion",
    "EndConversation",
    "EnterPlanMode",
    "ScheduleWakeup",
    "TaskOutput",
    "WaitForMcpServers",
    "Workflow",
)
BACKGROUND = [
    "Read",
    "Grep",
    "Glob",
    "Bash",
    "PowerShell",
    "Edit",
    "Write",
    "NotebookEdit",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "Skill",
    "ToolSearch",
    "EnterWorktree",
    "ExitWorktree",
    "Monitor",
    "TaskStop",
    "SendMessage",
    "Artifact",
]
TEAM = ("TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "CronCreate", "CronDelete", "CronList")
MCP = ("mcp__files__read", "mcp__files__write", "mcp__web__get")
OWN = "Deploy"
"""A tool of the embedding program."""
PATHS = frozenset({"path", "file_path", "notebook_path"})
ALL = (*NEVER, *BACKGROUND, *TEAM, "TeamCreate", "StructuredOutput", "LS", *MCP, OWN, "Agent", "ExitPlanMode")

entries = st.lists(
    st.sampled_from((*ALL, "Task", "Grpe", "*", "mcp__files", "mcp__web__*", "mcp__*", "Bash(rm *)", "Agent(a, b)")),
    max_size=5,
).map(tuple)
circumstances = st.fixed_dictionaries(
    {
        "is_background": st.booleans(),
        "can_spawn": st.booleans(),
        "is_teammate": st.booleans(),
        "mode": st.sampled_from(Mode),
    }
)
sessions = st.lists(st.sampled_from(ALL), unique=True)
definitions = st.builds(
    AgentDefinition,
    name=st.just("x"),
    tools=st.none() | entries,
    disallowed_tools=entries | st.just(("Bash(git push)",)),
)


def pool(definition: AgentDefinition | None = None, available: tuple[str, ...] = ALL, **facts: Any) -> list[str]:
    usual = {"is_background": False, "can_spawn": True, "mode": Mode.ACCEPT_EDITS}
    return tools_for_child(available, definition or AgentDefinition(name="x"), **{**usual, **facts})


def listing(*tools: str, without: tuple[str, ...] = ()) -> AgentDefinition:
    return AgentDefinition(name="x", tools=tools, disallowed_tools=without)


def refusal(definition: AgentDefinition, **facts: Any) -> ZeroTools:
    with pytest.raises(ZeroTools) as caught:
        pool(definition, **facts)
    return caught.value


@given(sessions, definitions, circumstances)
def test_no_definition_gives_more_than_its_agent_may_have(
    available: list[str], definition: AgentDefinition, facts: dict[str, Any]
) -> None:
    try:
        found = tools_for_child(available, definition, **facts)
    except ZeroTools:
        assert definition.tools
        assert "*" not in definition.tools
        return
    everything = tools_for_child(available, AgentDefinition(name="all"), **facts)

    assert found == [tool for tool in available if tool in found]
    assert set(found) <= set(everything)
    assert set(found).isdisjoint(NEVER)
    assert "Agent" not in found or facts["can_spawn"]
    assert "ExitPlanMode" not in found or facts["mode"] is Mode.PLAN
    assert set(found).isdisjoint(definition.disallowed_tools)
    if facts["is_background"] and not facts["is_teammate"]:
        assert set(found) <= {*BACKGROUND, *MCP, OWN, "Agent", "ExitPlanMode"}


@given(sessions, definitions, circumstances)
def test_a_list_is_refused_exactly_where_nothing_in_it_means_anything(
    available: list[str], definition: AgentDefinition, facts: dict[str, Any]
) -> None:
    error = None
    try:
        tools_for_child(available, definition, **facts)
    except ZeroTools as refused:
        error = refused
    without_denials = tools_for_child(available, AgentDefinition(name="all"), **facts)
    if error is not None:
        named = (*error.unrecognized, *error.unavailable, *error.absent)
        assert named
        assert set(named) <= set(definition.tools or ())
        assert set(named).isdisjoint(without_denials)


@given(sessions, circumstances)
def test_without_lists_all_that_there_is_is_left(available: list[str], facts: dict[str, Any]) -> None:
    for definition in (AgentDefinition(name="x"), listing("*"), listing("Grpe", "*")):
        assert tools_for_child(available, definition, **facts) == tools_for_child(
            available, AgentDefinition(name="y"), **facts
        )
    own = {name: value for name, value in facts.items() if name != "is_teammate"}
    assert possible_tools(available, **own) == tools_for_child(available, AgentDefinition(name="x"), **own)


def test_some_tools_are_for_no_child() -> None:
    assert set(pool()) == {*ALL} - {*NEVER, "ExitPlanMode"}
    assert "ExitPlanMode" in pool(mode=Mode.PLAN)
    assert pool(listing("Read", *NEVER)) == ["Read"]


def test_at_the_depth_limit_there_is_no_agent_tool() -> None:
    """Behaviours (1), line 7."""
    assert "Agent" not in pool(can_spawn=False)
    assert pool(listing("Read", "Agent", "Task"), can_spawn=False) == ["Read"]


def test_a_background_child_has_what_needs_nobody() -> None:
    assert pool(is_background=True) == [tool for tool in ALL if tool in {*BACKGROUND, *MCP, OWN, "Agent"}]


def test_a_teammate_keeps_the_list_of_tasks_and_mail() -> None:
    found = pool(listing("Read"), is_teammate=True)
    assert set(found) == {"Read", "SendMessage", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}
    assert set(TEAM) <= set(pool(is_teammate=True))
    assert "TeamCreate" not in pool(is_teammate=True)
    assert "SendMessage" not in pool(listing("Read", without=("SendMessage",)), is_teammate=True)


def test_a_list_allows_and_a_denial_goes_first() -> None:
    assert pool(listing("Grep", "Read")) == ["Read", "Grep"]
    assert pool(listing("Read", "Bash", without=("Bash",))) == ["Read"]
    assert "Bash" not in pool(AgentDefinition(name="x", disallowed_tools=("Bash",)))
    assert pool(AgentDefinition(name="x", disallowed_tools=("*",))) == []


def test_servers_are_named_all_at_once() -> None:
    assert pool(listing("mcp__files")) == ["mcp__files__read", "mcp__files__write"]
    assert pool(listing("mcp__files__*", "mcp__web__get", without=("mcp__files__write",))) == [
        "mcp__files__read",
        "mcp__web__get",
    ]
    assert not {*MCP} & {*pool(AgentDefinition(name="x", disallowed_tools=("mcp__*",)))}
    assert "mcp__web__get" in pool(AgentDefinition(name="x", disallowed_tools=("mcp__files",)))


def test_a_scoped_denial_leaves_the_tool() -> None:
    assert "Bash" in pool(AgentDefinition(name="x", disallowed_tools=("Bash(git push)", "Bash(rm *)")))


def test_the_older_name_and_types_in_brackets_mean_the_tool() -> None:
    assert pool(listing("Task")) == ["Agent"]
    assert pool(listing("Agent(code-reviewer, Explore)")) == ["Agent"]
    assert "Agent" not in pool(AgentDefinition(name="x", disallowed_tools=("Task",)))


def test_a_list_that_means_nothing_is_refused_in_these_words() -> None:
    """Behaviours (1), line 5."""
    error = refusal(listing("Grpe"))

    assert str(error) == (
        "Agent 'x' would be spawned with zero tools — refusing. "
        "Its tools list resolved to nothing: unrecognized [Grpe]; did you mean Grep?"
    )


def test_the_three_reasons_are_told_apart() -> None:
    error = refusal(
        listing("Zzz", "AskUserQuestion", "Agent(a)", "TaskCreate", "NotebookEdit", "mcp__gone"),
        available=("Read", "Agent", "TaskCreate", OWN),
        is_background=True,
        can_spawn=False,
    )

    assert error.unrecognized == ("Zzz",)
    assert error.unavailable == ("AskUserQuestion", "Agent(a)", "TaskCreate")
    assert error.absent == ("NotebookEdit", "mcp__gone")
    assert (
        "unrecognized [Zzz] not available to subagents [AskUserQuestion, Agent(a), TaskCreate] "
        "matched no tools in this session [NotebookEdit, mcp__gone]"
    ) in str(error)


def test_what_is_withheld_is_no_child_s_even_where_the_session_has_none_of_it() -> None:
    assert refusal(listing("Agent"), available=("Read",), can_spawn=False).unavailable == ("Agent",)
    assert refusal(listing("Agent"), available=("Read",)).absent == ("Agent",)


def test_an_empty_list_and_one_that_its_denials_empty_are_meant() -> None:
    """Behaviours (1), line 5: `tools: []` starts without tools."""
    assert pool(listing()) == []
    assert pool(listing("Read", without=("Read",))) == []
    assert pool(listing("mcp__files", without=("mcp__files",)), available=("Read",)) == []
    assert pool(listing("mcp__files", without=("mcp__files__read", "mcp__files__write"))) == []
    assert pool(available=()) == []


def test_one_entry_that_means_something_is_enough() -> None:
    assert pool(listing("Grpe", "Read")) == ["Read"]


@pytest.mark.parametrize("tool", STANDARD_TOOLS, ids=lambda tool: tool.name)
def test_built_in_tools_have_rows_in_both_tables(tool: FunctionTool) -> None:
    traits, paths = KNOWN_TOOLS.get(tool.name), PATHS & tool.input_schema["properties"].keys()

    assert traits is not None, f"{tool.name} has no row in greenroom/permissions/_traits.py"
    assert not paths or traits.subject in paths, (
        f"the row of {tool.name} in greenroom/permissions/_traits.py names no path: rules do not hold for its calls"
    )
    assert tool.name in _BUILT_IN, (
        f"greenroom/agents/delegation/_tool_pool.py does not say whether agents in the background have {tool.name}"
    )
    assert refusal(listing(tool.name), available=(OWN,)).unrecognized == ()


@pytest.mark.parametrize("definition", BUILTINS, ids=lambda one: one.name)
def test_the_built_in_agents_have_tools_in_the_background_too(definition: AgentDefinition) -> None:
    assert "Read" in pool(definition, is_background=True)


def test_a_coordinator_only_delegates() -> None:
    assert sorted(coordinator_tools(ALL)) == sorted(COORDINATOR_TOOLS) == ["Agent", "SendMessage", "TaskStop"]


def test_a_worker_has_no_mail_and_no_team() -> None:
    found = worker_tools(ALL)

    assert set(found) == {*BACKGROUND, *MCP, OWN, "Agent", "ExitPlanMode"} - {"SendMessage"}
    assert tools_for_child(
        found, AgentDefinition(name="worker"), is_background=True, can_spawn=False, mode=Mode.ACCEPT_EDITS
    ) == [tool for tool in found if tool not in {"Agent", "ExitPlanMode"}]
    assert worker_tools(ALL, is_simple=True) == ["Read", "Bash", "Edit"]

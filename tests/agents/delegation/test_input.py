"""Inputs of the tool Agent, and what a model sees of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import agent_listing
from greenroom.agents.definitions._builtin_definitions import BUILTINS
from greenroom.agents.delegation import AgentCall, read_call
from greenroom.agents.delegation._input import Gates, agent_schema, agent_tool_description
from greenroom.tools import InvalidInput, ToolError, validate

FIELDS = (
    *("description", "prompt", "subagent_type", "model", "run_in_background"),
    *("name", "team_name", "mode", "isolation", "cwd"),
)
gates = st.builds(Gates, **{name: st.booleans() for name in Gates.__annotations__})
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
inputs = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=10), json_values, max_size=10)


def call(**values: Any) -> AgentCall:
    return read_call({"description": "look around", "prompt": "Look around.", **values})


def refused(**values: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        call(**values)
    return str(caught.value)


@given(gates)
def test_gates_only_take_fields_away(one: Gates) -> None:
    schema = agent_schema(one)
    names = list(schema["properties"])

    assert names == [name for name in FIELDS if name in names]
    assert schema["required"] == ["description", "prompt"]
    assert ("run_in_background" in names) is (one.has_background and not one.is_fork_open)
    assert ("cwd" in names) is one.has_cwd
    assert ("model" in names) is not one.is_coordinator
    assert ("team_name" in names) is one.has_teams
    assert ("remote" in schema["properties"]["isolation"]["enum"]) is one.has_remote
    assert all(field["description"] for field in schema["properties"].values())


@given(gates, st.text())
def test_the_same_gates_give_the_same_bytes(one: Gates, listing: str) -> None:
    again = Gates(**{name: getattr(one, name) for name in Gates.__annotations__})

    assert json.dumps(agent_schema(one)) == json.dumps(agent_schema(again))
    assert agent_tool_description(listing, one) == agent_tool_description(listing, again)


@given(gates, st.data())
def test_whatever_fits_the_shown_schema_is_read(one: Gates, data: st.DataObject) -> None:
    schema = agent_schema(one)
    properties = {name: field for name, field in schema["properties"].items() if name not in {"cwd", "name"}}
    some = {
        name: data.draw(
            st.booleans()
            if field["type"] == "boolean"
            else st.sampled_from(field["enum"])
            if "enum" in field
            else st.text(min_size=1).filter(str.strip)
        )
        for name, field in properties.items()
        if name in schema["required"] or data.draw(st.booleans())
    }
    assert validate(schema, some) == []

    read = read_call(some)

    assert read.prompt == some["prompt"]
    assert read.run_in_background == some.get("run_in_background")


@given(inputs)
def test_an_input_is_read_or_every_problem_is_named(values: dict[str, Any]) -> None:
    try:
        read = read_call(values)
    except InvalidInput as error:
        named = [problem.expected for problem in error.problems]
    else:
        named = ["none"]
        assert read.prompt.strip()
        assert read.description
        assert "\n" not in read.description
        assert not (read.cwd and read.isolation == "worktree")
    assert named
    assert all(named)


def test_description_and_prompt_are_enough() -> None:
    assert call() == AgentCall(description="look around", prompt="Look around.")


@pytest.mark.parametrize(
    ("prompt", "label"),
    [
        ("Find it", "Find it"),
        ("Find  every\ncall of the old function, in all folders", "Find every call of the…"),
        ("x" * 200, "x" * 59 + "…"),
    ],
)
def test_a_call_without_description_is_labelled_from_its_prompt(prompt: str, label: str) -> None:
    assert read_call({"prompt": prompt}).description == label
    assert read_call({"prompt": prompt, "description": " "}).description == label


def test_a_withheld_field_is_read_all_the_same() -> None:
    """Hidden fields stay tolerated; what they mean is decided where the call is routed."""
    read = call(cwd="/elsewhere", team_name="red", mode="plan", run_in_background=False, model="opus", name="scout")

    assert (read.cwd, read.team_name, read.mode) == ("/elsewhere", "red", "plan")
    assert (read.run_in_background, read.model, read.name) == (False, "opus", "scout")


@pytest.mark.parametrize("nothing", [None, "", "  "])
@pytest.mark.parametrize("field", [name for name in FIELDS if name not in {"description", "prompt"}])
def test_null_and_blank_count_as_not_given(field: str, nothing: str | None) -> None:
    assert call(**{field: nothing}) == call()


def test_a_prompt_without_words_is_refused() -> None:
    assert "prompt: expected the task in words" in refused(prompt=" \n")
    with pytest.raises(InvalidInput) as caught:
        read_call({"description": "x"})
    assert [problem.path for problem in caught.value.problems] == ["prompt"]


def test_all_problems_are_told_at_once() -> None:
    text = refused(run_in_background="yes", isolation="docker", mode="pln", prompt=7)

    assert all(f"- {name}: expected" in text for name in ("run_in_background", "isolation", "mode", "prompt"))


def test_what_only_a_definition_says_is_refused_and_not_dropped() -> None:
    for field in ("tools", "hooks", "skills", "mcpServers"):
        assert f"{field}: expected no such argument: only the definition" in refused(**{field: ["Read"]})


def test_an_agent_is_not_resumed_by_a_call() -> None:
    assert "SendMessage" in refused(resume="a123")


def test_a_folder_and_a_worktree_exclude_each_other() -> None:
    assert "leave out `cwd`, or `isolation`" in refused(cwd="/x", isolation="worktree")
    assert call(cwd="/x", isolation="remote").cwd == "/x"


@pytest.mark.parametrize("name", ["*", "main", "Team-Lead", "a@b", "bridge:x", "a\nb", "x" * 65, "/etc"])
def test_a_name_that_cannot_be_an_address_is_refused(name: str) -> None:
    assert "- name: expected" in refused(name=name)


@pytest.mark.parametrize("name", ["scout", "code reviewer", "Ölaf", "v1.2_x-y"])
def test_a_name_may_be_what_people_call_things(name: str) -> None:
    assert call(name=f" {name} ").name == name


def test_an_input_that_is_no_object_is_refused() -> None:
    wrong: Any = ["prompt"]
    with pytest.raises(ToolError):
        read_call(wrong)


def test_the_model_reads_when_to_take_which_way_and_what_it_owes() -> None:
    text = agent_tool_description(agent_listing(BUILTINS), Gates())

    assert "complete and understandable by itself" in text
    assert "- Explore: " in text
    assert "(Tools: Read, Grep, Glob)" in text
    assert "(Tools: All tools)" in text
    for way in ("expert role", "background", 'isolation: "worktree"', "Skill"):
        assert way in text
    for duty in ("report nothing of it", "say that it is still running", "SendMessage", "TaskStop", "output file"):
        assert duty in text
    assert "fork" not in text


def test_the_list_says_in_words_which_tools_an_agent_has() -> None:
    """Behaviours (20), line 14."""
    lists: list[tuple[tuple[str, ...] | None, tuple[str, ...], str]] = [
        (("Read", "Grep"), (), "Read, Grep"),
        (None, ("Bash",), "All tools except Bash"),
        (None, (), "All tools"),
        (("Read", "Bash"), ("Bash",), "Read"),
    ]
    for tools, denied, words in lists:
        one = AgentDefinition(name="a", description="d", tools=tools, disallowed_tools=denied)
        assert f"- a: d (Tools: {words})" in agent_tool_description(agent_listing([one]), Gates())


def test_the_model_reads_of_forks_only_where_it_may_fork() -> None:
    open_gate = agent_tool_description("", Gates(is_fork_open=True))
    by_name = agent_tool_description("", Gates(is_fork_open=True, forks_by_name=True))

    assert "leaving `subagent_type` out" in open_gate
    assert "directive" in open_gate
    assert 'subagent_type: "fork"' in by_name
    assert "fork" not in agent_tool_description("", Gates(is_fork_open=True, is_coordinator=True))
    assert "There are no agents now." in open_gate


def test_the_model_reads_of_the_background_only_where_there_is_one() -> None:
    assert "background" not in agent_tool_description("", Gates(has_background=False))
    assert "run_in_background: true" in agent_tool_description("", Gates())
    assert "run_in_background: false" in agent_tool_description("", Gates(background_by_default=True))
    assert "run_in_background" not in agent_tool_description("", Gates(is_fork_open=True))

"""Fields of a definition, in both forms, and values that do not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition, AgentMcpServer, DefinitionOrigin, MemoryScope
from greenroom.agents._definition import MAX_TURNS
from greenroom.agents.definitions import facts_of
from greenroom.agents.definitions._definition_fields import FIELDS, read_json, read_markdown
from greenroom.core.sources import Diagnostic, Kind, Scope
from tests.agents.definitions.samples import JSON, MARKDOWN

HERE = DefinitionOrigin(scope=Scope.PROJECT, source="x.md")


def read(content: str, origin: DefinitionOrigin = HERE) -> tuple[AgentDefinition | None, list[Diagnostic]]:
    return read_markdown(content, origin=origin)


def head(**fields: str) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in {"name": "x", "description": "d", **fields}.items())
    return f"---\n{lines}---\nbody\n"


def test_the_sample_of_the_reference_loads_unchanged_as_markdown() -> None:
    definition, found = read(MARKDOWN)

    assert found == []
    assert definition == AgentDefinition(
        name="code-reviewer",
        description="Review a code change and find correctness risks",
        tools=("Read", "Grep", "Glob"),
        model="sonnet",
        permission_mode="acceptEdits",
        is_background=True,
        max_turns=8,
        memory=MemoryScope.PROJECT,
        system_prompt="You are a focused code reviewer. Prioritize bugs, regressions, and missing tests.",
    )


def test_the_sample_of_the_reference_loads_unchanged_as_json() -> None:
    ((definition, found),) = read_json(json.loads(JSON), origin=HERE)

    assert found == []
    assert definition is not None
    assert (definition.name, definition.effort, definition.max_turns) == ("code-reviewer", "medium", 50)
    assert definition.disallowed_tools == ("Bash(git push)", "Bash(git force-push)")
    assert definition.when_to_use == "When you want an expert review of code changes"
    assert definition.description == "Review code changes and provide feedback"


def test_what_is_left_out_takes_its_default() -> None:
    definition, found = read(head())

    assert found == []
    assert definition == AgentDefinition(name="x", description="d", system_prompt="body")
    assert definition.max_turns == MAX_TURNS


@pytest.mark.parametrize(
    ("key", "written", "attribute", "value"),
    [
        ("tools", "Read, Bash(a, b), Grep", "tools", ("Read", "Bash(a, b)", "Grep")),
        ("tools", "[]", "tools", ()),
        ("tools", '["*"]', "tools", None),
        ("disallowedTools", "[Write]", "disallowed_tools", ("Write",)),
        ("permissionMode", "manual", "permission_mode", "default"),
        ("background", "Yes", "is_background", True),
        ("background", "off", "is_background", False),
        ("background", "1", "is_background", True),
        ("effort", "xhigh", "effort", "xhigh"),
        ("effort", "3", "effort", 3),
        ("model", "1.10", "model", "1.10"),
        ("isolation", "worktree", "isolation", "worktree"),
        ("color", "cyan", "color", "cyan"),
        ("skills", "a, b", "skills", ("a", "b")),
        ("requiredMcpServers", "[git*]", "required_mcp_servers", ("git*",)),
        ("initialPrompt", "on", "initial_prompt", "on"),
        ("mcpServers", "[git]", "mcp_servers", (AgentMcpServer("git"),)),
        (
            "mcpServers",
            "[{git: {command: g, n: 3}}]",
            "mcp_servers",
            (AgentMcpServer("git", {"command": "g", "n": 3}),),
        ),
        ("hooks", "{Stop: [{hooks: [{timeout: 5}]}]}", "hooks", {"Stop": ({"hooks": ({"timeout": 5},)},)}),
        ("criticalSystemReminder_EXPERIMENTAL", "mind", "critical_reminder", "mind"),
    ],
)
def test_a_field_takes_what_its_table_says(key: str, written: str, attribute: str, value: Any) -> None:
    definition, found = read(head(**{key: written}))

    assert found == []
    assert getattr(definition, attribute) == value


@pytest.mark.parametrize(("key", "written"), [("color", "beige"), ("background", "perhaps"), ("memory", "moon")])
def test_a_bad_value_that_restricts_nothing_is_left_out(key: str, written: str) -> None:
    definition, found = read(head(**{key: written}))

    assert definition == AgentDefinition(name="x", description="d", system_prompt="body")
    assert [(finding.kind, finding.line) for finding in found] == [(Kind.IGNORED, 4)]


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("tools", "{a: b}"),
        ("disallowedTools", "[1]"),
        ("permissionMode", "plann"),
        ("maxTurns", "0"),
        ("isolation", "tree"),
        ("requiredMcpServers", "{}"),
        ("hooks", "[]"),
    ],
)
def test_a_bad_value_that_restricts_takes_the_definition_out(key: str, written: str) -> None:
    """Left out, it would allow more than its author meant."""
    definition, found = read(head(**{key: written}))

    assert definition is None
    assert [(finding.kind, finding.line) for finding in found] == [(Kind.BROKEN, 4)]


def test_an_unknown_field_is_reported_and_not_fatal() -> None:
    definition, found = read(head(max_turns="8", colour="red", quux="1"))

    assert definition is not None
    assert [(finding.kind, finding.line) for finding in found] == [
        (Kind.IGNORED, 4),
        (Kind.IGNORED, 5),
        (Kind.IGNORED, 6),
    ]
    assert found[0].text.endswith("did you mean maxTurns?")
    assert found[1].text.endswith("did you mean color?")


def test_a_restricting_field_without_a_value_is_reported() -> None:
    definition, found = read(head(tools=""))

    assert definition is not None
    assert definition.tools is None
    assert [one.kind for one in found] == [Kind.IGNORED]


def test_a_file_without_a_name_is_documentation_and_one_with_a_name_only_is_skipped() -> None:
    """Behaviours (2), line 2."""
    assert [one.kind for one in read("# How we review\n")[1]] == [Kind.NOTE]
    assert [one.kind for one in read("---\ndescription: d\n---\n")[1]] == [Kind.NOTE]
    definition, found = read("---\nname: x\n---\n")
    assert definition is None
    assert [(finding.kind, finding.line) for finding in found] == [(Kind.BROKEN, 2)]


@pytest.mark.parametrize("name", ["-x", "Reviewer", "a:b", "a b", "a/b", "ä"])
def test_a_bad_name_is_skipped(name: str) -> None:
    definition, found = read(f"---\nname: '{name}'\ndescription: d\n---\n")

    assert definition is None
    assert [one.kind for one in found] == [Kind.BROKEN]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("---\nname: x\ntools: Read: Grep\n    - Bash\n---\n", 3),
        ("---\nname: x\ntools: Read\ndescription: a: b\ntools: Bash\n---\n", 5),
        ("---\nname: x\nname: y\n---\n", 3),
        ("---\nname: &a x\ndescription: *a\n---\n", 2),
        ("---\nname: !!python/object:os.system x\n---\n", 2),
        ("---\nname: x\ntools: [Read\n---\n", 3),
        ("---\n- name\n---\n", 2),
        ("---\nname: x\n", 1),
        ("---\n? [a]\n: b\n---\n", 2),
        ("---\nname: x\nhooks: " + "[" * 2000 + "]" * 2000 + "\n---\n", 3),
    ],
)
def test_broken_yaml_is_one_diagnostic_with_its_line(content: str, line: int) -> None:
    definition, found = read(content)

    assert definition is None
    assert [(finding.kind, finding.source, finding.line) for finding in found] == [(Kind.BROKEN, "x.md", line)]
    assert "\n" not in found[0].text


def test_half_a_character_is_replaced() -> None:
    definition, _ = read('---\nname: x\ndescription: "\\ud800 \\ud83d\\ude00"\n---\n')

    assert definition is not None
    assert definition.description == "\ufffd \U0001f600"


def test_description_with_a_colon_is_read_and_noted() -> None:
    definition, found = read("---\nname: x\ndescription: Use it: when\n---\n")

    assert definition is not None
    assert definition.description == "Use it: when"
    assert [(finding.kind, finding.line) for finding in found] == [(Kind.NOTE, 3)]
    assert found[0].text == "the value contains ': ' and must be quoted; it was read line by line"


def test_json_takes_every_field_and_one_bad_definition_takes_only_itself_out() -> None:
    readings = read_json({"a": {"description": "d", "color": "red"}, "b": 3, "c": {"prompt": "p"}}, origin=HERE)

    assert [one.name if one is not None else None for one, _ in readings] == ["a", None, None]
    assert read_json([], origin=HERE)[0][0] is None


def test_a_plugins_hooks_and_permission_mode_have_no_effect() -> None:
    """Behaviours (2), line 4."""
    plugin = DefinitionOrigin(scope=Scope.PLUGIN, source="x.md")
    definition, found = read(head(permissionMode="plan", hooks="{Stop: []}", mcpServers="[a]"), plugin)

    assert definition is not None
    assert (definition.permission_mode, dict(definition.hooks), definition.mcp_servers) == (None, {}, ())
    assert [one.kind for one in found] == [Kind.IGNORED] * 3


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tools": ("Read", "Grep")}, "Read, Grep"),
        ({"disallowed_tools": ("Bash",)}, "All tools except Bash"),
        ({}, "All tools"),
        ({"tools": ("Read", "Bash"), "disallowed_tools": ("Bash", "Read(x)")}, "Read"),
        ({"disallowed_tools": ("Bash(git push)",)}, "All tools"),
        ({"tools": ()}, "No tools"),
    ],
)
def test_tools_in_words(fields: dict[str, Any], words: str) -> None:
    """Behaviours (20): listing texts."""
    assert AgentDefinition(name="x", **fields).tools_in_words() == words


# --- for anything that somebody may write -----------------------------------------------------------------------------

WORDS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=",()*"), min_size=1, max_size=12)
LISTS = st.lists(WORDS, max_size=4).map(tuple)
LEAVES = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=10)
VALUES = st.recursive(LEAVES, lambda one: st.lists(one) | st.dictionaries(WORDS, one), max_leaves=8)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=3)
TEXTS = st.text(max_size=60).map(lambda one: one.encode("utf-8", "replace").decode().strip())


@st.composite
def definitions(draw: st.DrawFn) -> AgentDefinition:
    return AgentDefinition(
        name=draw(st.from_regex(r"[a-z0-9][a-z0-9-]{0,20}", fullmatch=True)),
        description=draw(TEXTS.filter(bool)),
        when_to_use=draw(TEXTS),
        system_prompt=draw(TEXTS),
        tools=draw(st.none() | LISTS),
        disallowed_tools=draw(LISTS),
        permission_mode=draw(st.none() | st.sampled_from(["default", "plan"])),
        max_turns=draw(st.integers(1, 10**6)),
        skills=draw(LISTS),
        mcp_servers=draw(st.lists(st.builds(AgentMcpServer, WORDS, st.none() | OBJECTS), max_size=2).map(tuple)),
        hooks=draw(OBJECTS),
        memory=draw(st.none() | st.sampled_from(MemoryScope)),
        is_background=draw(st.booleans()),
        effort=draw(st.none() | st.sampled_from(["low", "max"]) | st.integers(1, 99)),
        color=draw(st.none() | st.sampled_from(["red", "cyan"])),
        initial_prompt=draw(TEXTS),
    )


@given(definitions())
def test_what_is_written_as_json_reads_back(definition: AgentDefinition) -> None:
    facts = json.loads(json.dumps(facts_of(definition)))

    ((again, found),) = read_json(facts, origin=HERE)

    assert found == []
    assert again == definition


@given(definitions())
def test_what_is_written_as_frontmatter_reads_back(definition: AgentDefinition) -> None:
    facts = facts_of(definition)
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in facts.items())

    again, found = read(f"---\n{lines}---\n")

    assert found == []
    assert again == definition


@given(st.text(max_size=200) | st.text(max_size=200).map(lambda one: f"---\nname: x\n{one}\n---\nbody"))
def test_no_text_makes_reading_raise(content: str) -> None:
    read(content)


@given(st.dictionaries(st.sampled_from([*FIELDS, "agentType", "x"]), st.recursive(LEAVES, st.lists, max_leaves=8)))
def test_no_json_makes_reading_raise(values: dict[str, Any]) -> None:
    read_json(values, origin=HERE)
    read_json({"x": values}, origin=HERE)

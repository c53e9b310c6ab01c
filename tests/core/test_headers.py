"""Headers in every form in which people and programs write them: they are read as their authors meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition
from greenroom.agents._definition import DefinitionOrigin
from greenroom.agents.definitions import agent_listing, load_definitions, read_files
from greenroom.agents.definitions._definition_fields import read_markdown
from greenroom.core import UsageError
from greenroom.core.sources import Diagnostic, Kind, Plugin, Scope, find_places
from greenroom.skills import read_command_line
from greenroom.skills._skill import Skill, read_skill
from greenroom.skills._skill_source import load_skills


def read(head: str, *, ending: str = "\n") -> tuple[AgentDefinition | None, list[Diagnostic]]:
    content = f"---\n{head}\n---\nThe prompt.\n".replace("\n", ending)
    return read_markdown(content, origin=DefinitionOrigin(scope=Scope.PROJECT, source="x.md"))


def read_one(head: str, *, ending: str = "\n") -> AgentDefinition:
    definition, found = read(head, ending=ending)
    assert definition is not None, found
    assert [one for one in found if one.is_problem] == []
    return definition


_FORMS = {
    "Use it: always": "Use it: always",
    "Handles PR #7 and later": "Handles PR #7 and later",
    '"Quoted: by its author" # and a comment': "Quoted: by its author",
    "'It''s quoted'": "It's quoted",
    "*Always* use it": "*Always* use it",
    "@team asks for it": "@team asks for it",
    "[WIP] Tries things": "[WIP] Tries things",
    "[a, b]": "[a, b]",
    "{draft} Tries things": "{draft} Tries things",
    "`code` first": "`code` first",
    "% of the work: most": "% of the work: most",
    "! important": "! important",
    "& more": "& more",
    "> 5 files: ask it": "> 5 files: ask it",
    "- not a list: text": "- not a list: text",
    '"Starts quoted" and goes on': '"Starts quoted" and goes on',
    "It said \"yes: do\" and 'no'": "It said \"yes: do\" and 'no'",
    "|\n  Two lines: one\n  and # two": "Two lines: one\nand # two",
    ">-\n  Folded\n  lines: here": "Folded lines: here",
    "One\n  goes on: here\n  and here #3": "One\ngoes on: here\nand here #3",
    "One\n\tgoes on: with a tab": "One\ngoes on: with a tab",
    "\tbehind a tab: here": "behind a tab: here",
    "One.\\n\\nContext: two.\\nuser: three": "One.\n\nContext: two.\nuser: three",
    "Use it. <example>\nContext: a\nuser: \"b: c\"\nassistant: 'd'\n<commentary>e</commentary>\n</example>": (
        "Use it. <example>\nContext: a\nuser: \"b: c\"\nassistant: 'd'\n<commentary>e</commentary>\n</example>"
    ),
    "Ends with a colon:": "Ends with a colon:",
    "https://host/path #top": "https://host/path #top",
    "3.10": "3.10",
    "yes": "yes",
    "Sees \x1b[2J escapes": "Sees \x1b[2J escapes",
}


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("written", _FORMS)
def test_description_is_read_as_it_was_meant(written: str, ending: str) -> None:
    """What stands behind it restricts the agent, and comes out right all the same."""
    definition = read_one(
        f"name: a-b\ndescription: {written}\ntools: Read, Grep\nmodel: opus\ncolor: red", ending=ending
    )

    assert definition.description == _FORMS[written]
    assert (definition.name, definition.tools, definition.model) == ("a-b", ("Read", "Grep"), "opus")
    assert definition.system_prompt == "The prompt."


@pytest.mark.parametrize("written", [form for form in _FORMS if "\x1b" not in form])
def test_skill_and_command_are_read_by_the_same_rules(written: str) -> None:
    for is_command in (False, True):
        content = f"---\ndescription: {written}\nallowed-tools: Read, Grep\n---\nText"
        skill, found = read_skill(content, name="s", path=Path("/s/SKILL.md"), is_command=is_command)
        assert skill is not None, found
        assert (skill.description, skill.allowed_tools) == (_FORMS[written], ("Read", "Grep"))


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("tools: Read, Grep", ("Read", "Grep")),
        ("tools: [Read, Grep]", ("Read", "Grep")),
        ("tools:\n  - Read\n  - Grep", ("Read", "Grep")),
        ("tools:\n- Read\n- Grep", ("Read", "Grep")),
        ("tools:\n\t- Read\n\t- Grep", ("Read", "Grep")),
        ("\ttools: Read, Grep", ("Read", "Grep")),
        ("tools: Read, Grep # only to read", ("Read", "Grep")),
        ("tools: Bash(git log:*), Read", ("Bash(git log:*)", "Read")),
        ("tools: *", None),
        ("tools: '*'", None),
        ("tools: []", ()),
        ("tools: Read, Grep\nversion: 1.0\nmetadata:\n  a: b", ("Read", "Grep")),
    ],
)
@pytest.mark.parametrize("description", ["plain", "a: b", "PR #7"])
def test_tools_come_out_right_beside_any_description(
    written: str, tools: tuple[str, ...] | None, description: str
) -> None:
    for head in (f"name: x\n{written}\ndescription: {description}", f"name: x\ndescription: {description}\n{written}"):
        definition, found = read(head)
        assert definition is not None, found
        assert (definition.tools, definition.description) == (tools, description)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("null", "the name must be text, got None"),
        ("~", "the name must be text, got None"),
        ("true", "the name must be text, got True"),
        ("[a]", "the name must be text, got ['a']"),
        ("a" * 300, "at most 64 characters, got 300"),
        ("Two Words", "is not made of"),
        ("[", "name: "),
    ],
)
@pytest.mark.parametrize("scope", [Scope.PROJECT, Scope.PLUGIN])
def test_name_that_cannot_be_one_is_refused_with_a_line(name: str, why: str, scope: Scope) -> None:
    content = f"---\nname: {name}\ndescription: a: b\n---\n"
    definition, found = read_markdown(
        content, origin=DefinitionOrigin(scope=scope, source="x.md"), fallback_name="file"
    )

    assert definition is None
    assert [(finding.kind, finding.line) for finding in found if finding.is_problem] == [(Kind.BROKEN, 2)]
    assert why in found[-1].text


@pytest.mark.parametrize("name", ["42", "007", "a", "'true'", "x" * 64])
def test_number_and_quoted_word_may_be_names(name: str) -> None:
    assert read_one(f"name: {name}\ndescription: d").name == name.strip("'")


def test_value_that_stands_twice_is_read_where_nothing_is_guessed() -> None:
    assert read_one("name: x\ndescription: one\ndescription: two").description == "two"
    assert read_one("name: x\ndescription: d\ntools: Read\ntools: Read").tools == ("Read",)
    for head in ("name: x\nname: y\ndescription: d", "name: x\ndescription: d\ntools: Read\ntools: Bash"):
        definition, found = read(head)
        assert definition is None
        assert "is repeated" in found[-1].text


def test_byte_order_mark_does_not_hide_a_header() -> None:
    definition, _ = read_markdown(
        "\ufeff---\r\nname: x\r\ndescription: a: b\r\n---\r\n", origin=DefinitionOrigin(scope=Scope.USER, source="x")
    )

    assert definition is not None
    assert definition.description == "a: b"


def test_comments_that_are_comments_stay_out() -> None:
    definition = read_one("# who\nname: x\ndescription: d\n# what\nmodel: opus # dear\n# end")

    assert (definition.description, definition.model) == ("d", "opus")


@pytest.mark.parametrize(
    "head", ["tools: [Read", "hooks:\n  - [", "permissionMode: plan: now", "tools: Read: Grep\n   x"]
)
def test_value_that_restricts_is_never_guessed(head: str) -> None:
    definition, found = read(f"name: x\ndescription: a: b\n{head}")

    assert definition is None
    assert [one.line for one in found if one.is_problem] == [4]


_PROSE = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\u2028\u2029\x85\ufeff"),
    min_size=1,
    max_size=60,
).map(lambda text: " ".join(text.split()))


@given(
    _PROSE.filter(
        lambda text: (
            text and text[0] not in "\"'|>#[{&!" and "\\n" not in text and text not in {"~", "null", "Null", "NULL"}
        )
    )
)
def test_any_line_of_prose_is_read_as_it_stands(text: str) -> None:
    definition, found = read(f"name: x\ndescription: {text}\ntools: Read")

    assert definition is not None, found
    assert definition.description == text
    assert definition.tools == ("Read",)


@given(st.text(st.sampled_from("abe:#\n\t -'\"[]{}|>*&!,\\<>name toolsdescription"), max_size=80))
def test_any_header_is_a_definition_or_one_reason(head: str) -> None:
    definition, found = read(head)

    assert definition is not None or found
    assert all("\n" not in one.text for one in found)


# --- folders ------------------------------------------------------------------------------------------------------------


def put(root: Path, **files: str) -> None:
    for name, content in files.items():
        path = root / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def test_skill_of_a_plugin_is_called_by_its_folder(tmp_path: Path) -> None:
    put(tmp_path / "pk", skills__tidy_up__SKILL="---\nname: Tidy Up\ndescription: d: e\n---\nx", commands__go="y")
    found = load_skills(
        find_places(tmp_path, environ={"HOME": "/nowhere"}, managed=(), plugins=[Plugin("pk", tmp_path / "pk")])
    )

    assert set(found) == {"pk:tidy_up", "pk:go"}
    assert (found["pk:tidy_up"].title, found["pk:tidy_up"].description) == ("Tidy Up", "d: e")
    line = read_command_line("/pk:tidy_up now", found)
    assert line is not None
    assert (line.invocations[0].skill.name, line.invocations[0].arguments) == ("pk:tidy_up", "now")
    for typed in ("/pk:Tidy Up", "/pk:tidy-upp", "/pk:nothing at all"):
        with pytest.raises(UsageError, match="did you mean /pk:"):
            read_command_line(typed, found)
    for meant in ("/other:thing", "/pk", "/usr/bin/x", "/pkx:y"):
        assert read_command_line(meant, found) is None


def test_context_that_is_unknown_leaves_out_the_field_only() -> None:
    skill, found = read_skill("---\ncontext: spoon\ndescription: d\n---\nx", name="s", path=Path("/s/SKILL.md"))

    assert isinstance(skill, Skill)
    assert not skill.is_fork
    assert [(finding.kind, finding.line) for finding in found] == [(Kind.IGNORED, 2)]


def test_folders_too_deep_are_named(tmp_path: Path) -> None:
    deep = tmp_path / ".claude/agents" / "/".join("abcdefghijklmnop")
    put(deep, far="---\nname: far\ndescription: d\n---\n")
    put(deep.parent, near="---\nname: near\ndescription: d\n---\n")
    found = load_definitions(find_places(tmp_path, environ={"HOME": "/nowhere"}, managed=()), builtins=())

    assert set(found) == {"near"}
    assert [(problem.kind, problem.source) for problem in found.problems] == [(Kind.IGNORED, str(deep))]


def test_check_of_a_folder_tells_agents_from_other_files(tmp_path: Path) -> None:
    put(
        tmp_path,
        README="---\n\nA rule, and no end.",
        agents__good="---\nname: good\ndescription: a: b\n---\n",
        agents__bad="---\nname: bad\ndescription: d\ntools: [\n---\n",
        skills__writing__SKILL="---\nname: Writing Rules\ndescription: d\n---\n",
        skills__writing__references__agent="---\nname: Not One\ndescription: d\n---\n",
        commands__go="---\nname: x:go\ndescription: d\n---\n",
        more__loose="---\nname: loose\ndescription: d\n---\n",
    )
    (tmp_path / "package.json").write_text('{"name": "p", "description": "d"}')
    (tmp_path / "skills/writing/servers.json").write_text('{"mcpServers": {"a": {"command": "b"}}}')
    (tmp_path / "broken.json").write_text("{")

    found = read_files(tmp_path)

    assert set(found) == {"good", "loose"}
    assert [Path(problem.source).name for problem in found.problems] == ["bad.md"]
    named = {Path(diagnostic.source).name for diagnostic in found.diagnostics}
    assert {"README.md", "SKILL.md", "agent.md", "go.md", "package.json", "servers.json", "broken.json"} <= named


# --- many ---------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 400), st.integers(0, 600), st.integers(1_000, 20_000))
def test_list_of_agents_stays_within_its_budget(count: int, length: int, most: int) -> None:
    agents = [
        AgentDefinition(name=f"agent-{number}", description="w" * length, tools=("Read",)) for number in range(count)
    ]
    text = agent_listing(agents, most=most)

    assert len(text) <= most
    assert text == agent_listing(agents, most=most)
    named = [line for line in text.splitlines() if line.startswith("- agent-")]
    left = count - len(named)
    assert left == 0 or f"- and {left} more" in text.splitlines()
    if any("w" * min(length, 20) not in line for line in named) and length > 20:
        assert "names only" in text


def test_few_agents_are_described_in_full() -> None:
    agents = [AgentDefinition(name="a", description="w" * 5_000), AgentDefinition(name="b", description="short")]

    assert agent_listing(agents) == f"- a: {'w' * 5_000} (Tools: All tools)\n- b: short (Tools: All tools)"

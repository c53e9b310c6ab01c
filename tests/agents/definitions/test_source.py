"""Where definitions come from, which one counts, and that a changed file is read again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from greenroom.agents.definitions import (
    Definitions,
    DefinitionSource,
    agent_listing,
    builtin_definitions,
    load_definitions,
)
from greenroom.agents.definitions._builtin_definitions import find_manual
from greenroom.core import UsageError
from greenroom.core.ports import InlineBlocking
from greenroom.core.sources import Kind, Plugin, Scope, find_places
from tests.agents.definitions.samples import JSON, agent, places_in, write


def load(folder: Path, cwd: str = "project") -> Definitions:
    return load_definitions(places_in(folder, cwd), builtins=())


def source_in(folder: Path) -> DefinitionSource:
    return DefinitionSource(places_in(folder), blocking=InlineBlocking(), builtins=())


def kinds(found: Definitions) -> list[Kind]:
    return [diagnostic.kind for diagnostic in found.diagnostics]


def test_the_projects_beats_the_users_and_the_command_lines_beats_both(tmp_path: Path) -> None:
    """Behaviours (2), line 1."""
    write(tmp_path / "home/.claude/agents", x=agent("x", "user"))
    assert load(tmp_path)["x"].system_prompt == "user"
    write(tmp_path / "home/.greenroom/agents", x=agent("x", "our user"))
    assert load(tmp_path)["x"].system_prompt == "our user"
    write(tmp_path / "project/.claude/agents", x=agent("x", "project"))
    assert load(tmp_path)["x"].system_prompt == "project"
    write(tmp_path / "project/.greenroom/agents", x=agent("x", "our project"))
    assert load(tmp_path)["x"].system_prompt == "our project"

    given = {"x": {"description": "d", "prompt": "given"}}
    found = load_definitions(places_in(tmp_path), more=given, builtins=())

    assert found["x"].system_prompt == "given"
    assert kinds(found) == [Kind.SHADOWED] * 4
    assert found.problems == ()


def test_an_administrators_beats_all(tmp_path: Path) -> None:
    write(tmp_path / "managed/agents", x=agent("x", "managed"))
    places = find_places(tmp_path, environ={"HOME": str(tmp_path)}, managed=[tmp_path / "managed"])

    found = load_definitions(places, more={"x": {"description": "d"}}, builtins=())

    assert found["x"].system_prompt == "managed"


def test_the_nearest_of_a_project_wins_and_nothing_above_its_root_counts(tmp_path: Path) -> None:
    write(tmp_path / ".claude/agents", above=agent("above"))
    write(tmp_path / "project/.claude/agents", x=agent("x", "root"), y=agent("y"))
    write(tmp_path / "project/a/b/.claude/agents", x=agent("x", "near"))
    write(tmp_path / "project/a/b/c/.claude/agents", z=agent("z"))

    found = load(tmp_path, "project/a/b")

    assert set(found) == {"x", "y"}
    assert found["x"].system_prompt == "near"


def test_a_worktree_sees_the_main_checkouts(tmp_path: Path) -> None:
    write(tmp_path / "main/.claude/agents", x=agent("x", "main"), y=agent("y", "main"))
    (tmp_path / "main/.git/worktrees/w").mkdir(parents=True)
    (tmp_path / "main/.git/worktrees/w/commondir").write_text("../..\n")
    write(tmp_path / "w/.claude/agents", x=agent("x", "worktree"))
    (tmp_path / "w/.git").write_text(f"gitdir: {tmp_path}/main/.git/worktrees/w\n")

    places = find_places(tmp_path / "w", environ={"HOME": str(tmp_path / "home")}, managed=())
    found = load_definitions(places, builtins=())

    assert (found["x"].system_prompt, found["y"].system_prompt) == ("worktree", "main")
    assert places.main_root == tmp_path / "main"


def test_the_users_folder_is_not_the_projects(tmp_path: Path) -> None:
    """Below a home that is no repository, `~/.greenroom` marks no project."""
    write(tmp_path / ".greenroom/agents", x=agent("x"))
    (tmp_path / "some/where").mkdir(parents=True)

    places = find_places(tmp_path / "some/where", environ={"HOME": str(tmp_path)}, managed=())

    assert load_definitions(places, builtins=())["x"].origin.scope is Scope.USER
    assert find_places(tmp_path, environ={"HOME": str(tmp_path)}, managed=()).root == tmp_path


def test_folders_below_are_read_and_two_of_one_tree_are_a_mistake(tmp_path: Path) -> None:
    write(tmp_path / "project/.claude/agents", a__x=agent("x", "a"), b__x=agent("x", "b"))

    found = load(tmp_path)

    assert found["x"].system_prompt == "a"
    assert kinds(found) == [Kind.DUPLICATE]
    assert found.problems != ()


def test_a_broken_file_takes_only_itself_out(tmp_path: Path) -> None:
    folder = tmp_path / "project/.claude/agents"
    write(folder, good=agent("good"), bad="---\nname: [\n---\n", README="Words.")
    (folder / "latin.md").write_bytes(b"---\nname: x\n---\n\xff")
    (folder / "big.md").write_bytes(b"x" * 1_000_001)
    (folder / "bad.json").write_text("{\n nope")
    (folder / "one.json").write_text(JSON)
    (folder / "two.json").write_text(json.dumps({"two": {"description": "d"}}))
    os.mkfifo(folder / "pipe.md")

    found = load(tmp_path)

    assert set(found) == {"good", "code-reviewer", "two"}
    assert sorted(kinds(found)) == sorted([Kind.BROKEN] * 5 + [Kind.NOTE])


def test_a_ring_of_links_is_walked_once_and_hides_nothing_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "project/.claude/agents"
    write(folder, x=agent("x"))
    (folder / "again").symlink_to(folder)
    (folder / "round").symlink_to("round")
    (folder / "gone.md").symlink_to(folder / "nothing")
    (folder / ".#x.md").symlink_to("an editor's lock")

    found = load(tmp_path)

    assert set(found) == {"x"}
    (problem,) = found.problems
    assert problem.source == str(folder / "gone.md")
    assert "no such file" in problem.text


def test_a_plugins_are_called_after_it(tmp_path: Path) -> None:
    """Behaviours (2), line 4."""
    write(tmp_path / "p/agents", x=agent("x"), sub__y=agent("y"), bare="Only text.", bad="---\nname: [\n---\nText")
    places = find_places(tmp_path, environ={"HOME": "/nowhere"}, managed=(), plugins=[Plugin("p", tmp_path / "p")])

    found = load_definitions(places, builtins=())

    assert set(found) == {"p:x", "p:sub:y", "p:bare"}
    assert [Path(problem.source).name for problem in found.problems] == ["bad.md"], "skipped and named, as in a project"


def test_a_file_replaces_a_built_in_one(tmp_path: Path) -> None:
    write(tmp_path / "home/.claude/agents", plan=agent("general-purpose", "mine"))

    found = load_definitions(places_in(tmp_path))

    assert found["general-purpose"].system_prompt == "mine"
    assert found["Explore"].tools == ("Read", "Grep", "Glob")


def test_built_in_ones_can_be_switched_off() -> None:
    def names(environ: dict[str, str], *, is_headless: bool = False) -> set[str]:
        return {builtin_definition.name for builtin_definition in builtin_definitions(environ, is_headless=is_headless)}

    assert {"Explore", "Plan"} <= names({})
    assert "Explore" not in names({"GREENROOM_DISABLE_EXPLORE_PLAN_AGENTS": "1"})
    assert names({"GREENROOM_DISABLE_BUILTIN_AGENTS": "1"}) == names({})
    assert names({"GREENROOM_DISABLE_BUILTIN_AGENTS": "1"}, is_headless=True) == set()


def test_the_guide_is_told_where_the_documentation_lies() -> None:
    """Mechanism: the package's own copy, else the checkout that it lies in."""
    guide = next(
        builtin_definition
        for builtin_definition in builtin_definitions({})
        if builtin_definition.name == "claude-code-guide"
    )
    manual = find_manual()

    assert manual is not None
    assert str(manual / "docs" / "README.md") in guide.system_prompt
    assert all(path.exists() for path in guide.more_roots)


def test_the_helper_for_the_status_line_gets_to_one_file(tmp_path: Path) -> None:
    found = {
        builtin_definition.name: builtin_definition
        for builtin_definition in builtin_definitions({"CLAUDE_CONFIG_DIR": str(tmp_path)})
    }
    helper = found["statusline-setup"]

    assert helper.more_roots == (tmp_path / "settings.json",)
    assert str(tmp_path / "settings.json") in helper.system_prompt


def test_a_name_is_found_whatever_its_case_and_separators() -> None:
    found = load_definitions(None, more={"code-reviewer": {"description": "d"}})

    assert found.find("Code Reviewer").name == "code-reviewer"
    assert found.find("explore").name == "Explore"
    with pytest.raises(UsageError, match="there are: code-reviewer, general-purpose"):
        found.find("nobody")


def test_a_listing_says_when_and_with_what() -> None:
    given = {
        "a": {"description": "d", "whenToUse": "when\n it rains", "disallowedTools": ["Bash"]},
        "b": {"description": "d"},
    }
    found = load_definitions(None, more=given, builtins=())

    assert agent_listing(found.values()) == (
        "- a: when it rains (Tools: All tools except Bash)\n- b: d (Tools: All tools)"
    )


def test_a_plugins_name_is_one_word() -> None:
    with pytest.raises(UsageError, match="plugin name"):
        Plugin("a/b", Path("/"))


def test_a_name_that_is_no_text_can_be_told(tmp_path: Path) -> None:
    folder = tmp_path / "project/.claude/agents"
    write(folder, x=agent("x"))
    (folder / "x.md").rename(folder / os.fsdecode(b"\xff.md"))

    load(tmp_path)["x"].origin.source.encode()


def test_only_a_projects_own_code_needs_trust(tmp_path: Path) -> None:
    write(tmp_path / "project/.claude/agents", x=agent("x"))
    write(tmp_path / "home/.claude/agents", y=agent("y"))
    found = load(tmp_path)

    assert not found["x"].runs_own_code([tmp_path])
    assert found["x"].runs_own_code([tmp_path / "project"])
    assert found["y"].runs_own_code([])


async def test_a_changed_file_counts_at_the_next_refresh(tmp_path: Path) -> None:
    """Behaviours (2), line 3: and who holds the old one keeps it."""
    folder = tmp_path / "project/.claude/agents"
    write(folder, x=agent("x", "old"), y=agent("y"))
    source = source_in(tmp_path)
    held = (await source.refresh())["x"]
    assert source.parsed == 2

    await source.refresh()
    assert source.parsed == 2, "nothing has changed, so nothing is read"

    write(folder, x=agent("x", "newer"), z=agent("z"))
    (folder / "y.md").unlink()
    found = await source.refresh()

    assert set(found) == set(source.current) == {"x", "z"}
    assert found["x"].system_prompt == "newer"
    assert held.system_prompt == "old"
    assert source.parsed == 4


async def test_a_file_that_breaks_and_is_repaired(tmp_path: Path) -> None:
    folder = tmp_path / "project/.claude/agents"
    source = source_in(tmp_path)
    assert not await source.refresh()
    for content, is_there in ((agent("x"), True), ("---\nname: [\n---\n", False), (agent("x", "again"), True)):
        write(folder, x=content)

        found = await source.refresh()

        assert ("x" in found) is is_there
        assert bool(found.problems) is not is_there


async def test_without_places_nothing_is_read() -> None:
    source = DefinitionSource(None, blocking=InlineBlocking())

    assert "Explore" in await source.refresh()
    assert source.parsed == 0

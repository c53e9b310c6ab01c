"""Instruction files: which are read, in which order, what they import, what is left out."""

from __future__ import annotations

from pathlib import Path

import attrs
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition, compose_system_prompt
from greenroom.agents.definitions import EXPLORE, GENERAL_PURPOSE
from greenroom.agents.memory import Instructions, load_instructions, render_instructions
from greenroom.agents.memory._imports import HOPS, imports_of
from greenroom.agents.memory._instructions import instructions_below
from greenroom.core.sources import Kind
from tests.agents.definitions.samples import places_in, write


def load(folder: Path, cwd: str = "project") -> Instructions:
    return load_instructions(places_in(folder, cwd))


def texts(found: Instructions) -> list[str]:
    return [file.text.strip() for file in found.files]


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_the_broadest_come_first(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "managed/CLAUDE.md": "managed",
            "home/.claude/CLAUDE.md": "user",
            "home/.greenroom/GREENROOM.md": "our user",
            "home/.claude/rules/r.md": "user rule",
            "CLAUDE.md": "above the repository",
            "project/CLAUDE.md": "root",
            "project/.claude/CLAUDE.md": "not this one too",
            "project/.greenroom/GREENROOM.md": "our root",
            "project/.claude/rules/a/r.md": "rule",
            "project/CLAUDE.local.md": "local",
            "project/AGENTS.md": "not by itself",
            "project/sub/.claude/CLAUDE.md": "sub",
            "project/sub/deep/CLAUDE.md": "not yet",
        },
    )
    places = attrs.evolve(places_in(tmp_path, "project/sub"), managed=(tmp_path / "managed",))

    found = load_instructions(places)

    expected = ["managed", "user", "our user", "user rule", "root", "our root", "rule", "local", "sub"]
    assert texts(found) == expected
    assert found.diagnostics == ()
    below = instructions_below(places, tmp_path / "project/sub/deep/a.py", found.files)
    assert texts(below) == ["not yet"]
    assert texts(instructions_below(places, tmp_path / "project/sub/deep/a.py", below.files)) == []


def test_imports_go_four_hops_and_each_file_counts_once(tmp_path: Path) -> None:
    put(tmp_path / "project", {"CLAUDE.md": "start @one.md and @AGENTS.md", "AGENTS.md": "agents @CLAUDE.md"})
    names = ["one", "two", "three", "four", "five", "six"]
    for name, following in zip(names, [*names[1:], "one"], strict=True):
        put(tmp_path / "project", {f"{name}.md": f"{name} @{following}.md"})

    found = load(tmp_path)

    assert [text.split()[0] for text in texts(found)] == ["start", *names[:HOPS], "agents"]
    assert [file.kind for file in found.files] == ["project", *["imported"] * 5]


def test_imports_from_elsewhere_are_left_out(tmp_path: Path) -> None:
    secret, mine = tmp_path / "secret.md", tmp_path / "home/.claude/mine.md"
    put(tmp_path, {"secret.md": "secret", "home/.claude/mine.md": "mine"})
    put(tmp_path / "project", {"CLAUDE.md": f"@{secret} @../secret.md @link.md @~/.claude/mine.md @gone.md"})
    (tmp_path / "project/link.md").symlink_to(secret)

    found = load(tmp_path)

    assert [file.path for file in found.files] == [tmp_path / "project/CLAUDE.md", mine]
    assert [diagnostic.kind for diagnostic in found.diagnostics] == [Kind.IGNORED] * 3


def test_code_imports_nothing() -> None:
    assert imports_of("@a `@b` x@c\n```\n@d\n```\n(@e/f.md), @a") == ["a", "e/f.md"]


@given(st.text())
def test_looking_for_imports_never_raises(text: str) -> None:
    imports_of(text)


def test_rules_with_paths_wait_for_their_files(tmp_path: Path) -> None:
    write(
        tmp_path / "project/.claude/rules",
        always="---\ndescription: d\n---\nalways",
        py="---\npaths: src/**/*.py, !src/gen/**\n---\npython",
        bad="---\npaths: [\n---\nbad",
    )

    found = load(tmp_path)

    assert texts(found) == ["always"]
    assert [rule.text for rule in found.rules_for(tmp_path / "project/src/a/b.py")] == ["python"]
    assert found.rules_for(tmp_path / "project/src/gen/b.py") == ()
    assert found.rules_for(tmp_path / "elsewhere/src/b.py") == ()
    assert [diagnostic.kind for diagnostic in found.diagnostics] == [Kind.BROKEN]


def test_the_searchers_read_no_instructions(tmp_path: Path) -> None:
    """Behaviours (5), line 5; a file that replaces one of them reads them."""
    put(tmp_path, {"project/CLAUDE.md": "Use tabs."})
    instructions = render_instructions(load(tmp_path).files)

    assert "Use tabs." in compose_system_prompt(GENERAL_PURPOSE, instructions=instructions)
    assert "Use tabs." not in compose_system_prompt(EXPLORE, instructions=instructions)
    assert "Use tabs." in compose_system_prompt(AgentDefinition(name="Explore"), instructions=instructions)
    assert render_instructions(()) == ""

"""Instructions of folders below, and rules for files that fit, come when a file there is worked on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.agents.memory import InstructionsByFile, load_instructions
from greenroom.core.sources import find_places
from greenroom.models import Call, ScriptedModel
from tests.session.scripted import opened, said, write

FOLDERS = ("", "a", "a/b", "c")
PYTHON = "---\npaths: '**/*.py'\n---\npython rule"


def make_tree(root: Path) -> Path:
    (root / ".git").mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        write(root / folder / "CLAUDE.md", f"of <{folder}>")
        for name in ("x.py", "x.txt"):
            write(root / folder / name, "here")
    write(root / ".claude/rules/python.md", PYTHON)
    write(root / "a/.claude/rules/deep.md", "---\npaths: 'a/b/**'\n---\ndeep rule")
    return root


FILES = [f"{folder}/x.{end}".lstrip("/") for folder in FOLDERS for end in ("py", "txt")]


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(FILES), max_size=3), max_size=4))
def test_each_is_told_once_and_when_the_first_file_is_worked_on(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[str]]
) -> None:
    """Mechanism: `InstructionsByFile` knows what it has told."""
    root = tmp_path_factory.getbasetemp() / "tree"
    if not root.exists():
        make_tree(root)
    places = find_places(root, environ={"HOME": str(root.parent / "nobody")}, managed=())
    by_file = InstructionsByFile(places, load_instructions(places))
    told: set[str] = set()
    done: list[str] = []

    for batch in batches:
        files, notes = by_file.take([root / one for one in batch])
        texts = [file.text.strip() for file in files]
        assert len(texts) == len(set(texts))
        assert not told & set(texts)
        assert notes == ()
        told |= set(texts)
        done += batch
        wanted = {
            f"of <{folder}>" for folder in FOLDERS if folder and any(file.startswith(f"{folder}/") for file in done)
        }
        wanted |= {"python rule"} if any(file.endswith(".py") for file in done) else set()
        wanted |= {"deep rule"} if any(file.startswith("a/b/") for file in done) else set()
        assert told == wanted


async def run(project: Path, calls: list[Any], **options: Any) -> list[str]:
    """Run an agent that makes these calls; return what stood in each of its requests beside results."""
    model = ScriptedModel([*calls, "done"])
    async with opened(project, [], model=model, sources=["project"], **options) as session:
        await session.run("Go.")
    return [message.text for message in said(session) if message.role == "user"]


def read(path: str) -> Call:
    return Call("Read", {"file_path": path})


async def test_the_model_reads_them_with_the_result_and_not_again(
    project: Path, home: Path, autojump_clock: MockClock
) -> None:
    make_tree(project)

    texts = await run(project, [read("x.txt"), read("a/missing.py"), read("a/x.py"), read("a/x.txt"), read("c/x.txt")])

    assert [("of <a>" in text, "python rule" in text, "of <c>" in text) for text in texts[1:]] == [
        (False, False, False),
        (False, False, False),
        (True, True, False),
        (False, False, False),
        (False, False, True),
    ]
    assert texts[3].startswith("<system-reminder>\n# Instructions")
    assert all("of <>" not in text for text in texts)


async def test_who_reads_no_instructions_reads_none_of_these(
    project: Path, home: Path, autojump_clock: MockClock
) -> None:
    make_tree(project)
    searcher = AgentDefinition(name="searcher", reads_instructions=False)

    texts = await run(project, [read("a/x.py")], main=searcher)

    assert all("of <a>" not in text for text in texts)


async def test_after_a_compaction_they_come_again_when_a_file_is_worked_on(
    project: Path, home: Path, autojump_clock: MockClock
) -> None:
    """Lost until touched again."""
    make_tree(project)
    model = ScriptedModel([read("a/x.txt"), "done", "A summary.", read("a/x.txt"), "done"])
    async with opened(project, [], model=model, sources=["project"]) as session:
        await session.run("Go.")
        await session.compact()
        await session.run("On.")

    assert sum("of <a>" in message.text for message in said(session)) == 1
    assert "of <a>" in said(session)[-2].text


async def test_skills_of_a_folder_below_count_once_a_file_there_is_worked_on(
    project: Path, home: Path, autojump_clock: MockClock
) -> None:
    """One of the same name goes by its folder."""
    for folder in ("", "a/"):
        write(
            project / folder / ".claude/skills/tidy/SKILL.md",
            f"---\ndescription: Tidies {folder}.\n---\nTidy {folder}.",
        )
    write(project / "a/.claude/skills/deep/SKILL.md", "---\ndescription: Digs.\n---\nDig.")
    write(project / "a/x.txt", "here")

    texts = await run(project, [Call("Skill", {"skill": "deep"}), read("a/x.txt"), Call("Skill", {"skill": "deep"})])

    assert ["These skills are here as well:" in text for text in texts] == [False, False, True, False]
    assert "- deep: Digs." in texts[2]
    assert "- a:tidy: Tidies a/." in texts[2]

"""The page about fields shows what the code reads, and the pages about using them run as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.agents import DefinitionOrigin
from greenroom.agents._definition import MAX_TURNS
from greenroom.agents.definitions._builtin_definitions import BUILTINS
from greenroom.agents.definitions._definition_fields import FIELDS, read_markdown
from greenroom.agents.memory import NOTES_LINES
from greenroom.agents.memory._imports import HOPS
from greenroom.agents.memory._notes import NOTES_BYTES
from greenroom.core.sources import Kind
from greenroom.skills._skill import read_skill
from tests.docs.fields import PAGE, insert
from tests.docs.programs import ROOT, blocks_of, run_python

HOW_TO = ROOT / "docs" / "how-to"


def markdown_of(page: str) -> str:
    text = (HOW_TO / page).read_text(encoding="utf-8")
    return text.partition("```markdown\n")[2].partition("\n```\n")[0]


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs.fields`"


def test_the_samples_load() -> None:
    definition, found = read_markdown(markdown_of("agents.md"), origin=DefinitionOrigin(source="sample"))
    assert (definition is not None, found) == (True, [])
    one, found = read_skill(markdown_of("skills.md"), name="release", path=Path("SKILL.md"))
    assert (one is not None, found) == (True, [])


@pytest.mark.parametrize(
    ("page", "first"),
    [("agents.md", "All tools\n"), ("skills.md", "- release: Releases."), ("memory.md", "You review.\n")],
)
def test_the_program_of_a_page_runs(page: str, first: str, tmp_path: Path) -> None:
    command = tmp_path / ".greenroom" / "commands" / "release.md"
    command.parent.mkdir(parents=True)
    command.write_text("Releases.")
    (code,) = blocks_of(f"docs/how-to/{page}")

    shown = run_python(code, cwd=tmp_path, HOME=str(tmp_path / "home"), PYTHONPATH=str(ROOT))

    assert shown.startswith(first)


def test_the_numbers_and_names_on_the_pages_are_those_of_the_code() -> None:
    agents, memory = ((HOW_TO / page).read_text(encoding="utf-8") for page in ("agents.md", "memory.md"))

    assert all(f"`{builtin.name}`" in agents for builtin in BUILTINS)
    assert all(f"| `{kind.value}` |" in agents for kind in Kind)
    assert FIELDS["maxTurns"].default == str(MAX_TURNS)
    assert f"first {NOTES_LINES} lines" in memory
    assert f"{NOTES_BYTES // 1000} KB" in memory
    assert HOPS == 4
    assert "four hops" in memory

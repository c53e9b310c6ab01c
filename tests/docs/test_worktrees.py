"""The how-to on worktrees runs as it stands, and names the tools' arguments."""

from __future__ import annotations

from pathlib import Path

from greenroom.agents.subagents import WORKTREE_TOOLS
from tests.docs.programs import ROOT, blocks_of, run_python
from tests.worktrees.repositories import NEEDS_GIT

PAGE = "docs/how-to/worktrees.md"


@NEEDS_GIT
def test_the_program_of_the_how_to_prints_what_it_says(tmp_path: Path) -> None:
    (program,) = blocks_of(PAGE)

    shown = run_python(program, cwd=tmp_path, HOME=str(tmp_path)).strip()

    assert shown == "It is kept. .greenroom/worktrees/parser"
    assert f"It prints `{shown}`" in (ROOT / PAGE).read_text(encoding="utf-8")


def test_the_page_names_the_arguments_of_both_tools() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")

    for worktree_tool in WORKTREE_TOOLS:
        required = worktree_tool.input_schema.get("required", [])
        names = [name if name in required else f"{name}?" for name in worktree_tool.input_schema["properties"]]
        assert f"`{worktree_tool.name} {{{', '.join(names)}}}`" in text

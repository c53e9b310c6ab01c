"""The page on branches: its program prints what it says."""

from __future__ import annotations

from pathlib import Path

from tests.docs.programs import ROOT, blocks_of, run_python


def test_the_program_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    page = "docs/how-to/try-another-prompt.md"
    (program,) = blocks_of(page)
    (tmp_path / "notes.txt").write_text("Buy milk.\n")

    said = run_python(program, cwd=tmp_path)

    assert said in (ROOT / page).read_text()

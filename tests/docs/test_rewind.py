"""The program of the how-to on setting files back prints what it says."""

from __future__ import annotations

from pathlib import Path

from greenroom.tools.builtin._saving import MAX_EDIT_BYTES
from greenroom.tools.checkpoints._checkpoints import MAX_BYTES
from tests.docs.programs import ROOT, blocks_of, run_python


def test_the_program_prints_what_the_page_says(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/how-to/rewind.md")
    page = (ROOT / "docs/how-to/rewind.md").read_text(encoding="utf-8")
    (said,) = [part.partition("```")[0] for part in page.split("```text\n")[1:]]

    assert run_python(program, cwd=tmp_path, HOME=str(tmp_path)) == said


def test_the_page_names_the_limits() -> None:
    page = (ROOT / "docs/how-to/rewind.md").read_text(encoding="utf-8")

    assert f" {MAX_BYTES // 2**20} MiB" in page
    assert f" {MAX_EDIT_BYTES // 2**20} MiB" in page

"""The reference of the tools shows what the code does, and the how-to runs as it stands."""

from __future__ import annotations

from pathlib import Path

from tests.docs.programs import ROOT, blocks_of, run_python
from tests.docs.tools import NEEDS, PAGE, page, tools


def test_the_reference_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.tools`"


def test_every_need_is_one_of_a_tool() -> None:
    assert set(NEEDS) <= {tool.name for tool in tools()}


def test_the_programs_of_the_how_to_print_what_it_says(tmp_path: Path) -> None:
    files, shell, own = blocks_of("docs/how-to/tools.md")

    assert (
        run_python(files, cwd=tmp_path, PYTHONPATH=str(ROOT)).splitlines()[0]
        == "notes.md cannot be changed: it was not read yet; read it first"
    )
    assert (tmp_path / "notes.md").read_text() == "ship it\n"
    assert run_python(shell, cwd=tmp_path, PYTHONPATH=str(ROOT)) == (
        'built\nBackground command "runs the tests" completed (exit code 0)\n'
    )
    assert run_python(own, cwd=tmp_path, PYTHONPATH=str(ROOT)) == "3 lines\n"

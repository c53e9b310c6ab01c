"""The program of the how-to on teammates prints what it should."""

from __future__ import annotations

from pathlib import Path

from tests.docs.programs import blocks_of, run_python


def test_program_of_the_page_prints_a_plan_and_its_outcome(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/how-to/teammates.md")

    printed = run_python(program, cwd=tmp_path, HOME=str(tmp_path))

    assert printed == "ann plans: I write a.txt. False\nTrue approved True\n"

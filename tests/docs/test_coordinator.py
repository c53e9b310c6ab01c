"""The program of the how-to on coordinator mode prints what it should."""

from __future__ import annotations

from pathlib import Path

from tests.docs.test_documents import blocks_of, run_python


def test_the_program_of_the_how_to_leads_a_worker(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/how-to/coordinator.md")

    printed = run_python(program, cwd=tmp_path, HOME=str(tmp_path))

    assert printed.startswith(
        "('TaskStop', 'Agent', 'SendMessage') A worker counts them.\nThe worker says: There are 2."
    )

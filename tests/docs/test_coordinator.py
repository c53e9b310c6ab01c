"""The program of the how-to on coordinator mode prints what it should."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.docs.programs import blocks_of, run_python

WORKER: Final = "The worker says: There are 2."


def test_the_program_of_the_how_to_leads_a_worker(tmp_path: Path) -> None:
    (program,) = blocks_of("docs/how-to/coordinator.md")

    printed = run_python(program, cwd=tmp_path, HOME=str(tmp_path))

    first, second = printed.splitlines()
    # A worker that is quick has ended before the coordinator's second request, which tells of it.
    said = [f"('TaskStop', 'Agent', 'SendMessage') {text}" for text in ("A worker counts them.", WORKER)]
    assert first in said
    assert second.startswith(WORKER)

"""The page on recorded runs as tests: its program records a run, and its test passes and fails as it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.programs import blocks_of, run_python


def test_the_recorded_run_of_the_page_is_a_test(tmp_path: Path) -> None:
    program, test = blocks_of("docs/how-to/turn-a-run-into-a-test.md")
    (tmp_path / "notes.txt").write_text("Buy milk.\n")
    (tmp_path / "team.py").write_text(program)
    (tmp_path / "test_team.py").write_text(test)
    assert run_python(program, cwd=tmp_path) == "They ask for milk.\n"

    (tmp_path / "notes.txt").unlink()
    (tmp_path / "team.py").write_text(program.replace("sum them up.", "translate them."))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_team.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)

    assert "  now       'You read notes and translate them." in done.stdout, done.stdout
    assert "  cause     definition: the system prompt has changed" in done.stdout

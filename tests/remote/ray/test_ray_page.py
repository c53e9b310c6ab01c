"""The program of the how-to on Ray prints what it should, and a survey there has the same report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.programs import blocks_of
from tests.remote.ray.real_ray import need_time, nothing_left
from tests.swarm.small_repo import make_small_repo


def run(*command: str, cwd: Path) -> str:
    """Run Python with arguments in a folder, and return what it prints."""
    done = subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_program_of_the_how_to_prints_what_it_says(tmp_path: Path) -> None:
    need_time()
    program, _ = blocks_of("docs/how-to/ray.md")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")

    with nothing_left():
        assert run("program.py", cwd=tmp_path) == "completed\n"


def test_a_survey_on_four_hosts_has_the_same_report(tmp_path: Path) -> None:
    need_time()
    make_small_repo(tmp_path / "small")
    common = ("-m", "greenroom", "swarm", "small", "--model", "playbook", "--runs")

    run(*common, "here", cwd=tmp_path)
    with nothing_left():
        assert "Done: 5 of 5 items" in run(*common, "there", "--hosts", "ray:4", cwd=tmp_path)

    here, there = (next((tmp_path / name).glob("2*/report.md")).read_text() for name in ("here", "there"))
    assert there == here

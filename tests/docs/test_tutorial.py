"""The tutorial is run step by step, as somebody would who follows it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import pytest

from tests.cli.forked import run_forked
from tests.docs.programs import ROOT, run_python

PAGE: Final = (ROOT / "docs" / "tutorial" / "README.md").read_text(encoding="utf-8")
STEPS: Final = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.txt").write_text(f"a few words of {name}\n")
    return tmp_path


def test_there_are_six_steps_of_which_four_are_programs() -> None:
    assert re.findall(r"^## (\d)\. ", PAGE, re.MULTILINE) == list("123456")
    assert len(STEPS) == PAGE.count("```python") == 4


@pytest.mark.parametrize("step", range(4))
def test_a_step_prints_what_the_page_says(step: int, texts: Path) -> None:
    program, shown = STEPS[step]

    assert run_python(program, cwd=texts) == shown


def test_the_run_of_a_step_can_be_looked_at_as_the_last_one_says(texts: Path) -> None:
    run_python(STEPS[1][0], cwd=texts)
    commands = re.findall(r"^\$ greenroom (replay .*?) +#", PAGE, re.MULTILINE)

    assert len(commands) == 3
    for command in commands:
        done = run_forked(*command.split(), environ={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=texts)
        assert done.returncode == 0, done.stderr

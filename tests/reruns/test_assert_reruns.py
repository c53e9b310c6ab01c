"""A recorded run as a test: a function for every framework, and a mark for pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.testing import assert_reruns
from tests.reruns.recorded_team import asking, record_agent


def look(request: ModelRequest) -> AnswerLike:
    return Call("Glob", {"pattern": "*.txt"}) if len(request.messages) == 1 else "There is one."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    return record_agent(folder, PlaybookModel({"main": look}))


def test_an_equal_run_leaves_nothing_behind(run: Path) -> None:
    before = sorted(run.rglob("*"))
    assert_reruns(run, asking("Begin."))
    assert sorted(run.rglob("*")) == before


def test_a_different_run_fails_with_one_block(run: Path) -> None:
    with pytest.raises(AssertionError, match=r"(?s)is not equal\ndifferent: session/main, request 1\n.*now +'Start\.'"):
        assert_reruns(run, asking("Start."))


UPDATED = """
import pytest

@pytest.mark.reruns("histories/*.run")
async def test_different(recorded_session):
    await recorded_session.run("Start.")
"""


def test_a_change_is_accepted_after_it_was_shown(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    (folder / "histories").mkdir(parents=True)
    run = run.rename(folder / "histories" / "one.run")
    (folder / "test_team.py").write_text(UPDATED)

    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--greenroom-update", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)

    lines = pytest.LineMatcher(done.stdout.splitlines())
    lines.fnmatch_lines_random(["*request 1*", "*'Start.'*", "*updated: the record has*", "*1 failed*"])
    assert_reruns(run, asking("Start."))


MARKED = """
import pytest

@pytest.mark.reruns("histories/*.run")
async def test_equal(recorded_session):
    await recorded_session.run("Begin.")

@pytest.mark.reruns("histories/*.run")
async def test_different(recorded_session):
    await recorded_session.run("Start.")

@pytest.mark.reruns("histories/*.run")
async def test_asserting(recorded_session):
    answer = await recorded_session.run("Begin.")
    assert answer.text == "There are two."

@pytest.mark.reruns("nowhere/*.run")
async def test_none(recorded_session):
    pass
"""


def test_the_mark_does_each_run_again_with_the_test_as_its_program(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    (folder / "histories").mkdir(parents=True)
    run.rename(folder / "histories" / "one.run")
    (folder / "test_team.py").write_text(MARKED)

    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)

    lines = pytest.LineMatcher(done.stdout.splitlines())
    lines.fnmatch_lines_random(
        [
            "*different: session/main, request 1*",
            "*now *'Start.'*",
            "*no recorded run matches 'nowhere/*",
            "PASSED test_team.py::test_equal",
            '>*assert answer.text == "There are two."',
            "E*assert 'There is one.' == 'There are two.'",
            "*3 failed, 1 passed*",
        ]
    )

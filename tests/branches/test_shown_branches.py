"""Branches where runs are shown: the summary, the list, and the comparison with the run that they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.branches import branch
from greenroom.models import AnswerLike, ModelRequest
from greenroom.replay import ReplayOptions, show_replay
from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, read_journal
from greenroom.web._run_list import RunList
from tests.branches.recorded_runs import PORTS, ROUNDS, Watched, go_on, look, record_one, wait_quiet


def look_otherwise(request: ModelRequest) -> AnswerLike:
    """As `look`, with other last words."""
    answer = look(request)
    return "Quite a few rounds." if isinstance(answer, str) else answer


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, int]:
    """A run, a branch of it with other last words, and the event of the last words."""
    folder = tmp_path_factory.mktemp("shown")
    run = record_one(folder, Watched(), "Look.")
    entries = read_journal(run / JOURNAL, EVENTS).entries
    began = [entry.seq for entry in entries if entry.kind == "model.begin"]
    made = branch(run, began[ROUNDS // 2], changes={"system:main": "Be vague."}, ports=PORTS)
    go_on(folder, made.folder, Watched(look_otherwise).model, wait_quiet)
    return run, made.folder, next(entry.seq for entry in entries if entry.kind == "agent.spoke")


def test_the_summary_names_the_run_the_event_and_the_change(
    pair: tuple[Path, Path, int], capsys: pytest.CaptureFixture[str]
) -> None:
    run, made, _ = pair

    show_replay(ReplayOptions(run=str(made)))

    assert f"branch    of {run.name} at event " in capsys.readouterr().out


def test_the_list_of_runs_names_the_run_of_a_branch(pair: tuple[Path, Path, int]) -> None:
    run, made, _ = pair

    rows = {row["run"]: row["branch_of"] for row in RunList(run / JOURNAL, run.parent).rows()}

    assert rows == {run.name: "", made.name: run.name}


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_branch_differs_from_its_run_where_its_agents_first_do(
    pair: tuple[Path, Path, int], *, is_turned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rounds that were done again came out the same, so the last words are the first difference."""
    run, made, spoke = pair
    first, second = (made, run) if is_turned else (run, made)

    assert not show_replay(ReplayOptions(run=str(first), diff=str(second)))

    said = capsys.readouterr().out
    assert f"event {spoke}" in said
    assert "Quite a few rounds." in said

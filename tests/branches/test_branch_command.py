"""The command line of branches: mistakes are one line, and a run is continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from greenroom.cli._branch_command import BranchFlags, branch_off
from greenroom.cli._rerun_command import rerun_command
from greenroom.core import UsageError
from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, read_journal
from tests.branches.recorded_runs import Watched, record_one


def test_flags_of_a_branch_need_an_event() -> None:
    with pytest.raises(UsageError, match="--change needs --from"):
        BranchFlags(change=["system:main=x.md"]).check()
    with pytest.raises(UsageError, match="--max-budget-usd needs --from"):
        BranchFlags(max_budget_usd=0.0).check()


@pytest.mark.parametrize("more", [{"update": True}, {"at_difference": "go-on"}])
def test_a_branch_takes_no_flags_of_a_comparison(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="leave out --update and --at-difference"):
        rerun_command(flags=BranchFlags(from_=3), **more)


@pytest.mark.parametrize(
    ("given", "says"), [("system:main", "must be WHAT=FILE"), ("system:main=none.md", "cannot read")]
)
def test_a_change_that_names_no_file_is_refused(tmp_path: Path, given: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        branch_off(tmp_path, tmp_path, BranchFlags(from_=3, change=[given]), is_json=False)


def test_a_change_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("Be brief.")
    twice = [f"system:main={tmp_path / 'x.md'}"] * 2

    with pytest.raises(UsageError, match="was given twice"):
        branch_off(tmp_path, tmp_path, BranchFlags(from_=3, change=twice), is_json=False)


def test_an_event_between_turns_is_refused_with_one_that_will_do(tmp_path: Path) -> None:
    """Nobody says anything new, so somebody has to stand before a request."""
    run = record_one(tmp_path, Watched(), "Look.")
    last = read_journal(run / JOURNAL, EVENTS).entries[-1].seq

    with pytest.raises(UsageError, match="with nothing to answer; the nearest before it is"):
        branch_off(run, run.parent, BranchFlags(from_=last), is_json=False)


def test_a_branch_without_a_model_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be the last run, and the next try would branch off from it."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    run = record_one(tmp_path, Watched(), "Look.")
    began = [entry.seq for entry in read_journal(run / JOURNAL, EVENTS).entries if entry.kind == "model.begin"]

    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        branch_off(run, run.parent, BranchFlags(from_=began[1], model="claude-sonnet-4-5"), is_json=False)

    assert [path for path in run.parent.iterdir() if path.is_dir()] == [run]

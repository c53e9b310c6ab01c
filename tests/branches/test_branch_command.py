"""The command line of branches: mistakes are one line, and a run is continued."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.cli._branch_command import BranchFlags, branch_off
from greenroom.core import UsageError
from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, read_journal
from tests.branches.recorded_runs import Watched, record_one


def test_flags_of_a_branch_need_an_event() -> None:
    with pytest.raises(UsageError, match="--change needs --from"):
        BranchFlags(change=["system:main=x.md"]).check()


@pytest.mark.parametrize(
    ("given", "says"), [("system:main", "must be WHAT=FILE"), ("system:main=none.md", "cannot read")]
)
def test_a_change_that_names_no_file_is_refused(tmp_path: Path, given: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        branch_off(tmp_path, tmp_path, BranchFlags(from_=3, change=[given]), is_json=False)


def test_an_event_between_turns_is_refused_with_one_that_will_do(tmp_path: Path) -> None:
    """Nobody says anything new, so somebody has to stand before a request."""
    run = record_one(tmp_path, Watched(), "Look.")
    last = read_journal(run / JOURNAL, EVENTS).entries[-1].seq

    with pytest.raises(UsageError, match="with nothing to answer; the nearest before it is"):
        branch_off(run, run.parent, BranchFlags(from_=last), is_json=False)

"""The messages of a team come in the recorded order, whatever the order of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom import rerun
from greenroom.session import Session
from tests.reruns.recorded_team import record_team
from tests.session.small_team import LEAD, survey

pytestmark = pytest.mark.promise("RR-2")


@pytest.mark.parametrize(("mates", "seed"), [(3, 0), (3, 1), (8, 2)])
def test_a_team_is_equal_each_time_it_is_done_again(tmp_path: Path, mates: int, seed: int) -> None:
    run = record_team(tmp_path, mates=mates, seed=seed)

    async def program(session: Session) -> None:
        await survey(session, mates=mates)

    for _ in range(3):
        assert rerun(run, program, main=LEAD).difference is None


def test_a_message_that_never_comes_is_told_and_not_waited_for(tmp_path: Path) -> None:
    run = record_team(tmp_path, mates=3, seed=0)

    async def program(session: Session) -> None:
        await survey(session, mates=2)

    difference = rerun(run, program, main=LEAD).difference

    assert difference is not None
    assert difference.cause in {"order", "not recorded", "code"}

"""The scripted day, and the day with a kill after any event of it: chats and conversations are the same in the end."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest
import trio

from greenroom.cli import main
from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL
from tests.gateway.process.day import open_day
from tests.gateway.process.day_outcome import Outcome, run_day
from tests.gateway.process.town import RecordingTownDisk, Town

KILLS: Final = (
    "run.registered",
    "completion.composed",
    "delivery.began",
    "pairing.asked",
    "session.reset",
    "cron.due",
)
"""The events after which the tests kill, the first one of each kind; `make chaos-gateway N=all` kills after all of them."""


@cache
def whole_day(folder: Path) -> tuple[Outcome, dict[str, Town]]:
    """Run the day, and return what it came to, and what a kill after each event would have left."""
    town = open_day(folder / "day")
    left: dict[str, Town] = {}

    def note(kind: str) -> None:
        if kind in KILLS and kind not in left:
            left[kind] = town.copy(folder / kind, trio.current_time())

    outcome = run_virtual(run_day, town, RecordingTownDisk(town.state / JOURNAL, note)).result
    return outcome, left


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, dict[str, Town]]:
    return whole_day(tmp_path_factory.mktemp("days"))


@pytest.mark.promise("A28-f")
def test_the_journal_of_a_day_can_be_replayed_and_is_sound(
    day: tuple[Outcome, dict[str, Town]], capfd: pytest.CaptureFixture[str]
) -> None:
    _, left = day
    state = str(next(iter(left.values())).folder.parent / "day" / "state")

    assert main(["replay", state, "--check"]) == 0
    assert main(["replay", state, "--at", "100"]) == 0
    assert "keeper" in capfd.readouterr().out


def test_the_day_is_what_was_meant(day: tuple[Outcome, dict[str, Town]]) -> None:
    """Six children, three ways to announce, a reset, an archive, a pairing, and two jobs."""
    outcome, _ = day

    assert outcome.jobs == {"watering": "done", "news": "done"}
    assert outcome.blocked == ()
    assert outcome.chats["plain/cid"]["reply to: hello from cid"] == 1
    assert sum("Result: the summary: 42" in text for text in outcome.chats["plain/ann"].elements()) == 2
    assert outcome.chats["plain/ann"]["A new conversation begins."] == 1
    assert outcome.chats["mute/dan"] == Counter({"it is on its way": 1, "reply to: good night": 1})
    archived = [text for text in outcome.records.elements() if "SubagentSession archived" in text]
    assert (len(archived), sum("with transcript" in text for text in archived)) == (6, 6)


@pytest.mark.promise("A28-a", "A18-a", "A18-b")
@pytest.mark.parametrize("kind", KILLS)
def test_a_kill_after_an_event_changes_nothing_that_people_see(kind: str, day: tuple[Outcome, dict[str, Town]]) -> None:
    """Nothing is lost and nothing is said twice; what no channel can know is blocked, and named."""
    outcome, left = day
    town = left[kind]

    assert outcome.differences(run_virtual(run_day, town).result) == []

"""The events that `greenroom replay` lists when somebody asks for some of them, and the places in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.cli import main
from greenroom.core import UsageError
from greenroom.replay._selection import EventSelection, seq_at
from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, Entry, read_journal
from tests.replay.planted import ANN, AT_WORK, HANGS, RUN, SHIELDED, Timed, turn_end, written


def entries_of(events: Timed, folder: Path) -> list[Entry]:
    """Return the events as a reader of their journal has them."""
    (folder / RUN).mkdir(exist_ok=True)
    path = folder / RUN / JOURNAL
    path.write_bytes(written(events))
    return read_journal(path, EVENTS).entries


@pytest.mark.parametrize(
    ("place", "expected"),
    [("3", 3), ("end", 9), ("1.4s", 6), ("1399ms", 5), ("8s", 6), ("0.5min", 9), ("1h", 9)],
)
def test_a_place_is_a_number_a_time_or_the_end(place: str, expected: int, tmp_path: Path) -> None:
    assert seq_at(place, entries_of(SHIELDED, tmp_path), option="--at") == expected


def test_the_place_before_the_failure_is_the_event_ahead_of_it(tmp_path: Path) -> None:
    failed = entries_of([*AT_WORK, turn_end(1.0, state="failed", error="OSError: full")], tmp_path)

    assert seq_at("before-failure", failed, option="--at") == 4


@pytest.mark.parametrize("place", ["0", "10", "-1", "soon", "8", "1.4", "before-failure", "", "1e3s"])
def test_a_place_that_a_run_does_not_have_is_refused_with_the_option(place: str, tmp_path: Path) -> None:
    entries = entries_of(SHIELDED[:7] if place == "8" else SHIELDED, tmp_path)

    with pytest.raises(UsageError, match="--since"):
        seq_at(place, entries, option="--since")


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [
        (EventSelection(since="1.3s", until="6"), ["actor.kill_requested"]),
        (EventSelection(since="0s", until="2"), ["actor.new", "actor.begin"]),
        (EventSelection(since="1h"), []),
        (EventSelection(kind="turn.*,tool.end"), ["turn.begin", "tool.end", "turn.end"]),
        (EventSelection(grep="TOOK TOO"), ["actor.kill_requested", "turn.end", "actor.end"]),
        (EventSelection(actors={"nobody"}), []),
        (EventSelection(actors={ANN}, kind="tool.*"), ["tool.begin", "tool.end"]),
    ],
)
def test_every_part_of_a_selection_has_to_fit(wanted: EventSelection, kinds: list[str], tmp_path: Path) -> None:
    assert [entry.kind for entry in wanted.of(entries_of(SHIELDED, tmp_path))] == kinds


def test_an_item_has_its_events_and_those_of_its_owner(tmp_path: Path) -> None:
    kinds = [entry.kind for entry in EventSelection(item="#1").of(entries_of(HANGS, tmp_path))]

    assert kinds == [
        "item.created",
        "item.claimed",
        "turn.begin",
        "turn.abort_requested",
        "tool.end",
        "tool.end",
        "turn.end",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--item", "9"], "--item 9"),
        (["--kind", "turns"], "expected one of: actor.begin, "),
        (["--grep", "("], "--grep must be a regular expression"),
        (["--since", "soon"], "--since must be"),
        (["--kind", "turn.*", "--check"], "leave out --check"),
        (["--item", "1", "--at", "3"], "leave out --at"),
        (["--transcript", "nobody"], "expected one of: ann"),
        (["--transcript", "board"], "must name an agent of this run, got 'board'"),
        (["--transcript", "ann", "--check"], "ask one at a time"),
    ],
)
def test_a_mistake_is_one_line_with_the_option(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries_of(HANGS, tmp_path)

    assert main(["replay", RUN, "--runs", str(tmp_path), *arguments]) == 2

    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert printed.err.count("\n") == 1

"""Following: a journal that grows in pieces of any size is read as the whole file would be, and its end is known."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reading import events_of_a_crowd
from greenroom.actors import ActorCreated, ActorExited, ActorGone
from greenroom.core import Event, JournalError
from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, Entry, has_ended, hold_run, read_journal
from greenroom.trace import _growing_file as growing_file
from greenroom.trace._follow import Follower, FollowState, follow
from tests.trace.growing import HEADER, append, cuts_of, follower_of, journal_of, lines_of, take_all
from tests.trace.journals import journals


@given(journals(), st.lists(st.integers(0, 100_000), max_size=8), st.sampled_from([1 << 20, 7, 100]))
def test_following_equals_the_final_file_for_any_cuts(entries: list[Entry], places: list[int], block: int) -> None:
    content = journal_of(entries)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_file, "BLOCK_BYTES", block)
        path = Path(folder) / JOURNAL
        path.touch()
        with hold_run(path.parent):
            follower = follower_of(path)
            taken: list[Entry] = []
            for piece in cuts_of(content, places):
                append(path, piece)
                taken += take_all(follower)
        whole = read_journal(path, EVENTS)
        follower.close()

    assert taken == whole.entries == entries
    assert follower.header == whole.header
    assert follower.damaged_lines == 0


@given(journals())
def test_a_run_without_a_writer_ends_as_its_events_say(entries: list[Entry]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / JOURNAL
        path.write_bytes(journal_of(entries) + b'{"seq":')
        follower = follower_of(path)
        taken = list(follower)
        follower.close()

    assert taken == entries
    has_session = any(entry.kind == "session.begin" for entry in entries)
    if has_session:
        expected = FollowState.ENDED if has_ended(entries) else FollowState.BROKEN_OFF
        assert follower.state is expected


def test_a_writer_that_dies_in_the_middle_of_a_line_leaves_the_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    entries = _some(3)
    first, second, third = lines_of(entries)
    with hold_run(tmp_path):
        path.write_bytes(HEADER + first + second[:9])
        follower = follower_of(path)
        assert take_all(follower) == entries[:1]
        append(path, second[9:] + third[:5])
        assert take_all(follower) == entries[1:2]
        assert _take_until_quiet(follower) == []

    assert list(follower_of(path)) == entries[:2]
    for _ in range(100):
        assert take_all(follower) == []
    assert follower.state is FollowState.BROKEN_OFF
    follower.close()


def test_a_runtime_without_a_session_goes_on_after_the_end_of_its_root(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    root: dict[str, Any] = {"actor": "a1", "inc": 1}
    flags: dict[str, Any] = {"late_cancel": False, "during_kill": False, "cleanup_cut": False}
    events: list[Event] = [
        ActorCreated(**root, path="", behavior="B", supervisor="", descent="", journal="full"),
        ActorExited(**root, state="completed", by="", cause=None, error="", **flags),
        ActorGone(**root, state="completed"),
    ]
    entries = [Entry(seq, 0.0, event.kind, event) for seq, event in enumerate(events, start=1)]
    first, second, third = lines_of(entries)
    with hold_run(tmp_path):
        path.write_bytes(HEADER + first + second)
        follower = follower_of(path)
        assert _take_until_quiet(follower) == entries[:2]
        append(path, third)
        assert take_all(follower) == entries[2:]

    for _ in range(100):
        assert take_all(follower) == []
    assert follower.state is FollowState.ENDED
    follower.close()


def test_waiting_for_a_living_writer_is_by_the_pause(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    entries = _some(2)
    path.write_bytes(journal_of(entries[:1]))
    with hold_run(tmp_path):
        follower = follow(path, EVENTS, pause=lambda: append(path, lines_of(entries[1:])[0]))
        reading = iter(follower)

        assert [next(reading), next(reading)] == entries


def test_a_damaged_line_is_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    entries = _some(3)
    first, _, third = lines_of(entries)
    path.write_bytes(HEADER + first + b"\x00garbage\n" + third)
    follower = follower_of(path)

    assert list(follower) == [entries[0], entries[2]]
    assert follower.damaged_lines == 1
    assert follower.damage.startswith("line 3 is damaged")
    follower.close()


def test_a_torn_tail_that_a_resumed_run_cuts_off_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    entries = _some(3)
    first, second, third = lines_of(entries)
    with hold_run(tmp_path):
        path.write_bytes(HEADER + first + second + b'{"seq":3,"t"')
        follower = follower_of(path)
        assert take_all(follower) == entries[:2]
        _replace(path, HEADER + first + second + third)

        assert _take_until_quiet(follower) == entries[2:]
        assert follower.state is FollowState.GOING_ON
    follower.close()


def test_a_journal_that_begins_anew_goes_on_after_the_last_event_of_the_former(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    entries = _some(5)
    with hold_run(tmp_path):
        path.write_bytes(journal_of(entries[:2]))
        follower = follower_of(path)
        assert take_all(follower) == entries[:2]
        append(path, b"".join(lines_of(entries[2:3])))  # not read before the file is replaced
        _replace(path, journal_of(entries[1:2] + entries[3:]))

        assert _take_until_quiet(follower) == entries[2:]
    follower.close()


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_run_that_vanishes_is_told(what: str, tmp_path: Path) -> None:
    path = tmp_path / "run" / JOURNAL
    path.parent.mkdir()
    path.write_bytes(journal_of(_some(2)))
    follower = follower_of(path)
    taken = take_all(follower)
    path.unlink() if what == "file" else shutil.rmtree(path.parent)
    taken += take_all(follower)

    assert taken == _some(2)
    assert follower.state is FollowState.VANISHED
    follower.close()


def test_the_journal_of_another_run_in_its_place_is_told(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(journal_of(_some(2)))
    with hold_run(tmp_path):
        follower = follower_of(path)
        take_all(follower)
        _replace(path, journal_of(_some(1), HEADER.replace(b'"r"', b'"s"')))
        _take_until_quiet(follower)

    assert follower.state is FollowState.REPLACED
    follower.close()


@pytest.mark.parametrize("content", [b"no header\n", b"[]\n"])
def test_a_foreign_file_is_a_one_line_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(content)
    follower = follower_of(path)
    with pytest.raises(JournalError) as caught:
        follower.take()
    follower.close()

    assert "\n" not in str(caught.value)
    with pytest.raises(JournalError):
        follow(tmp_path, EVENTS)
    with pytest.raises(JournalError):
        follow(tmp_path / "missing", EVENTS)


def test_a_line_longer_than_the_maximum_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_file, "MAX_LINE_BYTES", 10_000)
    monkeypatch.setattr(growing_file, "BLOCK_BYTES", 1_000)
    path = tmp_path / JOURNAL
    path.write_bytes(HEADER + b"x" * 20_000)
    follower = follower_of(path)
    with pytest.raises(JournalError):
        take_all(follower)
    follower.close()


def _some(count: int) -> list[Entry]:
    events = list(events_of_a_crowd(count, 1))[:count]
    return [Entry(seq, seq / 8, event.kind, event) for seq, event in enumerate(events, start=1)]


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name("new")
    beside.write_bytes(content)
    beside.replace(path)


def _take_until_quiet(follower: Follower) -> list[Entry]:
    taken: list[Entry] = []
    for _ in range(4):  # the rest of the old file, the replacement, the new one
        taken += take_all(follower)
    return taken

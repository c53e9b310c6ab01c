"""The position in a run that is played: keys and texts move it, time moves it on, and it never leaves the run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.replay._playhead import SPEEDS, Playhead
from greenroom.session import EVENTS
from greenroom.trace import RunIndex
from tests.replay.recorded import indexed
from tests.trace.growing import HEADER, append


def journal_in(folder: Path, events: int = 10) -> Path:
    """Write a run with an event each half second from 1 s on, the fourth and the eighth of them failures."""
    journal = folder / "journal.jsonl"
    lines = [
        b'{"seq":%d,"t":%f,"ev":"turn.end","state":"%s"}\n' % (seq, 0.5 + seq / 2, b"failed" if seq % 4 == 0 else b"x")
        for seq in range(1, events + 1)
    ]
    journal.write_bytes(HEADER + b"".join(lines))
    return journal


@pytest.fixture
def head(tmp_path: Path) -> Playhead:
    return Playhead(indexed(journal_in(tmp_path)), is_at_end=False)


@pytest.mark.promise("S-jump")
def test_a_step_moves_by_events_within_the_run(head: Playhead) -> None:
    for events, expected in [(1, 1), (4, 5), (-2, 3), (100, 10), (-100, 0), (-1, 0)]:
        head.step(events)

        assert head.count == expected
        assert head.t_s == max(0, expected - 1) / 2


@pytest.mark.promise("S-jump")
def test_shift_moves_behind_failures_and_says_when_there_are_none(head: Playhead) -> None:
    said = [(head.step_failure(1), head.count) for _ in range(3)]
    back = [(head.step_failure(-1), head.count) for _ in range(2)]

    assert said == [("", 4), ("", 8), ("no later failure", 8)]
    assert back == [("", 4), ("no earlier failure", 4)]


@pytest.mark.promise("S-jump")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("2.0s", 5),
        ("2", 2),
        ("0:02", 5),
        ("1:30", 10),
        ("0s", 1),
        ("end", 10),
        ("start", 0),
        ("failure", 4),
        ("before-failure", 3),
        (" END ", 10),
    ],
)
def test_a_written_place_is_found(text: str, expected: int, head: Playhead) -> None:
    assert head.go_to(text) == ""
    assert head.count == expected


@pytest.mark.parametrize("text", ["0", "11", "9" * 30, "soon", "-3", "1:2:3", "8.0.0s", "s", "\x00", "٣x"])
def test_another_text_is_answered_in_one_line_and_moves_nothing(text: str, head: Playhead) -> None:
    head.step(3)
    said = head.go_to(text)

    assert said
    assert "\n" not in said
    assert head.count == 3


def test_play_passes_events_at_its_speed_and_stops_at_the_end(head: Playhead) -> None:
    head.toggle()
    counts = []
    for _ in range(4):
        head.advance(0.6)
        counts.append(head.count)
    assert counts == [2, 3, 4, 5]
    for _ in range(20):
        head.change_speed(1)
    assert head.speed == SPEEDS[-1] == 100
    head.advance(0.5)
    assert (head.count, head.is_playing) == (10, False)

    head.toggle()
    assert (head.count, head.is_playing) == (0, True)


@pytest.mark.promise("S-follow")
def test_the_end_is_followed_until_somebody_moves(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    index = indexed(journal)
    head = Playhead(index, is_at_end=True)
    counts = []
    for seq in (11, 12, 13, 14):
        append(journal, b'{"seq":%d,"t":6.0,"ev":"turn.end"}\n' % seq)
        index.grow()
        if seq == 13:
            head.step(-1)
        if seq == 14:
            head.go_to("end")
        head.advance(0.02)
        counts.append(head.count)

    assert counts == [11, 12, 11, 14]


def test_an_empty_run_has_one_position(tmp_path: Path) -> None:
    head = Playhead(indexed(journal_in(tmp_path, 0)), is_at_end=False)
    for text in ("end", "start", "1.0s"):
        assert head.go_to(text) == ""
    assert head.go_to("1")
    head.toggle()
    head.advance(1)
    assert (head.count, head.t_s, head.step_failure(1)) == (0, 0.0, "no later failure")


MOVES = st.one_of(
    st.integers(-20, 20),
    st.sampled_from(["toggle", "fail", "back", "faster", "end", "start", "3", "1.7s", "before-failure"]),
    st.floats(0, 3),
)


@settings(max_examples=50)
@given(st.lists(MOVES, max_size=20))
def test_no_moves_leave_the_run_and_the_time_fits_the_position(moves: list[int | str | float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index = RunIndex(journal_in(Path(folder)), EVENTS)
        index.grow()
        head = Playhead(index, is_at_end=False)
        for move in moves:
            _do(head, move)

            assert 0 <= head.count <= 10
            assert max(0, head.count - 1) / 2 <= head.t_s <= 4.5
            assert head.count == 10 or head.t_s < max(1, head.count) / 2 + 1e-9
        index.close()


def _do(head: Playhead, move: float | str) -> None:
    if isinstance(move, int):
        head.step(move)
    elif isinstance(move, float):
        head.advance(move)
    elif move == "toggle":
        head.toggle()
    elif move in {"fail", "back"}:
        head.step_failure(1 if move == "fail" else -1)
    elif move == "faster":
        head.change_speed(1)
    else:
        head.go_to(move)

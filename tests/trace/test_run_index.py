"""The index: what it knows of each event is what reading the whole journal says, however the file grew."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import JournalError
from greenroom.session import EVENTS, SessionBegan
from greenroom.trace import JOURNAL, Entry, read_journal
from greenroom.trace._growing_file import FileState
from greenroom.trace._journal_end import read_end
from greenroom.trace._run_index import RunIndex
from tests.trace.growing import HEADER, append, cuts_of, journal_of, lines_of
from tests.trace.journals import journals

DAMAGE = st.sampled_from(
    [b"garbage\n", b"{}\n", b"\n", b"\xff\n", b'{"seq":1}\n', b'{"seq":1,"t":1,"ev":"x","actor":3}\n']
)


@given(journals(), st.lists(st.integers(0, 100_000), max_size=5), st.data())
def test_the_index_equals_a_naive_reading(entries: list[Entry], places: list[int], data: st.DataObject) -> None:
    begin, end = data.draw(st.integers(0, 30)), data.draw(st.integers(0, 30))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / JOURNAL
        path.touch()
        index = RunIndex(path, EVENTS)
        for piece in cuts_of(journal_of(entries), places):
            append(path, piece)
            while index.grow():
                pass
        found = index.entries(begin, end)
        index.close()

    assert len(index) == len(entries)
    assert found == entries[begin:end]
    for position, entry in enumerate(entries):
        assert index.seq(position) == entry.seq
        assert index.time_s(position) == entry.t
        assert (index.kind(position), index.actor(position)) == (entry.kind, entry.event.actor)
        assert index.count_until(seq=entry.seq) == position + 1
        assert index.count_at(entry.t) == sum(other.t <= entry.t for other in entries)
    assert list(index.failures) == [place for place, entry in enumerate(entries) if entry.get("state") == "failed"]
    assert index.bytes_used <= 24 * len(entries) + 4 * len(index.failures)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), max_size=12), st.lists(DAMAGE, max_size=4), st.data())
def test_an_unsound_journal_has_the_positions_of_its_sound_lines(
    steps: list[tuple[int, int]], damage: list[bytes], data: st.DataObject
) -> None:
    lines = [b'{"seq":%d,"t":%d,"ev":"odd"}\n' % step for step in steps]
    for line in damage:
        lines.insert(data.draw(st.integers(0, len(lines))), line)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / JOURNAL
        path.write_bytes(HEADER + b"".join(lines))
        index = RunIndex(path, EVENTS)
        while index.grow():
            pass
        numbers = [entry.seq for entry in index.entries(0, len(index))]
        index.close()

    assert numbers == [index.seq(position) for position in range(len(index))] == [seq for seq, _ in steps]
    assert index.damaged_lines == len(damage)
    for seq in range(11):
        first = next((place for place, number in enumerate(numbers) if number > seq), len(numbers))
        assert index.count_until(seq=seq) == first
    latest = [max(t for _, t in steps[: place + 1]) for place in range(len(steps))]
    for t in range(7):
        assert index.count_at(t) == sum(each <= t for each in latest)


def test_a_line_that_does_not_fit_its_kind_keeps_its_position(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(HEADER + b'{"seq":1,"t":0.5,"ev":"turn.begin","turn":"x"}\n{"seq":2,"t":1.0,"ev":"odd"}\n')
    index = RunIndex(path, EVENTS)
    index.grow()

    assert [(entry.seq, entry.kind) for entry in index.entries(0, 2)] == [(1, "journal.unreadable"), (2, "odd")]
    index.close()


def test_failures_are_found_in_both_directions(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    failed = b'{"seq":%d,"t":0.0,"ev":"turn.end","state":"failed"}\n'
    sound = b'{"seq":%d,"t":0.0,"ev":"turn.end","state":"completed"}\n'
    dropped = b'{"seq":%d,"t":0.0,"ev":"message.dead","reason":"failed"}\n'
    path.write_bytes(
        HEADER + b"".join(line % seq for seq, line in enumerate([sound, failed, sound, failed, dropped], 1))
    )
    index = RunIndex(path, EVENTS)
    index.grow()
    index.close()

    assert list(index.failures)[:2] == [1, 3]
    assert (index.failure_after(0), index.failure_after(1), index.failure_after(4)) == (1, 3, None)
    assert (index.failure_before(4), index.failure_before(3), index.failure_before(1)) == (3, 1, None)


def test_an_index_of_a_file_that_was_replaced_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(HEADER + b'{"seq":1,"t":0.5,"ev":"odd"}\n')
    index = RunIndex(path, EVENTS)
    while index.grow():
        pass
    path.with_name("new").write_bytes(HEADER + b'{"seq":7,"t":0.5,"ev":"other"}\n')
    path.with_name("new").replace(path)

    assert not index.grow()
    assert not index.grow()
    assert index.state is FileState.REPLACED
    assert [entry.seq for entry in index.entries(0, 9)] == [1]
    index.close()


def test_an_index_of_a_foreign_file_is_a_one_line_error(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    path.write_bytes(b"hello\n")
    index = RunIndex(path, EVENTS)
    with pytest.raises(JournalError):
        index.grow()
    index.close()


# --- the end, from behind ---------------------------------------------------------------------------------------------


@given(journals(), st.integers(1, 12), st.booleans())
def test_the_end_from_behind_is_the_end_of_a_naive_reading(entries: list[Entry], count: int, is_torn: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("greenroom.trace._journal_end._FIRST_BYTES", 300)
        path = Path(folder) / JOURNAL
        path.write_bytes(journal_of(entries) + b'{"seq"' * is_torn)
        end = read_end(path, EVENTS, count=count)
        whole = read_journal(path, EVENTS)

    assert end.entries == whole.entries[-count:]
    assert (end.header, end.torn_bytes) == (whole.header, whole.torn_bytes)
    if entries and entries[0].kind == "session.begin":
        assert end.has_ended == (entries[-1].kind == "session.end")


def test_the_end_of_a_long_journal_reads_only_its_edges(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    begin = SessionBegan(session="s", model="m", cwd=".")
    lines = [b'{"seq":%d,"t":0.0,"ev":"odd","text":"%s"}\n' % (seq, b"x" * 500) for seq in range(2, 2_000)]
    middle = b"\x00" * 400_000 + b"\n"  # damaged, if it were read
    path.write_bytes(HEADER + lines_of([Entry(1, 0.0, begin.kind, begin)])[0] + middle + b"".join(lines))

    end = read_end(path, EVENTS, count=20)

    assert [entry.seq for entry in end.entries] == list(range(1_980, 2_000))
    assert not end.has_ended


def test_words_are_found_in_any_case_behind_damage_and_behind_escapes(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    said = ["Needle one", "nothing", "a NEEDLE two", "the ne\\u0065dle", "\u00c4rger", "x" * 50]
    lines = [json.dumps({"seq": seq, "t": 0.0, "ev": "agent.spoke", "text": text}) for seq, text in enumerate(said, 1)]
    lines[3] = lines[3].replace("\\\\u", "\\u")
    lines.insert(1, "{damaged needle")
    path.write_bytes(HEADER + "".join(f"{line}\n" for line in lines).encode())
    index = RunIndex(path, EVENTS)
    while index.grow():
        pass

    assert index.find_words(["needle"], most=10) == [0, 2, 3]
    assert index.find_words(["needle", "two"], most=10) == [2]
    assert index.find_words(["\u00e4rger"], most=10) == [4]
    assert index.find_words(["needle"], most=1) == [0]
    assert index.find_words(["missing"], most=10) == []
    assert index.positions_of({"agent.spoke"}, 3) == [0, 1, 2]


def test_a_range_that_ends_before_it_begins_is_empty_also_in_the_last_block(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = [b'{"seq":%d,"t":0,"ev":"odd"}\n' % seq for seq in range(1, 9)]
    path.write_bytes(HEADER + b"".join(lines[:4]))
    index = RunIndex(path, EVENTS)
    while index.grow():
        pass
    append(path, b"".join(lines[4:]))
    while index.grow():
        pass

    assert [len(index.entries(begin, end)) for begin, end in ((5, 2), (4, 3), (4, 8), (2, 6))] == [0, 0, 4, 4]


def test_events_that_are_read_but_not_indexed_yet_are_not_among_the_last_ones(tmp_path: Path) -> None:
    """Another thread reads a block, and has not indexed it."""
    path = tmp_path / JOURNAL
    line = b'{"seq":%d,"t":0.0,"ev":"odd"}\n'
    path.write_bytes(HEADER + line % 1 + line % 2)
    index = RunIndex(path, EVENTS)
    index.grow()
    append(path, line % 3)
    index._file.read()

    assert [raw["seq"] for raw in index.raw_events(1, 2)] == [2]
    index.close()

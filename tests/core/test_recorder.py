"""The recorder: numbers, the ring, and the listeners that never miss an event of the journal."""

from __future__ import annotations

from typing import ClassVar

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import Event, Level, Record, Recorder, event_of, field_names, field_values


@attrs.frozen(kw_only=True)
class Happened(Event):
    kind: ClassVar[str] = "test.happened"
    level: ClassVar[Level] = Level.FULL

    what: str
    how_often: int = 1


def ticking() -> Recorder:
    clock = iter(range(1_000))
    return Recorder(lambda: float(next(clock)), capacity=5)


def test_an_event_comes_back_as_it_was_emitted() -> None:
    recorder = ticking()
    event = Happened(actor="a", inc=2, parent=0, what="x")

    assert recorder.emit(event) == 1
    (record,) = recorder.latest()

    assert record == (1, 0.0, Happened, "a", 2, 0, "x", 1)
    assert event_of(record) == event


def test_fields_and_objects_make_the_same_record() -> None:
    one, other = ticking(), ticking()
    event = Happened(actor="a", what="x")

    one.emit(event)
    other.emit_fields(Happened, *field_values(event))

    assert one.latest() == other.latest()
    assert field_names(Happened) == ("actor", "inc", "parent", "what", "how_often")


def test_a_record_that_does_not_fit_its_class_is_noticed_when_it_is_read() -> None:
    recorder = ticking()
    recorder.emit_fields(Happened, "a", 1, 0)

    with pytest.raises(ValueError, match="shorter"):
        event_of(recorder.latest()[0])


@pytest.mark.promise("I-47")
@given(st.lists(st.booleans(), max_size=30))
def test_the_journals_numbers_have_no_gap_and_notes_have_their_own(kinds: list[bool]) -> None:
    recorder = Recorder(lambda: 0.0, first_seq=10)
    heard: list[Record] = []
    recorder.listen(heard.append)

    for is_journalled in kinds:
        if is_journalled:
            recorder.emit(Happened(what="x"))
        else:
            recorder.note((recorder.number(), recorder.now(), Happened, "", 0, 0, "x", 1))

    assert [record[0] for record in heard] == list(range(10, 10 + sum(kinds)))
    notes = [record[0] for record in recorder.latest() if record[0] < 0]
    assert notes == [-number for number in range(1, len(kinds) - sum(kinds) + 1)]
    statistics = recorder.statistics()
    assert (statistics.journalled, statistics.noted) == (sum(kinds), len(kinds) - sum(kinds))
    assert recorder.statistics() == statistics


def test_the_ring_forgets_and_counts_it_and_a_listener_misses_nothing() -> None:
    recorder = ticking()
    heard: list[Record] = []
    recorder.listen(heard.append)

    for _ in range(12):
        recorder.emit(Happened(what="x"))

    assert [record[0] for record in recorder.latest()] == [8, 9, 10, 11, 12]
    assert [record[0] for record in heard] == list(range(1, 13))
    assert recorder.statistics().overwritten == 7
    assert repr(recorder) == "<Recorder seq=12 held=5>"


def test_a_listener_that_has_stopped_hears_no_more_and_others_do() -> None:
    recorder = ticking()
    heard: list[str] = []
    stop = recorder.listen(lambda _: heard.append("one"))
    recorder.listen(lambda _: heard.append("other"))

    recorder.emit(Happened(what="x"))
    stop()
    stop()
    recorder.emit(Happened(what="x"))

    assert heard == ["one", "other", "other"]

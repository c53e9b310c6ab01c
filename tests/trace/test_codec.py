"""Records become lines and lines become the same events again, for every event class there is."""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final, get_args, get_origin, get_type_hints

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom import session
from greenroom.actors import TurnEnded
from greenroom.core import Cause, Event, InternalError, Level, Record, event_of, field_names, field_values
from greenroom.mailbox import MessagePut
from greenroom.trace import Codec, UnknownEvent
from tests.trace.drawn_events import events_of
from tests.trace.scenarios import EVENTS, SCENARIOS, run_records

HOT: Final = {
    "message.put",
    "message.leased",
    "message.acked",
    "message.postponed",
    "message.returned",
    "message.died",
    "turn.begin",
    "turn.end",
    "turn.noted",
}


def record_of(event: Event, seq: int = 1, t: float = 0.0) -> Record:
    return (seq, t, type(event), *field_values(event))


def line_of(event: Event, **place: Any) -> dict[str, Any]:
    line = Codec(EVENTS).encode(record_of(event, **place), 0.0)
    loaded: dict[str, Any] = orjson.loads(line)
    return loaded


# --- round trip -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event_class", session.EVENTS, ids=lambda one: one.kind)
def test_every_event_comes_back_as_it_was(event_class: type[Event]) -> None:
    codec = Codec(session.EVENTS)

    @settings(max_examples=settings().max_examples // 3)
    @given(events_of(event_class), st.integers(1, 2**53), st.integers(0, 10**12))
    def check(event: Event, seq: int, microseconds: int) -> None:
        t = microseconds / 1e6
        line = codec.encode(record_of(event, seq, t), 0.0)

        entry = codec.decode(orjson.loads(line))

        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert (entry.seq, entry.t, entry.kind, entry.event) == (seq, round(t, 6), event_class.kind, event)

    check()


def test_what_is_emitted_on_the_hot_path_fits_its_class() -> None:
    """Hot records are tuples made by hand: each has the fields of its class, in order and of their types."""
    records = [record for scenario in SCENARIOS for record in run_records(scenario)]

    for record in records:
        event = event_of(record)  # refuses another number of fields
        hints = get_type_hints(type(event))
        for name in field_names(type(event)):
            kinds = [get_origin(option) or option for option in get_args(hints[name])] or [hints[name]]
            if get_origin(hints[name]) is tuple:
                kinds = [tuple]
            assert type(getattr(event, name)) in {*kinds, *([int] if float in kinds else [])}, (name, event)
    assert {record[2].kind for record in records} >= HOT


def test_every_record_of_a_run_comes_back() -> None:
    codec = Codec(EVENTS)
    for record in (run_record for scenario in SCENARIOS for run_record in run_records(scenario) if run_record[0] > 0):
        assert codec.decode(orjson.loads(codec.encode(record, 0.0))).event == event_of(record)


# --- the form of a line -----------------------------------------------------------------------------------------------


def test_a_line_has_the_documented_order_and_leaves_out_what_is_empty() -> None:
    event = TurnEnded(
        actor="a5f0c2d91be47a603",
        inc=2,
        parent=805,
        state="killed",
        by="own",
        cause=Cause("user", "abort"),
        error="",
        late_cancel=False,
        during_kill=False,
        cleanup_cut=False,
        turn=7,
        msg=41,
    )

    line = Codec(EVENTS).encode(record_of(event, 812, 13.5000004), 1.0)

    assert line == (
        b'{"seq":812,"t":12.5,"actor":"a5f0c2d91be47a603","inc":2,"ev":"turn.end","state":"killed","by":"own",'
        b'"cause":{"who":"user","why":"abort"},"turn":7,"msg":41,"parent":805}\n'
    )


@attrs.frozen(kw_only=True)
class Odd(Event):
    kind: ClassVar[str] = "odd.happened"
    level: ClassVar[Level] = Level.FULL

    anything: Any = None
    limit_s: float = 1.5
    count: int = 3


@pytest.mark.parametrize(("value", "written"), [(math.inf, "inf"), (-math.inf, "-inf")])
def test_infinity_is_written_as_text_and_read_as_a_number(value: float, written: str) -> None:
    codec = Codec([Odd])

    line = orjson.loads(codec.encode(record_of(Odd(limit_s=value)), 0.0))

    assert line["limit_s"] == written
    assert codec.decode(line).event == Odd(limit_s=value)


def test_a_default_is_left_out_and_an_empty_value_that_is_none_is_kept() -> None:
    assert "count" not in line_of(Odd())
    assert line_of(Odd(count=0))["count"] == 0


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("\ud800", "\\ud800"),
        (2**70, str(2**70)),
        ({1: "\udfff"}, {"1": "\\udfff"}),
        (PurePosixPath("a/b"), "a/b"),
        (frozenset({"b", "a"}), ["a", "b"]),
        (frozenset({"b", 1, None}), ["b", 1, None]),
        (Cause("x", "y"), {"who": "x", "why": "y"}),
        (Cause("x", "\ud800"), {"who": "x", "why": "\\ud800"}),
        (Level.FULL, 2),
        (3 + 4j, "(3+4j)"),
    ],
)
def test_what_json_cannot_hold_is_written_as_text(value: Any, written: Any) -> None:
    assert line_of(Odd(anything=value))["anything"] == written


@pytest.mark.parametrize("levels", [99, 254, 300, 100_000])
def test_what_is_nested_too_deeply_is_written_as_text(levels: int) -> None:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]

    read = line_of(Odd(anything=value))["anything"]

    depth = 0
    while isinstance(read, list):
        read, depth = read[0], depth + 1
    assert (read, depth) == ("deep", levels) if levels < 254 else depth < levels


def test_a_value_that_cannot_be_shown_does_not_stop_the_writer() -> None:
    class Sulking:
        def __repr__(self) -> str:
            raise ValueError("no")

    line = line_of(Odd(anything=Sulking()))

    assert line["ev"] == "journal.unreadable"
    assert "<Sulking>" in line["record"]


def test_a_record_that_does_not_fit_its_class_is_kept_as_unreadable() -> None:
    """Emitting never fails, and an event that was numbered must not leave a gap."""
    codec = Codec(EVENTS)

    entry = codec.decode(orjson.loads(codec.encode((7, 0.0, MessagePut, "a1", 1, 0, "\ud800"), 0.0)))

    assert (entry.seq, entry.kind) == (7, "journal.unreadable")
    assert "message.put" in entry["why"]
    assert entry["record"][1:] == ["'a1'", "1", "0", "'\\ud800'"]


def test_an_event_that_cannot_be_journalled_is_kept_as_unreadable() -> None:
    @attrs.frozen(kw_only=True)
    class Nameless(Event):
        pass

    @attrs.frozen(kw_only=True)
    class Unresolved(Event):
        kind: ClassVar[str] = "unresolved.happened"

        what: NoSuchType  # type: ignore[name-defined]  # noqa: F821 - a mistake that a test has to make

    for record in (record_of(Nameless(actor="a1"), 3), (4, 0.0, Unresolved, "a1", 1, 0, None)):
        line = orjson.loads(Codec().encode(record, 0.0))
        assert (line["seq"], line["ev"]) == (record[0], "journal.unreadable")


# --- reading what is not ours -----------------------------------------------------------------------------------------


def test_an_unknown_kind_is_kept_with_its_fields() -> None:
    entry = Codec(EVENTS).decode(
        {"seq": 3, "t": 1, "actor": "a1", "inc": 2, "ev": "moon.rose", "full": True, "parent": 1}
    )

    assert isinstance(entry.event, UnknownEvent)
    assert (entry.kind, entry.event.actor, entry["inc"], entry["full"]) == ("moon.rose", "a1", 2, True)
    assert entry.get("missing", 5) == 5
    with pytest.raises(KeyError):
        entry["missing"]


def test_a_field_of_a_newer_writer_is_ignored() -> None:
    line = {"seq": 1, "t": 0, "ev": "message.acked", "msg": 4, "lane": "now", "mood": "good"}
    assert Codec(EVENTS).decode(line)["msg"] == 4


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"seq": "1", "t": 0, "ev": "actor.begin"},
        {"seq": True, "t": 0, "ev": "actor.begin"},
        {"seq": 1, "t": None, "ev": "actor.begin"},
        {"seq": 1, "t": 0, "ev": 5},
        {"seq": 1, "t": 0, "ev": "turn.begin", "turn": "many"},
        {"seq": 1, "t": 0, "ev": "turn.end", "cause": 7},
        {"seq": 1, "t": 0, "ev": "turn.abort_requested", "turn": 1},
        {"seq": 1, "t": 0, "ev": "moon.rose", "parent": "yesterday"},
    ],
)
def test_a_line_that_makes_no_sense_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"fit|number"):
        Codec(EVENTS).decode(line)


# --- the catalog ----------------------------------------------------------------------------------------------------


def test_two_classes_of_one_kind_are_refused() -> None:
    @attrs.frozen(kw_only=True)
    class Other(Event):
        kind: ClassVar[str] = "odd.happened"

    with pytest.raises(InternalError):
        Codec([Odd, Other])


def test_a_field_that_the_line_needs_itself_is_refused() -> None:
    @attrs.frozen(kw_only=True)
    class Clash(Event):
        kind: ClassVar[str] = "clash.happened"

        seq: int

    with pytest.raises(InternalError):
        Codec([Clash])

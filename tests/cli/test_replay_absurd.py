"""`greenroom replay` over journals with values that no run writes: a page, a file or one line about it, never a traceback.

Every field of every event class is given each of the absurd values. A line that the reader refuses is refused in one
sentence; of those that it takes, journals are made, which every view and every export has to show.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

import attrs
import orjson
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from greenroom.cli._replay_command import ReplayFlags, replay_command
from greenroom.core import Cause, Event, GreenroomError, field_values
from greenroom.replay import ExportFormat
from greenroom.session import EVENTS
from greenroom.trace import JOURNAL, RECENT, Codec, Header
from tests.trace.exporting import spans_of

VIEWS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"json": True},
    {"check": True},
    {"recent": True},
    {"at": "3", "json": True},
    {"at": "before-failure"},
    {"is_all": True},
    {"item": "x"},
    {"grep": "exploded"},
    {"diff": "other"},
    {"export": ExportFormat.CHROME},
    {"export": ExportFormat.OTLP},
)
NESTED: Final[Any] = orjson.loads("[" * 300 + "]" * 300)
NUMBERS: Final = (1e15, 9e9, -1e300, 1e300, -(2**63), 10**30, -1)
OTHERS: Final[tuple[Any, ...]] = (True, None, "NaN", "inf", [], {"who": 1, "why": []}, {"a": NESTED})
TEXTS: Final = ("\x1b[2J\x00", "exploded")
ABSURD: Final = (*NUMBERS, *OTHERS, *TEXTS)
HEADER: Final = Header(run="r1", greenroom="1.2", python="3.11", trio="0.30", started="2026-11-21T12:00:00+00:00")
CODEC: Final = Codec(EVENTS)
PLAIN: Final[Mapping[Any, Any]] = {str: "x", int: 1, float: 0.5, bool: True, Cause: Cause("deadline", "late")}
CHUNK: Final = 3_000


def line_of(event_class: type[Event]) -> dict[str, Any]:
    """Return the line of an event with a plain value in each field, and all that it can be killed by."""
    hints = get_type_hints(event_class)
    plain: dict[str, Any] = {field.name: PLAIN.get(hints[field.name]) for field in attrs.fields(event_class)}
    plain |= {name: Cause("deadline", "late") for name in plain.keys() & {"cause"} if hints[name] is not str}
    plain |= dict.fromkeys(plain.keys() & {"state"}, "killed")
    plain |= {
        field.name: ()
        for field in attrs.fields(event_class)
        if plain[field.name] is None and "tuple" in str(hints[field.name])
    }
    record = (1, 0.0, event_class, *field_values(event_class(**plain)))
    line: dict[str, Any] = orjson.loads(CODEC.encode(record, 0.0))
    return line


@cache
def absurd_lines() -> tuple[tuple[dict[str, Any], ...], tuple[str, ...]]:
    """Return the lines that the reader takes, and what it says of the others."""
    taken, complaints = [], []
    for event_class in EVENTS:
        plain = line_of(event_class)
        taken.append(plain)
        for name in ("t", *(field.name for field in attrs.fields(event_class))):
            for value in ABSURD:
                line = {**plain, name: value}
                try:
                    CODEC.decode(orjson.loads(json.dumps(line)))
                except ValueError as error:
                    complaints.append(str(error))
                else:
                    taken.append(line)
    return tuple(taken), tuple(complaints)


def journals(lines: list[dict[str, Any]]) -> Iterator[bytes]:
    """Yield journals that hold the lines, some of them with each kind beside the others of its chunk."""
    ahead = [line_of(event) for event in EVENTS]
    for first in range(0, len(lines), CHUNK):
        numbered = [{**line, "seq": seq} for seq, line in enumerate([*ahead, *lines[first : first + CHUNK]], start=1)]
        head = CODEC.encode_header(HEADER)
        yield head + b"".join(json.dumps(line).encode() + b"\n" for line in numbered)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in ("other", "run"):
        (tmp_path / name).mkdir()
    (tmp_path / "other" / JOURNAL).write_bytes(CODEC.encode_header(HEADER))
    return tmp_path


def numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict | list):
        for element in value.values() if isinstance(value, dict) else value:
            yield from numbers(element)
    elif isinstance(value, int):
        yield value


def refused(**options: Any) -> str:
    """Return the line that a person gets; empty where the command does its work."""
    try:
        replay_command("run", flags=ReplayFlags(**options))
    except GreenroomError as error:
        return str(error)
    return ""


def test_absurd_values_that_are_refused_are_refused_in_one_line() -> None:
    taken, complaints = absurd_lines()

    assert len(taken) > len(EVENTS) * 20
    assert len(complaints) > len(EVENTS) * 20
    assert [complaint for complaint in complaints if "\n" in complaint or not complaint] == []


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: " ".join(map(str, view)) or "page")
def test_absurd_journals_are_shown_by_every_view(view: dict[str, Any], runs: Path) -> None:
    place = runs / "out.json"
    output: dict[str, Any] = {"output": place} if "export" in view else {}
    for content in journals(list(absurd_lines()[0])):
        for name in (JOURNAL, RECENT):
            (runs / "run" / name).write_bytes(content)

        assert replay_command("run", flags=ReplayFlags(runs=runs, **view, **output)) in {0, 1}

        if output:
            for line in (
                place.read_bytes().splitlines() if view["export"] is ExportFormat.OTLP else [place.read_bytes()]
            ):
                assert all(-(2**63) <= number < 2**64 for number in numbers(orjson.loads(line)))


def test_absurd_times_are_exported_as_times_that_others_read(runs: Path) -> None:
    lines = [line for line in absurd_lines()[0] if line["t"]]
    assert len({line["t"] for line in lines}) > 1

    for content in journals(lines):
        (runs / "run" / JOURNAL).write_bytes(content)
        for wanted in ExportFormat:
            replay_command("run", flags=ReplayFlags(runs=runs, export=wanted, output=runs / f"{wanted.value}.json"))
        Trace().ParseFromString((runs / "perfetto.json").read_bytes())

        for event in orjson.loads((runs / "chrome.json").read_bytes())["traceEvents"]:
            assert abs(event.get("ts", 0)) <= 2**53
            assert 0 <= event.get("dur", 0) <= 2**54
        for span in spans_of([*map(orjson.loads, (runs / "otlp.json").read_bytes().splitlines())]):
            assert 0 <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) < 2**64


def test_absurd_headers_are_shown_or_refused_in_one_line(runs: Path) -> None:
    head, body = orjson.loads(CODEC.encode_header(HEADER)), json.dumps(line_of(EVENTS[0])).encode()
    for field, value in ((field.name, value) for field in attrs.fields(Header) for value in ABSURD):
        (runs / "run" / JOURNAL).write_bytes(json.dumps({**head, field: value}).encode() + b"\n" + body + b"\n")
        for wanted in (None, *ExportFormat):
            assert "\n" not in refused(runs=runs, export=wanted, output=wanted and runs / "out.json")


def test_events_of_no_known_class_are_exported_as_they_are(runs: Path) -> None:
    known = [line_of(event) for event in EVENTS]
    odd = [
        {"seq": 1, "t": 0.0, "ev": f"{entry['ev']}.{step}", "x": 10**30} for entry in known for step in ("begin", "end")
    ]
    more = [{"seq": 1, "t": 0.0, "ev": kind, "actor": "x", "inc": 1} for kind in ("message.odd", "actor.odd", "x.new")]
    for content in journals([*known, *odd, *more]):
        (runs / "run" / JOURNAL).write_bytes(content)
        for wanted in ExportFormat:
            assert replay_command("run", flags=ReplayFlags(runs=runs, export=wanted, output=runs / "out.json")) == 0

"""The lines of an OTLP export: the protocol's own schema reads each of them, and a collector takes it as one request."""

from __future__ import annotations

import base64
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final

import attrs
import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from greenroom.actors import ActorBegan, ActorCreated, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined
from greenroom.trace import Entry
from greenroom.trace.exports import Content, _export_otlp, export_otlp
from greenroom.trace.exports._entry_source import EntrySource, source_of_entries
from tests.trace.crafted import FLAGS, NEW
from tests.trace.exporting import HEADER, journal_facts, otlp_lines, redaction, spans_of, written
from tests.trace.journals import journals
from tests.trace.planting import Entries, run
from tests.trace.scenarios import SCENARIOS, Scenario, run_entries, work

COLLECTOR_BYTES: Final = 4 * 1024 * 1024
IDS: Final = ("traceId", "spanId", "parentSpanId")


def with_base64(line: bytes) -> str:
    """Return a line with its ids as the JSON mapping of protocol buffers has bytes; OTLP has them in hexadecimal."""

    def read(value: dict[str, Any]) -> dict[str, Any]:
        return {
            name: base64.b64encode(bytes.fromhex(each)).decode() if name in IDS else each
            for name, each in value.items()
        }

    return json.dumps(json.loads(line, object_hook=read))


def check_by_schema(content: bytes, entries: Entries) -> None:
    """Every line is a whole message of the schema, which has no other fields, and each slice of the run is a span."""
    seen: set[bytes] = set()
    for line in content.splitlines():
        assert len(line) < COLLECTOR_BYTES
        read = json_format.Parse(with_base64(line), TracesData())
        spans = [span for resource in read.resource_spans for scope in resource.scope_spans for span in scope.spans]
        assert 0 < len(spans) <= 512
        for span in spans:
            assert not span.parent_span_id or span.parent_span_id in seen
            assert (len(span.trace_id), len(span.span_id)) == (16, 8)
            assert span.span_id not in seen
            seen.add(span.span_id)
    assert len(seen) >= len(journal_facts(entries).lasted)


@pytest.mark.promise("X-otlp")
@settings(max_examples=40)
@given(journals())
def test_the_schema_of_the_protocol_reads_every_line(entries: list[Entry]) -> None:
    check_by_schema(written(export_otlp, entries), entries)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_schema_reads_every_line_of_real_runs(scenario: Scenario) -> None:
    entries = run_entries(scenario)

    check_by_schema(written(export_otlp, entries), entries)


def long_run(turns: int, error: str) -> Entries:
    """Return a run of one actor whose turns all fail with an error."""
    actor: dict[str, Any] = {"actor": "a1", "inc": 1}
    ended: dict[str, Any] = {"state": "failed", "by": "own", "cause": None, "error": error, **FLAGS}
    events = [
        event
        for turn in range(1, turns + 1)
        for event in (
            TurnBegan(**actor, turn=turn, msg=turn),
            TurnEnded(**actor, turn=turn, msg=turn, parent=2, **ended),
        )
    ]
    created = ActorCreated(**{**NEW, "supervisor": "", "path": "lead"}, actor="a1")
    return run(created, ActorBegan(**actor, parent=1), *events)


@pytest.mark.promise("X-otlp")
def test_no_line_is_longer_than_a_collector_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _export_otlp.MAX_BYTES < COLLECTOR_BYTES
    monkeypatch.setattr(_export_otlp, "MAX_BYTES", 40_000)

    lines = written(export_otlp, long_run(60, "it broke: " + "x y " * 500)).splitlines()

    assert len(lines) > 3
    assert max(map(len, lines)) <= 40_000


@pytest.mark.promise("X-otlp")
def test_a_line_has_at_most_512_spans() -> None:
    lines = otlp_lines(long_run(600, "boom"))

    assert [len(spans_of([line])) for line in lines] == [512, 89]


def test_a_span_says_how_many_of_its_events_it_left_out() -> None:
    defined = [AgentDefined(actor="a1", inc=1, definition="lead", model="m", transcript="") for _ in range(1_200)]
    created = ActorCreated(**{**NEW, "supervisor": "", "path": "lead"}, actor="a1")

    [span] = spans_of(otlp_lines(run(created, *defined)))

    assert (len(span["events"]), span["droppedEventsCount"]) == (1_000, 200)


def test_events_that_do_not_fit_into_a_line_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    defined = [AgentDefined(actor="a1", inc=1, definition="lead" * 5_000, model="m", transcript="") for _ in range(300)]
    created = ActorCreated(**{**NEW, "supervisor": "", "path": "lead"}, actor="a1")
    content = written(export_otlp, run(created, *defined))

    [span] = spans_of([json.loads(content)])

    assert len(content) < COLLECTOR_BYTES
    assert len(span["events"]) + span["droppedEventsCount"] == 300


def test_what_ended_before_the_first_wanted_event_is_left_out() -> None:
    entries = long_run(5, "boom")
    content = bytearray()
    source = attrs.evolve(source_of_entries(entries, HEADER), since=6)
    export_otlp(source, content.extend, redaction())

    shown = [span["startTimeUnixNano"] for span in spans_of([json.loads(content)])]

    every = [span["startTimeUnixNano"] for span in spans_of(otlp_lines(entries))]
    assert shown == [every[0], *every[3:]]


def test_the_names_of_errors_are_words_too() -> None:
    content = bytearray()
    export_otlp(source_of_entries(long_run(1, "Needle: x"), HEADER), content.extend, redaction(Content.NONE))

    assert b"Needle" not in content
    assert spans_of([json.loads(content)])[1]["status"] == {"code": 2}


class Collector(BaseHTTPRequestHandler):
    """A collector: it takes requests of at most 4 MiB, and answers what it does not understand with 400."""

    taken: list[ExportTraceServiceRequest]

    def do_POST(self) -> None:
        """Take a request."""
        size = int(self.headers["Content-Length"])
        content = self.rfile.read(size)
        try:
            request = json_format.Parse(with_base64(content), ExportTraceServiceRequest())
        except (json_format.ParseError, ValueError):
            self.send_error(400)
            return
        is_taken = self.path == "/v1/traces" and size <= COLLECTOR_BYTES
        if is_taken:
            self.taken.append(request)
        self.send_response(200 if is_taken else 413)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def open_collector() -> Iterator[tuple[int, list[ExportTraceServiceRequest]]]:
    """Run a collector; yield its port and what it took."""
    taken: list[ExportTraceServiceRequest] = []
    handler = type("OwnCollector", (Collector,), {"taken": taken})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port, taken
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.promise("X-otlp")
def test_a_collector_takes_each_span_once_in_pieces() -> None:
    lines = written(export_otlp, long_run(1_100, "it broke")).splitlines()
    assert len(lines) == 3
    with open_collector() as (port, taken):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        for line in lines:
            connection.request("POST", "/v1/traces", line, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"")
            connection.close()

    spans = [
        span.span_id
        for request in taken
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert (len(spans), len(set(spans))) == (1_101, 1_101)


def test_memory_does_not_hold_the_entries_of_a_run() -> None:
    """The source is read block by block, and a line of its own only where a slice ends later."""
    entries = run_entries(work)
    asked: list[int] = []

    def read(begin: int, end: int) -> Entries:
        asked.append(end - begin)
        return [attrs.evolve(entry) for entry in entries[begin:end]]

    source = EntrySource(
        header=HEADER, read=read, count=len(entries), classes=source_of_entries(entries, HEADER).classes
    )
    content = bytearray()
    export_otlp(source, content.extend, redaction())

    assert bytes(content) == written(export_otlp, entries)
    assert max(asked) <= 2_000

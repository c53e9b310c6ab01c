"""Export of a run as OpenTelemetry spans: lines of JSON in the form of OTLP's files, for collectors and viewers.

Each line is a whole `TracesData` of at most 512 spans and 4,000,000 bytes, which any collector takes as one request. Spans
come in the order of their beginnings, so that each comes after the one around it.

There is one trace per run. Its ids are derived from the run's id and the number of a span's first event, so that the
same journal always gives the same spans. Spans nest as supervisors, actors, turns and calls do; an effect of a message
is linked, not nested, because nobody waits for it. A failure is an error, a requested kill is not. A span keeps at most
1,000 of its events and says how many it left out. Conversations stay in the transcripts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from typing import Any, Final, final

from greenroom.core import Cause
from greenroom.core.texts import as_json
from greenroom.trace._codec import Header
from greenroom.trace._entries import Entry
from greenroom.trace.exports import _semconv as names
from greenroom.trace.exports._entry_source import EntrySource, EntryWindow, Sink
from greenroom.trace.exports._redaction import Content, Redaction
from greenroom.trace.exports._slices import Slice, Slices, fields_of

MAX_SPANS: Final = 512
"""Spans in a line."""
MAX_BYTES: Final = 4_000_000
"""Bytes of a line; a collector takes 4 MiB."""
MAX_EVENTS: Final = 1_000
"""Events in a span."""
MAX_CHARS: Final = 32_000
"""Characters of a value."""
_NANO: Final = 1_000
"""Nanoseconds per microsecond, the journal's unit of time."""
_INT64: Final = 2**63
_DEADLINE: Final = "deadline"


def export_otlp(source: EntrySource, sink: Sink, redaction: Redaction) -> int:
    """Write a run as lines of OTLP JSON, and return the number of spans.

    Memory is bounded by the columns of its slices, and by a line. It blocks.

    Args:
        source: The run; times count from `started` of its header, or from 1970 if it has none.
        sink: Takes the lines.
        redaction: The words that they hold.

    Raises:
        JournalError: The run cannot be read, or has changed since it was indexed.
    """
    head, tail = _envelope(source.header)
    spans = _Spans(source, redaction)
    count, size = 0, 0
    line: list[bytes] = []
    room = MAX_BYTES - len(head) - len(tail)
    for span in spans.all():
        content = _fitting(span, room)
        if line and (len(line) == MAX_SPANS or size + len(content) + 1 > room):
            sink(head + b",".join(line) + tail)
            line, size = [], 0
        line.append(content)
        size += len(content) + 1
        count += 1
    if line:
        sink(head + b",".join(line) + tail)
    return count


def _envelope(header: Header) -> tuple[bytes, bytes]:
    """Return what stands before and after the spans of a line."""
    resource = {
        names.SERVICE_NAME: "greenroom",
        names.SERVICE_VERSION: header.greenroom,
        names.SERVICE_INSTANCE: header.run,
        names.RUNTIME_NAME: "python",
        names.RUNTIME_VERSION: header.python,
    }
    found = {
        "scope": {"name": "greenroom.trace", "version": header.greenroom},
        "schemaUrl": names.SCHEMA_URL,
        "spans": [],
    }
    about = {
        "resource": {"attributes": _attributes(resource)},
        "schemaUrl": names.SCHEMA_URL,
        "scopeSpans": [found],
    }
    head, _, tail = as_json({"resourceSpans": [about]}).rpartition(b"[]")
    return head + b"[", b"]" + tail + b"\n"


def _fitting(span: dict[str, Any], room: int) -> bytes:
    """Return a span as JSON that fits into a line, without some of its events if need be."""
    content = as_json(span)
    while len(content) > room and span.get("events"):
        kept = len(span["events"]) * room // len(content) // 2
        span["droppedEventsCount"] = span.get("droppedEventsCount", 0) + len(span["events"]) - kept
        span["events"] = span["events"][:kept]
        content = as_json(span)
    return content


@final
class _Spans:
    """The spans of one run."""

    def __init__(self, source: EntrySource, redaction: Redaction) -> None:
        self._source = source
        self._redaction = redaction
        self._run = source.header.run
        self._base_us = epoch_us(source.header.started)
        self._slices = Slices(source)
        self._trace = sha256(f"greenroom {self._run}".encode()).hexdigest()[:32]
        self._window = EntryWindow(source)

    def all(self) -> Iterator[dict[str, Any]]:
        """Yield the spans in order of their beginnings."""
        for step in self._slices.walk(self._window):
            if step.begun is not None and self._slices.is_wanted(step.begun.number):
                yield self._span(step.begun)

    def _span(self, piece: Slice) -> dict[str, Any]:
        begin = piece.begin
        above = self._slices.above(piece.number)
        name, kind, attributes = self._named(piece)
        span: dict[str, Any] = {
            "traceId": self._trace,
            "spanId": self._id(begin.seq),
            "name": self._redaction.labels(name),
            "kind": kind,
            "startTimeUnixNano": self._nanoseconds(begin.t),
            "endTimeUnixNano": self._nanoseconds(max(begin.t, piece.end_t)),
            "attributes": _attributes({**self._own(piece), **attributes}, self._redaction),
        }
        around = 0 if above is None else self._slices.seq(above)
        if above is not None:
            span["parentSpanId"] = self._id(around)
        if begin.event.parent and (above is None or begin.event.parent != around):
            source = self._slices.owner(begin.event.parent)
            if source is not None and self._slices.is_wanted(source):
                why = _attributes({names.SEQ: begin.event.parent})
                linked = self._id(self._slices.seq(source))
                span["links"] = [{"traceId": self._trace, "spanId": linked, "attributes": why}]
        instants = self._slices.instants(piece.number)
        if events := [self._event(self._window.entry(position)) for position in islice(instants, MAX_EVENTS)]:
            span["events"] = events
            if left_out := sum(1 for _ in instants):
                span["droppedEventsCount"] = left_out
        if (error := _error(piece)) is not None:
            said = self._redaction.words(error)[:MAX_CHARS]
            span["status"] = {"code": names.ERROR, "message": said} if said else {"code": names.ERROR}
        return span

    def _own(self, piece: Slice) -> dict[str, Any]:
        """Return the attributes of every span."""
        end, error = piece.end, _error(piece)
        cause = _cause(piece) if piece.outcome == "killed" else Cause("", "")
        is_told = self._redaction.content is not Content.NONE
        return {
            names.WHAT: piece.what,
            names.ID: piece.begin.event.actor,
            names.PATH: self._slices.name(piece.begin.event.actor) if piece.begin.event.actor else "",
            names.INCARNATION: piece.begin.event.inc,
            names.TURN: piece.begin.get("turn", 0),
            names.OUTCOME: piece.outcome,
            names.KILLED_BY: self._redaction.words(cause.who),
            names.KILLED_WHY: self._redaction.words(cause.why),
            names.SEQ: piece.begin.seq,
            names.END_SEQ: end.seq if end is not None else 0,
            names.PARENT_SEQ: piece.begin.event.parent,
            names.ERROR_TYPE: "" if error is None else _error_type(piece, error if is_told else ""),
        }

    def _named(self, piece: Slice) -> tuple[str, int, dict[str, Any]]:
        """Return the name and kind of a span, and the attributes that the conventions ask for."""
        begin, actor = piece.begin, piece.begin.event.actor
        definition, model = self._slices.agents.get(actor, ("", ""))
        agent = {names.AGENT_ID: actor, names.AGENT_NAME: definition, names.CONVERSATION: actor}
        asked = {names.REQUEST_MODEL: model, names.PROVIDER: _provider(model)}
        match piece.what:
            case "turn" if definition:
                return (
                    f"invoke_agent {definition}",
                    names.INTERNAL,
                    {names.OPERATION: "invoke_agent", **agent, **asked},
                )
            case "turn":
                return f"turn {self._slices.message(piece.number)}".rstrip(), names.INTERNAL, {}
            case "model":
                kind = names.INTERNAL if _provider(model) == "greenroom" else names.CLIENT
                return f"chat {model}".rstrip(), kind, {names.OPERATION: "chat", **agent, **asked, **_usage(piece.end)}
            case "tool":
                call = {names.TOOL_NAME: begin["tool"], names.TOOL_TYPE: "function", names.TOOL_CALL: begin["call"]}
                operation = {names.OPERATION: "execute_tool", names.AGENT_ID: actor, names.AGENT_NAME: definition}
                return f"execute_tool {begin['tool']}", names.INTERNAL, {**operation, **call}
            case "actor":
                return f"actor {self._slices.name(actor)}", names.INTERNAL, {}
        return piece.what, names.INTERNAL, {}

    def _event(self, entry: Entry) -> dict[str, Any]:
        about = {names.SEQ: entry.seq, names.PARENT_SEQ: entry.event.parent}
        fields = self._redaction.event_fields(entry.kind, fields_of(entry))
        said = {f"actor.{name}": value for name, value in fields.items()}
        return {
            "timeUnixNano": self._nanoseconds(entry.t),
            "name": entry.kind,
            "attributes": _attributes({**about, **said}),
        }

    def _id(self, seq: int) -> str:
        return sha256(f"{self._run} {seq}".encode(errors="surrogatepass")).hexdigest()[:16]

    def _nanoseconds(self, t: float) -> str:
        return str(max(0, self._base_us + round(t * 1_000_000)) * _NANO)  # unsigned in the protocol


def epoch_us(started: str | None) -> int:
    """Return a date in microseconds since 1970; 0 if there is none."""
    if started is None:
        return 0
    try:
        began = datetime.fromisoformat(started)
    except ValueError:
        return 0
    return round((began if began.tzinfo else began.replace(tzinfo=UTC)).timestamp() * 1_000_000)


def _provider(model: str) -> str:
    """Return the provider of a model, as far as its name tells; greenroom's own models need no service."""
    if not model:
        return ""
    return "anthropic" if "claude" in model.lower() else "greenroom"


def _usage(end: Entry | None) -> dict[str, Any]:
    if end is None:
        return {}
    read, created = end.get("cache_read_input_tokens", 0), end.get("cache_creation_input_tokens", 0)
    reason = end.get("stop_reason", "")
    return {
        names.INPUT_TOKENS: end.get("input_tokens", 0) + read + created,
        names.OUTPUT_TOKENS: end.get("output_tokens", 0),
        names.CACHE_READ_TOKENS: read,
        names.CACHE_CREATION_TOKENS: created,
        names.FINISH_REASONS: [reason] if reason else [],
    }


def _error(piece: Slice) -> str | None:
    """Return the error of a slice; None if there was none, or if it was killed on request."""
    if piece.end is None:
        return None
    if piece.outcome == "failed":
        return str(piece.end.get("error") or "failed")
    cause = _cause(piece)
    return cause.why if piece.outcome == "killed" and cause.who == _DEADLINE else None


def _cause(piece: Slice) -> Cause:
    """Return the requester and reason of a slice's end, as far as recorded; a task's end names only the requester."""
    cause = None if piece.end is None else piece.end.get("cause")
    return cause if isinstance(cause, Cause) else Cause(str(cause or ""), "")


def _error_type(piece: Slice, error: str) -> str:
    if piece.outcome == "killed":
        return "timeout"
    first, _, rest = error.partition(":")
    return first if (rest or first.isidentifier()) and " " not in first else "_OTHER"


def _attributes(values: Mapping[str, Any], redaction: Redaction | None = None) -> list[dict[str, Any]]:
    """Return attributes in the form of the protocol, without empty ones."""
    return [
        {"key": name, "value": _value(value if redaction is None else redaction.labels(value))}
        for name, value in values.items()
        if value not in ("", 0, None, [], {})
    ]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int() if -_INT64 <= value < _INT64:
            return {"intValue": str(value)}  # 64 bits, which JSON readers would truncate
        case float() if math.isfinite(value):
            return {"doubleValue": value}
        case list() | dict() if len(content := as_json(value)) > MAX_CHARS:
            return {"stringValue": content[:MAX_CHARS].decode(errors="ignore")}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": [{"key": name, "value": _value(item)} for name, item in value.items()]}}
    text = str(value)
    return {"stringValue": text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"}

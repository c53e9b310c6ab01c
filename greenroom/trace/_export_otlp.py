"""Export of a run as OpenTelemetry spans in OTLP's JSON form, for collectors and viewers.

There is one trace per run. Its ids are derived from the run's id and the number of a span's first event, so that the
same journal always gives the same spans. Spans nest as supervisors, actors, turns and calls do; an effect of a message
is linked, not nested, because nobody waits for it. A failure is an error, a requested kill is not. Contents stay in the
journal: no prompts, no answers, no results.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, final

from greenroom.core import Cause
from greenroom.trace import _semconv as names
from greenroom.trace._codec import Header
from greenroom.trace._entries import Entry, UnknownEvent
from greenroom.trace._slices import Slice, Slices, fields_of

_NANO: Final = 1_000
"""Nanoseconds per microsecond, the journal's unit of time."""
_INT64: Final = 2**63
_DEADLINE: Final = "deadline"
_LONG_TEXTS: Final = frozenset({"text", "description"})


def otlp_traces(entries: Sequence[Entry], header: Header) -> dict[str, Any]:
    """Return a run as the JSON object of an OTLP trace export.

    Args:
        entries: A whole journal.
        header: Its header; times count from its `started`, or from 1970 if it has none.
    """
    resource = {
        names.SERVICE_NAME: "greenroom",
        names.SERVICE_VERSION: header.greenroom,
        names.SERVICE_INSTANCE: header.run,
        names.RUNTIME_NAME: "python",
        names.RUNTIME_VERSION: header.python,
    }
    scope = {"name": "greenroom.trace", "version": header.greenroom}
    spans = _Spans(entries, header).all()
    found = {"scope": scope, "spans": spans, "schemaUrl": names.SCHEMA_URL}
    return {
        "resourceSpans": [
            {"resource": {"attributes": _attributes(resource)}, "scopeSpans": [found], "schemaUrl": names.SCHEMA_URL}
        ]
    }


@final
class _Spans:
    """The spans of one run."""

    def __init__(self, entries: Sequence[Entry], header: Header) -> None:
        self._run = header.run
        self._base_us = _microseconds(header.started)
        self._slices = Slices(entries)
        self._trace = sha256(f"greenroom {header.run}".encode()).hexdigest()[:32]
        self._model: dict[str, str] = {}
        self._definition: dict[str, str] = {}
        self._above: dict[int, Slice] = {}
        self._events: defaultdict[int, list[Entry]] = defaultdict(list)
        for entry in self._slices.instants:
            if entry.kind == "agent.defined" and not isinstance(entry.event, UnknownEvent):
                self._model[entry.event.actor] = entry["model"]
                self._definition[entry.event.actor] = entry["definition"]
            owner = self._slices.owner(entry.seq)
            if owner is not None:
                self._events[owner.begin.seq].append(entry)
        self._nest()

    def all(self) -> list[dict[str, Any]]:
        """Return the spans in order of their beginnings."""
        return [self._span(piece) for piece in self._slices.all]

    def _nest(self) -> None:
        """Find the span around each: the turn of a call, the actor of a turn, the supervisor of an actor."""
        session: Slice | None = None
        lives: dict[str, Slice] = {}
        turns: dict[tuple[Any, ...], Slice] = {}
        for piece in self._slices.all:
            actor = piece.begin.event.actor
            above: Slice | None = session
            if piece.what == "session":
                session, above = piece, None
                lives.clear()
            elif piece.what == "actor":
                above = lives.get(self._slices.supervisor.get(actor, ""), session)
                lives[actor] = piece
            elif actor:
                above = lives.get(actor, session)
                if piece.what == "turn":
                    turns[(*piece.machine, piece.begin["turn"])] = piece
                else:
                    above = turns.get((*piece.machine, piece.begin.get("turn")), above)
            if above is not None:
                self._above[piece.begin.seq] = above

    def _span(self, piece: Slice) -> dict[str, Any]:
        begin = piece.begin
        above = self._above.get(begin.seq)
        name, kind, attributes = self._named(piece)
        span: dict[str, Any] = {
            "traceId": self._trace,
            "spanId": self._id(begin.seq),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": self._nanoseconds(begin.t),
            "endTimeUnixNano": self._nanoseconds(max(begin.t, piece.end_t)),
            "attributes": _attributes({**self._own(piece), **attributes}),
        }
        if above is not None:
            span["parentSpanId"] = self._id(above.begin.seq)
        if begin.event.parent and (above is None or begin.event.parent != above.begin.seq):
            source = self._slices.owner(begin.event.parent)
            if source is not None:
                why = _attributes({names.SEQ: begin.event.parent})
                span["links"] = [{"traceId": self._trace, "spanId": self._id(source.begin.seq), "attributes": why}]
        if self._events[begin.seq]:
            span["events"] = [self._event(entry) for entry in self._events[begin.seq]]
        if (error := _error(piece)) is not None:
            span["status"] = {"code": names.ERROR, "message": error}
        return span

    def _own(self, piece: Slice) -> dict[str, Any]:
        """Return the attributes of every span."""
        end, error = piece.end, _error(piece)
        cause = _cause(piece) if piece.outcome == "killed" else Cause("", "")
        return {
            names.WHAT: piece.what,
            names.ID: piece.begin.event.actor,
            names.PATH: self._slices.name(piece.begin.event.actor) if piece.begin.event.actor else "",
            names.INCARNATION: piece.begin.event.inc,
            names.TURN: piece.begin.get("turn", 0),
            names.OUTCOME: piece.outcome,
            names.KILLED_BY: cause.who,
            names.KILLED_WHY: cause.why,
            names.SEQ: piece.begin.seq,
            names.END_SEQ: end.seq if end is not None else 0,
            names.PARENT_SEQ: piece.begin.event.parent,
            names.ERROR_TYPE: "" if error is None else _error_type(piece, error),
        }

    def _named(self, piece: Slice) -> tuple[str, int, dict[str, Any]]:
        """Return the name and kind of a span, and the attributes that the conventions ask for."""
        begin, actor = piece.begin, piece.begin.event.actor
        definition, model = self._definition.get(actor, ""), self._model.get(actor, "")
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
                return f"turn {self._slices.message(piece)}".rstrip(), names.INTERNAL, {}
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
        said = {f"actor.{name}": value for name, value in fields_of(entry).items() if name not in _LONG_TEXTS}
        return {
            "timeUnixNano": self._nanoseconds(entry.t),
            "name": entry.kind,
            "attributes": _attributes({**about, **said}),
        }

    def _id(self, seq: int) -> str:
        return sha256(f"{self._run} {seq}".encode()).hexdigest()[:16]

    def _nanoseconds(self, t: float) -> str:
        return str(max(0, self._base_us + round(t * 1_000_000)) * _NANO)  # unsigned in the protocol


def _microseconds(started: str | None) -> int:
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


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return attributes in the form of the protocol, without empty ones."""
    return [
        {"key": name, "value": _value(value)} for name, value in values.items() if value not in ("", 0, None, [], {})
    ]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int() if -_INT64 <= value < _INT64:
            return {"intValue": str(value)}  # 64 bits, which JSON readers would truncate
        case float() if math.isfinite(value):
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": [{"key": name, "value": _value(item)} for name, item in value.items()]}}
    return {"stringValue": str(value)}

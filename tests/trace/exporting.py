"""Exports of entries that are in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from greenroom.gateway.record import content_fields, is_label
from greenroom.trace import Entry, Header
from greenroom.trace.exports import Content, Redaction, Sink, export_chrome, export_otlp, export_perfetto
from greenroom.trace.exports._entry_source import EntrySource, source_of_entries

HEADER: Final = Header(run="r1", greenroom="1.2", python="3.11.9", trio="0.30", started="2026-11-21T12:00:00+00:00")


def redaction(content: Content = Content.ALL) -> Redaction:
    return Redaction(content, {}, content_fields=content_fields, is_label=is_label)


def written(
    export: Callable[[EntrySource, Sink, Redaction], int], entries: Sequence[Entry], header: Header = HEADER
) -> bytes:
    """Return what an export writes, with all texts."""
    content = bytearray()
    export(source_of_entries(entries, header), content.extend, redaction())
    return bytes(content)


def otlp_lines(entries: Sequence[Entry], header: Header = HEADER) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written(export_otlp, entries, header).splitlines()]


def chrome_object(entries: Sequence[Entry]) -> dict[str, Any]:
    trace: dict[str, Any] = json.loads(written(export_chrome, entries))
    return trace


def perfetto_bytes(entries: Sequence[Entry]) -> bytes:
    return written(export_perfetto, entries)


def spans_of(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        span
        for line in lines
        for resource in line["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


LASTING: Final = ("actor", "turn", "model", "tool")


@attrs.frozen
class Facts:
    """The records that have to survive an export."""

    lasted: dict[int, tuple[str, str, int]]
    """Number of each begin to what began, its outcome and how many microseconds it took; of what is open, to the end."""
    causes: dict[int, int]
    """Number of each event that is shown, with that of the event that led to it."""


def micro(t: float) -> int:
    return round(t * 1_000_000)


def journal_facts(entries: Sequence[Entry]) -> Facts:
    """Read a journal as naively as can be: an end is the next one with the same fields."""
    last_t = entries[-1].t if entries else 0.0
    lasted = {}
    for place, begin in enumerate(entries):
        what, _, step = begin.kind.rpartition(".")
        if what not in LASTING or step != ("new" if what == "actor" else "begin"):
            continue
        names = [name for name in ("turn", "round", "call") if begin.get(name) is not None]
        key = [begin.event.actor, begin.event.inc, *(begin[name] for name in names)]
        end = next(
            (
                entry
                for entry in entries[place:]
                if entry.kind == f"{what}.end"
                and [entry.event.actor, entry.event.inc, *(entry[name] for name in names)] == key
            ),
            None,
        )
        took = micro(end.t if end else last_t) - micro(begin.t)
        lasted[begin.seq] = what, end["state"] if end else "open", took
    return Facts(lasted, {entry.seq: entry.event.parent for entry in entries})

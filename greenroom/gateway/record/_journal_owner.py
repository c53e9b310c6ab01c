"""The owner of a journal: a session, or a gateway, whose events are imported when its journal is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from greenroom.core import Event
from greenroom.session import EVENTS
from greenroom.trace import Entry

_FIRST_EVENTS: Final = (b'"ev":"gateway.begin"', b'"ev":"gateway.snapshot"')
_HEAD_BYTES: Final = 64 * 1024


def events_of(journal: Path) -> tuple[type[Event], ...]:
    """Return the events that a journal can hold, by its first lines; those of a session if it cannot be read."""
    try:
        with journal.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return EVENTS
    if not any(event in head for event in _FIRST_EVENTS):
        return EVENTS
    from greenroom.gateway.record._gateway_events import EVENTS as GATEWAY_EVENTS

    return GATEWAY_EVENTS


def is_gateways(entries: Sequence[Entry]) -> bool:
    """Return True if a journal is that of a gateway."""
    return any(entry.kind in {"gateway.begin", "gateway.snapshot"} for entry in entries)

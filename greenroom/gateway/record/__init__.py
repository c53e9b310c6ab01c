"""The record of the gateway: its events, what they add up to, and what follows from them after a restart."""

from greenroom.gateway.record._content_fields import content_fields, is_label
from greenroom.gateway.record._gateway_events import EVENTS
from greenroom.gateway.record._record_checks import checks_for
from greenroom.gateway.record._record_replay import comparable, find_journal, record_sections, session_journals

__all__ = [
    "EVENTS",
    "checks_for",
    "comparable",
    "content_fields",
    "find_journal",
    "is_label",
    "record_sections",
    "session_journals",
]

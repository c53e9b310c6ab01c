"""The record of the gateway: its events, what they add up to, and what follows from them after a restart."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.gateway.record._content_fields import content_fields, is_label
    from greenroom.gateway.record._gateway_events import EVENTS
    from greenroom.gateway.record._journal_owner import events_of, find_journal, is_gateways
    from greenroom.gateway.record._record_checks import checks_for
    from greenroom.gateway.record._record_replay import (
        comparable,
        find_session_journal,
        record_sections,
        session_journals,
    )
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.gateway.record._content_fields": ("content_fields", "is_label"),
            "greenroom.gateway.record._gateway_events": ("EVENTS",),
            "greenroom.gateway.record._journal_owner": ("events_of", "find_journal", "is_gateways"),
            "greenroom.gateway.record._record_checks": ("checks_for",),
            "greenroom.gateway.record._record_replay": (
                "comparable",
                "find_session_journal",
                "record_sections",
                "session_journals",
            ),
        },
    )

__all__ = [
    "EVENTS",
    "checks_for",
    "comparable",
    "content_fields",
    "events_of",
    "find_journal",
    "find_session_journal",
    "is_gateways",
    "is_label",
    "record_sections",
    "session_journals",
]

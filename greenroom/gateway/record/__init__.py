"""The record of the gateway: its events, what they add up to, and what follows from them after a restart."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.gateway.record._content_fields import content_fields, is_label
    from greenroom.gateway.record._gateway_events import EVENTS
    from greenroom.gateway.record._journal_owner import events_of, is_gateways
    from greenroom.gateway.record._record_checks import checks_for
    from greenroom.gateway.record._record_replay import comparable, record_sections, session_journals
    from greenroom.gateway.record._session_places import find_journal
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.gateway.record._content_fields": ("content_fields", "is_label"),
            "greenroom.gateway.record._gateway_events": ("EVENTS",),
            "greenroom.gateway.record._journal_owner": ("events_of", "is_gateways"),
            "greenroom.gateway.record._record_checks": ("checks_for",),
            "greenroom.gateway.record._record_replay": (
                "comparable",
                "record_sections",
                "session_journals",
            ),
            "greenroom.gateway.record._session_places": ("find_journal",),
        },
    )

__all__ = [
    "EVENTS",
    "checks_for",
    "comparable",
    "content_fields",
    "events_of",
    "find_journal",
    "is_gateways",
    "is_label",
    "record_sections",
    "session_journals",
]

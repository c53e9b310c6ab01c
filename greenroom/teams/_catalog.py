"""All that teams put on record, and what it adds up to."""

from __future__ import annotations

from typing import Final

from greenroom.teams import _events, _exchange, _items, _mail_events, _mate_events, _request_events

EVENTS: Final = (
    *_events.EVENTS,
    *_mate_events.EVENTS,
    *_mail_events.EVENTS,
    _exchange.MailHeld,
    *_request_events.EVENTS,
)
FOLDS: Final = (*_items.FOLDS, *_mate_events.FOLDS, *_mail_events.FOLDS)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them."""

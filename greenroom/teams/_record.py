"""All that teams put on record, and how it is folded."""

from __future__ import annotations

from typing import Final

from greenroom.teams import _events, _items, _mail_events

EVENTS: Final = (*_events.EVENTS, *_mail_events.EVENTS)
FOLDS: Final = (*_items.FOLDS, *_mail_events.FOLDS)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them."""

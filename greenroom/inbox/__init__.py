"""What waits for a conversation's next turn: kinds, origins, lanes, and plans of what a turn takes when."""

from greenroom.inbox._item import ALONE, HIGHEST, Entry, Item, Kind, late_answer, make_item
from greenroom.inbox._origin import (
    AUTO_CONTINUATION,
    COORDINATOR,
    HOOK,
    HUMAN,
    SCHEDULE,
    TASK_NOTIFICATION,
    UNCLASSIFIED,
    Origin,
    OriginKind,
    channel,
    peer,
)
from greenroom.inbox._plans import MAX_CHARS, aborts, plan_edge, plan_messages, plan_turn
from greenroom.inbox._sources import ROUTES, Route, Source

__all__ = [
    "ALONE",
    "AUTO_CONTINUATION",
    "COORDINATOR",
    "HIGHEST",
    "HOOK",
    "HUMAN",
    "MAX_CHARS",
    "ROUTES",
    "SCHEDULE",
    "TASK_NOTIFICATION",
    "UNCLASSIFIED",
    "Entry",
    "Item",
    "Kind",
    "Origin",
    "OriginKind",
    "Route",
    "Source",
    "aborts",
    "channel",
    "late_answer",
    "make_item",
    "peer",
    "plan_edge",
    "plan_messages",
    "plan_turn",
]

"""Entries that wait for a conversation's next turn: kinds, origins, lanes, and plans of what a turn takes."""

from greenroom.inbox._entries import ALONE, HIGHEST, EntryKind, InboxItem, WaitingEntry, late_answer, make_item
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
from greenroom.inbox._routes import ROUTES, InboxSource, Route
from greenroom.inbox._turn_plans import MAX_CHARS, aborts, plan_edge, plan_messages, plan_turn

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
    "EntryKind",
    "InboxItem",
    "InboxSource",
    "Origin",
    "OriginKind",
    "Route",
    "WaitingEntry",
    "aborts",
    "channel",
    "late_answer",
    "make_item",
    "peer",
    "plan_edge",
    "plan_messages",
    "plan_turn",
]

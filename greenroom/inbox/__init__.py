"""Entries that wait for a conversation's next turn: kinds, origins, lanes, and plans of what a turn takes."""

from greenroom.inbox._inbox_items import ALONE, EntryKind, InboxItem, WaitingEntry, late_answer, make_item
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
from greenroom.inbox._turn_plans import aborts, plan_edge, plan_messages, plan_turn

__all__ = [
    "ALONE",
    "AUTO_CONTINUATION",
    "COORDINATOR",
    "HOOK",
    "HUMAN",
    "SCHEDULE",
    "TASK_NOTIFICATION",
    "UNCLASSIFIED",
    "EntryKind",
    "InboxItem",
    "Origin",
    "OriginKind",
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

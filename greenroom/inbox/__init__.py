"""Entries that wait for a conversation's next turn: kinds, origins, lanes, plans of what a turn takes, and schedules."""

from greenroom.inbox._cron_times import CronTimes, read_cron, read_time, read_zone
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
from greenroom.inbox._schedules import LIFE, MAX_COUNTED, DueItem, Schedule, plan_schedules, read_time_text, time_text
from greenroom.inbox._turn_plans import aborts, plan_edge, plan_messages, plan_turn

__all__ = [
    "ALONE",
    "AUTO_CONTINUATION",
    "COORDINATOR",
    "HOOK",
    "HUMAN",
    "LIFE",
    "MAX_COUNTED",
    "SCHEDULE",
    "TASK_NOTIFICATION",
    "UNCLASSIFIED",
    "CronTimes",
    "DueItem",
    "EntryKind",
    "InboxItem",
    "Origin",
    "OriginKind",
    "Schedule",
    "WaitingEntry",
    "aborts",
    "channel",
    "late_answer",
    "make_item",
    "peer",
    "plan_edge",
    "plan_messages",
    "plan_schedules",
    "plan_turn",
    "read_cron",
    "read_time",
    "read_time_text",
    "read_zone",
    "time_text",
]

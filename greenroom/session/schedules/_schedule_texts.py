"""Texts of scheduled prompts: what the main agent reads, and what a schedule looks like in words."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from greenroom.core.texts import escape_text, wrap
from greenroom.inbox import MAX_COUNTED, read_time_text
from greenroom.session.schedules._schedule_events import ScheduleView

TAG: Final = "scheduled-prompt"


def prompt_text(view: ScheduleView, planned: str) -> str:
    """Return what the main agent reads when a schedule is due.

    Args:
        view: The schedule, with its pending item.
        planned: The planned time, in UTC.
    """
    attributes = {
        "id": view.id,
        "due": local_text(planned, view.tz),
        "missed": _missed_text(view),
        "replaces": _replaces_text(view.replaces),
    }
    return wrap(TAG, escape_text(view.prompt), attributes)


def _missed_text(view: ScheduleView) -> str:
    if not view.missed_count:
        return ""
    times = ", ".join(local_text(time, view.tz) for time in view.missed_times)
    if view.missed_count <= len(view.missed_times):
        return f"{times}; run once in their place" if view.missed_count > 1 else f"{times}; run late"
    count = f"{MAX_COUNTED} or more" if view.missed_count >= MAX_COUNTED else str(view.missed_count)
    return f"{count} times, first {times}; run once in their place"


def _replaces_text(count: int) -> str:
    if not count:
        return ""
    return "1 earlier prompt that was not read" if count == 1 else f"{count} earlier prompts that were not read"


def local_text(time: str, zone: str) -> str:
    """Return a time in UTC as the clock of a zone shows it, with its offset."""
    return moment_text(read_time_text(time), zone)


def moment_text(moment: datetime, zone: str) -> str:
    """Return a moment as the clock of a zone shows it, with its offset."""
    return f"{moment.astimezone(ZoneInfo(zone)).isoformat(timespec='seconds')} {zone}"

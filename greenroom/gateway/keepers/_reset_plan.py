"""When a conversation begins anew by itself: at an hour of the day, or after people have not used it for a while.

Rule 1: it is decided when a person writes, so an unused session costs nothing. Rule 2: only what people say counts as use.
Must not know: clock, disk, Trio.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from greenroom.gateway.config._sections import SessionConfig
from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.routing._session_key import DirectSession, MainSession, RoomSession, SessionKey


def reset_reason(config: SessionConfig, row: SessionRow, now_s: float) -> str:
    """Return why a session begins anew with the next message of a person: `daily` or `idle`; empty if it does not.

    Args:
        config: The section `session` of the configuration.
        row: The session.
        now_s: The wall clock.
    """
    if row.used_s <= row.began_s:
        return ""  # nothing was said in it
    if not isinstance(SessionKey.parse(row.key).rest, MainSession | DirectSession | RoomSession):
        return ""
    reset = config.reset
    if reset.mode == "daily":
        zone = ZoneInfo(config.timezone) if config.timezone else None
        return "daily" if row.began_s < last_time(now_s, reset.at_hour, zone) else ""
    if reset.mode == "idle":
        return "idle" if now_s - max(row.person_s, row.began_s) > reset.idle_minutes * 60 else ""
    return ""


def last_time(now_s: float, hour: int, zone: tzinfo | None) -> float:
    """Return the last time at which it was an hour of the day, in seconds since 1970.

    Args:
        now_s: The wall clock.
        hour: The hour.
        zone: The time zone; None for that of the machine.
    """
    now = datetime.fromtimestamp(now_s, UTC).astimezone(zone)
    for days in (0, 1):
        day = now.date() - timedelta(days=days)
        local = datetime(day.year, day.month, day.day, hour, tzinfo=zone or now.tzinfo)
        if local.timestamp() <= now_s:
            return local.timestamp()
    return now_s - 86_400

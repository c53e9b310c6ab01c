"""The rule about times of schedules, stated plainly: every minute of a stretch is looked at, and nothing of ours is used."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import attrs

MINUTE = timedelta(minutes=1)


@attrs.frozen
class Line:
    """An expression, as text and as the values of its fields."""

    minutes: tuple[int, ...] | None
    hours: tuple[int, ...] | None
    days: tuple[int, ...] | None
    weekdays: tuple[int, ...] | None

    @property
    def text(self) -> str:
        fields = (self.minutes, self.hours, self.days, None, self.weekdays)
        return " ".join("*" if field is None else ",".join(map(str, field)) for field in fields)

    @property
    def is_interval(self) -> bool:
        return self.minutes is None or self.hours is None

    def fits(self, wall: datetime) -> bool:
        day = self.days is None or wall.day in self.days
        weekday = self.weekdays is None or wall.isoweekday() % 7 in self.weekdays
        both = None in {self.days, self.weekdays}
        return (
            (self.minutes is None or wall.minute in self.minutes)
            and (self.hours is None or wall.hour in self.hours)
            and ((day and weekday) if both else (day or weekday))
        )


def plain_times(line: Line, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Return the times of a line in (start, end]."""
    place = ZoneInfo(zone)
    count = int((end - start + timedelta(days=2)) / MINUTE)
    moments = [start - timedelta(days=1) + MINUTE * number for number in range(count)]
    walls = [moment.astimezone(place).replace(tzinfo=None) for moment in moments]
    if line.is_interval:
        found = {moment for moment, wall in zip(moments, walls, strict=True) if line.fits(wall)}
    else:
        found = _times_of_day(line, moments, walls)
    return sorted(moment for moment in found if start < moment <= end)


def _times_of_day(line: Line, moments: Sequence[datetime], walls: Sequence[datetime]) -> set[datetime]:
    found: set[datetime] = set()
    latest = walls[0]
    for moment, wall in zip(moments[1:], walls[1:], strict=True):
        # What the clock shows for the first time now, with what it has leapt over; nothing while it repeats itself.
        while latest < wall:
            latest += MINUTE
            if line.fits(latest):
                found.add(moment)
    return found


def at(text: str) -> datetime:
    """Return a moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)

"""Times of cron expressions: five fields in a time zone, by the rules of Debian's cron.

Rule 1: an expression with a fixed minute and hour names times of day: one that the clock skips comes at the first moment after the gap, one
that the clock repeats comes once. Rule 2: if the minute or the hour begins with `*`, the expression is an interval, and follows the clock
as it runs. Rule 3: what cannot be used is refused when it is read, with the form that it should have. This module must not depend on the
clock, the disk (apart from the system's time zones) or Trio.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, final

import attrs

from greenroom.core import UsageError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

FIELDS: Final = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L (the last day) or LW (the last weekday)",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT (0 and 7 are Sunday), 5L (the last Friday) or MON#2 (the second Monday)",
}
"""The fields of an expression in order, with their values."""
FORM: Final = f"{' '.join(FIELDS)}, such as '0 9 * * MON-FRI'"
MAX_CHARS: Final = 200
"""Maximum length of an expression."""
_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_DAY: Final = timedelta(days=1)
_SECOND: Final = timedelta(seconds=1)
_SOME_MONDAY: Final = datetime(2024, 1, 1)  # noqa: DTZ001 - a time of day, without a zone


@final
@attrs.frozen
class CronTimes:
    """The times of an expression in a time zone; made by `read_cron`."""

    expression: str
    """Five fields."""
    zone: str
    """Name of the time zone."""

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time after a moment, in UTC; None if there is none within 50 years."""
        return next(self.times(moment), None)

    def times(self, after: datetime) -> Iterator[datetime]:
        """Yield the times after a moment, in UTC and in order."""
        minute, hour, *_ = self.expression.split()
        zone = _zone(self.zone)
        start = after.astimezone(UTC)
        return self._interval(zone, start) if "*" in {minute[0], hour[0]} else self._times_of_day(zone, start)

    def _interval(self, zone: ZoneInfo, start: datetime) -> Iterator[datetime]:
        """Yield the moments at which the clock shows a time of the expression, one stretch of constant offset after the other."""
        offset, moment = _offset(zone, start), start
        walls = _walls(self.expression, _wall(start, offset))
        while (wall := next(walls, None)) is not None:
            found = wall.replace(tzinfo=UTC) - offset
            change = _change(zone, moment, found)
            if change is None:
                moment = found
                yield moment
            else:
                offset, moment = _offset(zone, change), change
                walls = _walls(self.expression, _wall(change, offset) - _SECOND)

    def _times_of_day(self, zone: ZoneInfo, start: datetime) -> Iterator[datetime]:
        last = start
        for wall in _walls(self.expression, _wall(start, _offset(zone, start))):
            moment = _first_moment(zone, wall)
            if moment > last:
                last = moment
                yield moment


def read_cron(expression: object, zone: str) -> CronTimes:
    """Return the times of an expression.

    Args:
        expression: Five fields: minute, hour, day of the month, month, day of the week.
        zone: Name of the time zone.

    Raises:
        UsageError: The expression or the zone cannot be used, or no such time ever comes.
    """
    if not isinstance(expression, str):
        raise UsageError(f"cron must be a text of 5 fields ({FORM}), got {expression!r}")
    if len(expression) > MAX_CHARS:
        raise UsageError(f"cron must have at most {MAX_CHARS} characters, got {len(expression)}")
    parts = expression.split()
    if parts and parts[0].startswith("@"):
        hint = f"; for {parts[0]!r} write {_WORDS[parts[0].lower()]!r}" if parts[0].lower() in _WORDS else ""
        raise UsageError(f"cron must have 5 fields ({FORM}), got {expression!r}{hint}")
    if len(parts) != len(FIELDS):
        raise UsageError(f"cron must have 5 fields ({FORM}), got {len(parts)} in {expression!r}")
    times = CronTimes(" ".join(parts), zone)
    _check_fields(times.expression)
    read_zone(zone)
    return times


def read_zone(name: object) -> str:
    """Return the name of a time zone that the system knows.

    Raises:
        UsageError: It does not.
    """
    if not isinstance(name, str) or not name:
        raise UsageError(f"tz must be the name of a time zone, such as 'Europe/Berlin' or 'UTC', got {name!r}")
    try:
        _zone(name)
    except (KeyError, ValueError, OSError):
        hint = "expected a name such as 'Europe/Berlin' or 'UTC'"
        raise UsageError(f"unknown time zone {name!r}; {hint}") from None
    return name


def read_time(at: object, zone: str) -> datetime:
    """Return a one-shot time in UTC, in whole seconds.

    Args:
        at: A date and time, or its ISO text; one without an offset is a time of day in the zone.
        zone: Name of the time zone.

    Raises:
        UsageError: It is neither, or the zone is unknown.
    """
    form = "at must be a date and time, such as '2026-11-24T09:00' or '2026-11-24T09:00+01:00'"
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at)
        except ValueError:
            raise UsageError(f"{form}, got {at!r}") from None
    if not isinstance(at, datetime):
        raise UsageError(f"{form}, got {at!r}")
    at = at.replace(microsecond=0)
    read_zone(zone)
    try:
        return at.astimezone(UTC) if at.tzinfo is not None else _first_moment(_zone(zone), at)
    except OverflowError:
        raise UsageError(f"{form}, got {at.isoformat()!r}") from None


def _check_fields(expression: str) -> None:
    """Check the fields of an expression of five.

    Raises:
        UsageError: One cannot be used, or no time fits all of them.
    """
    from cronsim import CronSimError

    for name, part in zip(FIELDS, expression.split(), strict=True):
        alone = " ".join(part if each == name else "*" for each in FIELDS)
        try:
            comes = next(_walls(alone, _SOME_MONDAY), None)
        except CronSimError:
            form = f"{FIELDS[name]}; a list (1,2), a range (1-5) or a step (*/2) of these, or *"
            raise UsageError(f"{name} of cron must be {form}; got {part!r}") from None
        assert comes is not None
    try:
        comes = next(_walls(expression, _SOME_MONDAY), None)
    except CronSimError:
        comes = None
    if comes is None:
        raise UsageError(f"cron {expression!r} never comes: no month has such a day")


def _walls(expression: str, after: datetime) -> Iterator[datetime]:
    """Return the times of an expression on a clock that is never changed."""
    from cronsim import CronSim

    return iter(CronSim(expression, after))


# --- changes of the clock -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None
    return offset


def _wall(moment: datetime, offset: timedelta) -> datetime:
    """Return what a clock of an offset shows."""
    return (moment + offset).replace(tzinfo=None)


def _first_moment(zone: ZoneInfo, wall: datetime) -> datetime:
    """Return the first moment at which the clock shows a time of day, or the first one after the gap that skips it."""
    moment = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == wall:
        return moment
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _change(zone, before, moment) or moment


def _change(zone: ZoneInfo, start: datetime, end: datetime) -> datetime | None:
    """Return the first moment after `start`, and not after `end`, at which the clock is changed; None for none."""
    offset = _offset(zone, start)
    days = int((end - start) / _DAY)
    for low, high in pairwise((*(start + day * _DAY for day in range(days + 1)), end)):
        if _offset(zone, high) != offset:
            return _bisect(zone, low, high, offset)
    return None


def _bisect(zone: ZoneInfo, low: datetime, high: datetime, offset: timedelta) -> datetime:
    """Return the first whole second at which the offset is another one."""
    low = low.replace(microsecond=0)
    while high - low > _SECOND:
        middle = low + timedelta(seconds=int((high - low) / _SECOND) // 2)
        low, high = (middle, high) if _offset(zone, middle) == offset else (low, middle)
    return high

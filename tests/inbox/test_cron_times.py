"""Times of cron expressions: over changes of the clock, against a plain statement of the rule; expressions that are refused."""

from __future__ import annotations

from datetime import timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.inbox._cron_times import CronTimes, read_cron, read_time, read_zone
from tests.inbox.plain_times import Line, at, plain_times

HOURS = timedelta(hours=4)
CHANGES = {
    "Berlin, 02:00 to 03:00": ("Europe/Berlin", "2026-03-29T01:00"),
    "Berlin, 03:00 to 02:00": ("Europe/Berlin", "2026-10-25T01:00"),
    "Santiago, 24:00 to 23:00": ("America/Santiago", "2026-04-05T03:00"),
    "Santiago, 00:00 to 01:00": ("America/Santiago", "2026-09-06T04:00"),
}
TABLE = {  # what comes within 4 hours of each change, as local time with its offset
    "30 2 * * *": ("03:00+02", "02:30+02", "02:30-04", "02:30-03"),
    "0 0 * * *": ("00:00+01", "00:00+02", "00:00-04", "01:00-03"),
    "30 23 * * *": ("23:30+01", "23:30+02", "23:30-03", "23:30-04"),
    "0 3 * * SUN": ("03:00+02", "03:00+01", "", "03:00-03"),
    "0,30 2-3 * * *": (
        "03:00+02 03:30+02",
        "02:00+02 02:30+02 03:00+01 03:30+01",
        "02:00-04 02:30-04",
        "02:00-03 02:30-03 03:00-03 03:30-03",
    ),
    "0 */2 * * *": (
        "22:00+01 00:00+01 04:00+02 06:00+02",
        "00:00+02 02:00+02 02:00+01 04:00+01",
        "20:00-03 22:00-03 00:00-04 02:00-04",
        "20:00-04 22:00-04 02:00-03 04:00-03",
    ),
    "15 * * * *": (
        "22:15+01 23:15+01 00:15+01 01:15+01 03:15+02 04:15+02 05:15+02 06:15+02",
        "23:15+02 00:15+02 01:15+02 02:15+02 02:15+01 03:15+01 04:15+01 05:15+01",
        "20:15-03 21:15-03 22:15-03 23:15-03 23:15-04 00:15-04 01:15-04 02:15-04",
        "20:15-04 21:15-04 22:15-04 23:15-04 01:15-03 02:15-03 03:15-03 04:15-03",
    ),
    "*/30 0 * * SUN": ("00:00+01 00:30+01", "00:00+02 00:30+02", "00:00-04 00:30-04", ""),
}
ZONES = ("Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")


def values(low: int, high: int) -> st.SearchStrategy[tuple[int, ...] | None]:
    some = st.sets(st.integers(low, high), min_size=1, max_size=3).map(lambda found: tuple(sorted(found)))
    return st.none() | some


LINES = st.builds(Line, values(0, 59), values(0, 4) | values(0, 23), values(1, 28), values(0, 6))


@pytest.mark.promise("R11-a")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("expression", TABLE)
def test_time_skipped_or_repeated_by_the_clock_comes_once(expression: str, change: str) -> None:
    """Skipped times come at the first moment after the gap, repeated ones once; intervals follow the clock as it runs."""
    zone, moment = CHANGES[change]
    first, last = at(moment) - HOURS, at(moment) + HOURS

    times = takewhile(lambda time: time < last, read_cron(expression, zone).times(first - timedelta(seconds=1)))

    found = [time.astimezone(ZoneInfo(zone)).strftime("%H:%M%z")[:8] for time in times]
    assert found == TABLE[expression][list(CHANGES).index(change)].split()


@pytest.mark.promise("R11-a")
@given(line=LINES, zone=st.sampled_from(ZONES), change=st.sampled_from(list(CHANGES)), shift=st.integers(-3_000, 600))
def test_times_of_any_expression_follow_the_plain_rule(line: Line, zone: str, change: str, shift: int) -> None:
    """Whatever the line, the zone and the moment from which it is asked, over the changes of the clock."""
    start = at(CHANGES[change][1]) + timedelta(minutes=shift)
    end = start + timedelta(days=3)

    found = [*takewhile(lambda time: time <= end, read_cron(line.text, zone).times(start))]

    assert found == plain_times(line, zone, start, end)


@given(line=LINES, zone=st.sampled_from(ZONES), change=st.sampled_from(list(CHANGES)))
def test_times_one_by_one_are_the_times_together(line: Line, zone: str, change: str) -> None:
    """Asking from each time for the next one meets the same times: nothing hangs on where an iteration began."""
    times = CronTimes(line.text, zone)
    start = at(CHANGES[change][1]) - timedelta(hours=30)
    together = [time for time, _ in zip(times.times(start), range(30), strict=False)]

    moment, alone = start, []
    for _ in together:
        following = times.after(moment)
        assert following is not None
        moment = following
        alone.append(moment)

    assert alone == together


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("* * * * * *", "got 6 in"),
        ("0 9 * *", "got 4 in"),
        ("", "got 0 in"),
        ("@daily", "write '0 0 * * *'"),
        ("@reboot", "5 fields"),
        ("60 * * * *", "minute of cron must be 0-59"),
        ("* 24 * * *", "hour of cron must be 0-23"),
        ("* * 0 * *", "day-of-month of cron must be 1-31"),
        ("* * * JANUARY *", "month of cron must be 1-12 or JAN-DEC"),
        ("* * * * 8", "day-of-week of cron must be 0-7 or SUN-SAT"),
        ("*/0 * * * *", "got '*/0'"),
        ("0 0 30 2 *", "never comes"),
        ("0 0 31 4,6 *", "never comes"),
        ("*" * 300, "at most 200 characters"),
        (7, "got 7"),
    ],
)
def test_unusable_expression_is_refused_with_its_field(expression: object, part: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_cron(expression, "UTC")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_leap_day_comes_and_the_last_weekday_too() -> None:
    assert read_cron("0 0 29 2 *", "UTC").after(at("2026-01-01")) == at("2028-02-29")
    assert read_cron("0 0 LW * *", "UTC").after(at("2026-01-01")) == at("2026-01-30")
    assert read_cron("0 0 L feb *", "UTC").after(at("2026-01-01")) == at("2026-02-28")
    assert read_cron("0 0 * * MON#2", "UTC").after(at("2026-01-01")) == at("2026-01-12")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "Europe", "Europe/Berlin\0", None, 3])
def test_unknown_zone_is_refused_by_name(zone: object) -> None:
    with pytest.raises(UsageError, match="zone"):
        read_zone(zone)


def test_time_without_an_offset_is_of_the_zone() -> None:
    """A time that the clock skips is the first moment after the gap, here too."""
    assert read_time("2026-03-29T02:30", "Europe/Berlin") == at("2026-03-29T01:00")
    assert read_time("2026-03-28T09:00:00.5", "Europe/Berlin") == at("2026-03-28T08:00")
    assert read_time("2026-03-28T09:00+05:00", "Europe/Berlin") == at("2026-03-28T04:00")
    with pytest.raises(UsageError, match="at must be a date and time"):
        read_time("tomorrow", "UTC")
    with pytest.raises(UsageError, match="at must be a date and time"):
        read_time("0001-01-01T00:00+14:00", "UTC")

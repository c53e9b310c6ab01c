"""Which runs may be removed: whatever is in doubt stays, and every run gets its reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import SettingsError, UsageError
from greenroom.core.validation import read_settings
from greenroom.store import RetentionSettings, StoredRun, decide_retention

DAY_S = 24 * 3600.0
NOW_S = 100 * DAY_S

SETTINGS = st.builds(
    RetentionSettings,
    cleanup_period_days=st.integers(1, 60),
    max_runs_bytes=st.none() | st.integers(1, 500),
    keep_newest=st.integers(0, 3),
)
RUNS = st.lists(
    st.builds(
        StoredRun,
        id=st.text("abcdef", min_size=1, max_size=4),
        size_bytes=st.integers(0, 200),
        changed_s=st.floats(0, 110 * DAY_S),
        doubt=st.sampled_from(["", "", "", "in doubt"]),
    ),
    unique_by=lambda run: run.id,
)


def run(name: str, *, days_ago: float, size_bytes: int = 10, doubt: str = "") -> StoredRun:
    return StoredRun(id=name, size_bytes=size_bytes, changed_s=NOW_S - days_ago * DAY_S, doubt=doubt)


def due(runs: list[StoredRun], settings: RetentionSettings) -> list[str]:
    return [one.run.id for one in decide_retention(runs, settings, now_s=NOW_S) if one.is_due]


@given(RUNS, SETTINGS)
def test_only_what_is_too_old_or_too_much_goes_and_never_what_is_in_doubt(
    runs: list[StoredRun], settings: RetentionSettings
) -> None:
    verdicts = decide_retention(runs, settings, now_s=NOW_S)

    assert sorted(verdict.run.id for verdict in verdicts) == sorted(each_run.id for each_run in runs)
    assert all(verdict.why for verdict in verdicts)
    gone = [verdict.run for verdict in verdicts if verdict.is_due]
    kept = [verdict.run for verdict in verdicts if not verdict.is_due]
    assert not any(one.doubt or one.changed_s > NOW_S + 3600 for one in gone)
    newest = sorted(runs, key=lambda one: (one.changed_s, one.id))[max(0, len(runs) - settings.keep_newest) :]
    assert not set(newest) & set(gone)
    left_bytes = sum(one.size_bytes for one in kept)
    limit = settings.max_runs_bytes
    for one in gone:
        is_old = NOW_S - one.changed_s > settings.cleanup_period_days * DAY_S
        assert is_old or (limit is not None and left_bytes + sum(other.size_bytes for other in gone) > limit)
    free = [one for one in kept if not one.doubt and one not in newest and one.changed_s <= NOW_S + 3600]
    assert not any(NOW_S - one.changed_s > settings.cleanup_period_days * DAY_S for one in free)
    assert limit is None or left_bytes <= limit or not free


def test_runs_go_by_their_age_and_the_newest_stays() -> None:
    runs = [run("old", days_ago=31), run("young", days_ago=29), run("older", days_ago=90)]

    assert due(runs, RetentionSettings()) == ["older", "old"]
    assert due(runs[:1], RetentionSettings()) == []
    assert due(runs[:1], RetentionSettings(keep_newest=0)) == ["old"]


def test_the_oldest_go_until_the_rest_fits() -> None:
    runs = [run(str(days), days_ago=days) for days in (1, 2, 3, 4)]

    assert due(runs, RetentionSettings(max_runs_bytes=25)) == ["4", "3"]
    assert due([*runs, run("?", days_ago=9, doubt="in doubt")], RetentionSettings(max_runs_bytes=25)) == ["4", "3", "2"]


@pytest.mark.parametrize(
    "values", [{"cleanup_period_days": 0}, {"max_runs_bytes": 0}, {"keep_newest": -1}, {"cleanup_days": 3}]
)
def test_a_setting_that_makes_no_sense_is_refused(values: dict[str, int]) -> None:
    """A period of 0 is an error, not a wish to remove everything."""
    with pytest.raises((SettingsError, UsageError)):
        read_settings(RetentionSettings, values, source="settings.json")

"""Moments: a jump to any event gives what folding from the beginning gives."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.reading import events_of_a_crowd
from greenroom.session import FOLDS
from greenroom.trace import Entry, World, fold
from greenroom.trace._moments import Moments
from tests.trace.journals import journals


@given(journals(), st.lists(st.integers(-2, 40), max_size=12), st.sampled_from([1, 10_000, 10**9]))
def test_a_moment_equals_the_fold_of_the_events_before_it(
    entries: list[Entry], jumps: list[int], max_bytes: int
) -> None:
    moments = Moments(lambda begin, end: entries[begin:end], World(FOLDS), spacing=8, max_bytes=max_bytes)
    for jump in jumps:
        count = min(jump, len(entries))

        assert moments.at(count) == fold(entries[: max(0, count)], FOLDS)


@given(journals(), st.integers(0, 25), st.integers(0, 25))
def test_a_run_that_grows_has_the_same_moments(entries: list[Entry], known: int, count: int) -> None:
    moments = Moments(lambda begin, end: entries[begin:end], World(FOLDS), spacing=8)
    for known_now in (min(known, len(entries)), len(entries)):
        while moments.fold_on(known_now):
            pass

        assert moments.folded == known_now
        assert moments.at(min(count, known_now)) == fold(entries[: min(count, known_now)], FOLDS)


def test_a_moment_is_its_callers() -> None:
    entries = _crowd(50)
    moments = Moments(lambda begin, end: entries[begin:end], World(FOLDS), spacing=16)
    for count in (40, 50, 32, 40):
        moments.at(count).apply(entries[-1])

        assert moments.at(count) == fold(entries[:count], FOLDS)


@settings(max_examples=5)
@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=20))
def test_a_jump_folds_at_most_one_spacing_and_a_step_back_an_eighth(jumps: list[int]) -> None:
    entries, spacing = _crowd(3_000), 256
    world: Any = _Counting()
    moments = Moments(lambda begin, end: entries[begin:end], world, spacing=spacing)
    while moments.fold_on(len(entries)):
        pass
    for jump in jumps:
        _Counting.applied = 0
        moments.at(jump)
        assert _Counting.applied < spacing
        _Counting.applied = 0
        moments.at(max(jump - 1, jump // spacing * spacing))
        assert _Counting.applied < spacing // 8


def test_the_memory_of_snapshots_is_bounded() -> None:
    entries = _crowd(3_000)
    moments = Moments(lambda begin, end: entries[begin:end], World(FOLDS), spacing=8, max_bytes=20_000)
    while moments.fold_on(len(entries)):
        pass

    assert moments.spacing > 8
    assert sum(moments._sizes) <= 20_000
    assert moments.at(1_777) == fold(entries[:1_777], FOLDS)


class _Counting:
    """A state that counts what is applied to it and its copies."""

    applied = 0

    def apply(self, entry: Entry) -> None:
        del entry
        _Counting.applied += 1

    def copy(self) -> _Counting:
        return _Counting()

    def copied_bytes(self) -> int:
        return 100


def _crowd(count: int) -> list[Entry]:
    events = list(events_of_a_crowd(count, 3))[:count]
    return [Entry(seq, seq / 8, event.kind, event) for seq, event in enumerate(events, start=1)]

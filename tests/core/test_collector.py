"""The collector's setting: what it changes, and that it is as before afterwards."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from greenroom.core import UsageError, calm_collector

pytestmark = pytest.mark.slow  # each lets the collector look at all that the tests hold

FREEZE_COUNT = gc.get_freeze_count
"""Imported while tests are collected, before conftest.py takes a short cut."""


class Knot:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take back what conftest.py has frozen, and its short cut, for one test."""
    monkeypatch.setattr(gc, "get_freeze_count", FREEZE_COUNT)
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_it_is_as_before_afterwards_also_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), calm_collector(1_234):
        assert gc.get_threshold() == (1_234, *before[1:])
        assert gc.get_freeze_count() > 0
        raise ZeroDivisionError
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("nothing_frozen")
def test_what_the_program_has_frozen_itself_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with calm_collector():
        pass
    assert gc.get_freeze_count() >= frozen


def test_circles_are_still_freed() -> None:
    with calm_collector(100):
        gone = weakref.ref(Knot())
        keep: list[list[int]] = [[] for _ in range(1_000)]
        assert gone() is None
        assert keep


@pytest.mark.usefixtures("nothing_frozen")
def test_what_has_survived_a_look_is_not_looked_at_again_within_the_block() -> None:
    with calm_collector(100, looks_once=True):
        kept, frozen = [Knot() for _ in range(1_000)], gc.get_freeze_count()
        seen = weakref.ref(kept[0])
        more: list[list[int]] = [[] for _ in range(1_000)]
        assert gc.get_freeze_count() > frozen
        del kept
        gc.collect()
        assert seen() is not None
        assert more
    gc.collect()
    assert seen() is None
    assert gc.get_freeze_count() == 0


def test_it_is_one_for_the_process() -> None:
    with calm_collector(), pytest.raises(UsageError, match="already open"), calm_collector():
        pass
    with calm_collector():
        pass


def test_a_threshold_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"), calm_collector(0):
        pass

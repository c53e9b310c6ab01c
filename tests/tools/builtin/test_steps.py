from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest
import trio

from greenroom.core.ports import InlineBlocking
from greenroom.tools.builtin._steps import STEP_UNITS, Work, in_steps
from tests.tools.calls import context

P = ParamSpec("P")
T = TypeVar("T")


class CountingBlocking:
    """Counts the calls, and cancels a scope at one of them."""

    def __init__(self, cancel_at: int = 0) -> None:
        self.calls = 0
        self.scope = trio.CancelScope()
        self._cancel_at = cancel_at

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        self.calls += 1
        if self.calls == self._cancel_at:
            self.scope.cancel()
        return await InlineBlocking().run(function, *args, **kwargs)


class Piece:
    """Work of so many pieces that remembers whether it was closed."""

    def __init__(self, pieces: float, units: int, error: Exception | None = None) -> None:
        self.done = 0
        self.is_closed = False
        self._pieces, self._units, self._error = pieces, units, error

    def work(self) -> Work[str]:
        try:
            while self.done < self._pieces:
                self.done += 1
                yield self._units
            if self._error:
                raise self._error
            return "result"
        finally:
            self.is_closed = True


async def test_small_pieces_share_a_step_and_large_ones_have_their_own(tmp_path: Path) -> None:
    for units, calls in ((STEP_UNITS, 11), (STEP_UNITS // 4, 3), (1, 1)):
        blocking = CountingBlocking()

        assert await in_steps(context(tmp_path, blocking=blocking), Piece(10, units).work()) == "result"
        assert blocking.calls == calls


async def test_a_cancelled_call_ends_after_the_step_and_closes_its_work(tmp_path: Path) -> None:
    blocking = CountingBlocking(cancel_at=3)
    piece = Piece(float("inf"), STEP_UNITS)

    with blocking.scope:
        await in_steps(context(tmp_path, blocking=blocking), piece.work())

    assert blocking.scope.cancelled_caught
    assert piece.is_closed
    assert piece.done == 2


async def test_what_the_work_raises_comes_out(tmp_path: Path) -> None:
    piece = Piece(2, 1, KeyError("x"))

    with pytest.raises(KeyError):
        await in_steps(context(tmp_path), piece.work())
    assert piece.is_closed


async def test_each_step_reports(tmp_path: Path) -> None:
    shown: list[str] = []
    piece = Piece(3, STEP_UNITS)

    await in_steps(context(tmp_path, shown=shown), piece.work(), lambda: f"{piece.done} done")

    assert shown == ["1 done", "2 done", "3 done"]

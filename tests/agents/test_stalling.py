"""Answers that stand still, and what counts as moving."""

from __future__ import annotations

import math
from typing import final

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents._model_request import read_moving
from greenroom.core import ProviderError
from greenroom.models import ModelResponse, Notice, StreamRestarted, TextBlock, Usage, UsageDelta
from greenroom.models._answer_stream import AnswerStream
from greenroom.models._types import Delta, TextDelta

SAID = ModelResponse((TextBlock("so far"),), None, Usage(), "m")
AGAIN = StreamRestarted("overloaded", 2, wait_s=50.0)
TEXT = TextDelta("x")


@final
class Pieces:
    """Gives each delta after so many seconds, and then stands still, or ends."""

    is_holding = False
    so_far = SAID

    def __init__(self, *pieces: tuple[float, Delta | None]) -> None:
        self._left = list(pieces)

    async def next_delta(self) -> Delta | None:
        wait_s, delta = self._left.pop(0)
        await trio.sleep(wait_s)
        return delta

    async def finish(self) -> bool:
        return False

    async def close(self) -> None:
        await trio.lowlevel.checkpoint()


async def read(*pieces: tuple[float, Delta | None], limit_s: float = 20.0) -> list[Notice]:
    heard: list[Notice] = []

    async def hear(notice: Notice) -> None:
        heard.append(notice)
        await trio.lowlevel.checkpoint()

    async with AnswerStream(Pieces(*pieces)) as stream:
        assert await read_moving(stream, hear, limit_s=limit_s) is SAID
    return heard


async def test_an_answer_that_moves_may_take_as_long_as_it_likes(autojump_clock: MockClock) -> None:
    assert await read(*[(19.0, TEXT)] * 50, (19.0, None)) == []
    assert trio.current_time() == pytest.approx(51 * 19, abs=1)


async def test_the_wait_before_another_attempt_is_no_standing_still(autojump_clock: MockClock) -> None:
    assert await read((1.0, AGAIN), (65.0, TEXT), (19.0, None)) == [AGAIN]


@pytest.mark.parametrize(
    "pieces",
    [
        [(21.0, TEXT)],
        [(1.0, TEXT), (21.0, None)],
        [(15.0, UsageDelta(Usage())), (15.0, TEXT)],
        [(15.0, StreamRestarted("timeout", 2)), (15.0, TEXT)],
        [(1.0, AGAIN), (71.0, TEXT)],
    ],
)
async def test_an_answer_that_stands_still_is_given_up_for_good(
    pieces: list[tuple[float, Delta | None]], autojump_clock: MockClock
) -> None:
    """Neither counts of tokens nor another attempt begin the time anew."""
    with pytest.raises(ProviderError) as caught:
        await read(*pieces)

    assert (caught.value.kind, caught.value.is_retryable) == ("timeout", False)


async def test_a_cancel_is_a_cancel(autojump_clock: MockClock) -> None:
    with trio.move_on_after(5) as scope:
        await read((math.inf, None))
    assert scope.cancelled_caught

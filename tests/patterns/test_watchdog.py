"""The watchdog names the code that blocks the event loop, while it does; time is what the test says it is."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Behavior, Context
from greenroom.core import UsageError
from greenroom.patterns import StepBlocked, StepWatch, watch_steps
from tests.actors.situations import events, runtime

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

pytestmark = pytest.mark.usefixtures("virtual_time")


class Clock:
    """Stands still unless it is told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Blocks(Behavior[Any]):
    async def on_message(self, message: Callable[[], None], ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        message()


class BlocksPlainly(Behavior[Any]):
    def on_message(self, message: Callable[[], None], ctx: Context) -> None:
        message()


def looks(watch: StepWatch) -> list[bool]:
    """Make another thread look twice, as the watchdog's own would, while this one is stuck here."""
    found: list[bool] = []

    def look() -> None:
        found.extend([watch.look(), watch.look()])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found


@pytest.mark.parametrize("behavior", [Blocks, BlocksPlainly])
async def test_code_that_blocks_is_named_while_it_does_and_on_record_when_it_is_over(
    behavior: Any, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    found: list[Any] = []
    async with runtime() as opened:
        with watch_steps(opened, limit_s=0.5, clock=clock, has_thread=False) as watch:
            actor = await opened.spawn(behavior, name="busy")
            other = await opened.spawn(behavior, name="other")

            def block() -> None:
                clock.now_s += 0.5
                found.append(looks(watch))
                clock.now_s += 0.5
                found.append(looks(watch))
                found.append(len(events(opened, StepBlocked)))
                clock.now_s += 1

            other.tell(lambda: None)
            actor.tell(block)
            other.tell(lambda: None)
            await wait_all_tasks_blocked()
            statistics = watch.statistics()

    assert found == [[False, False], [True, False], 0]
    (blocked,) = events(opened, StepBlocked)
    assert (blocked.who, blocked.seconds) == (actor.id, 2.0)
    assert "threading.py:" in blocked.where
    assert (statistics.slow, statistics.longest_s, statistics.last) == (1, 2.0, blocked)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "busy blocks the event loop" in caplog.text


async def test_a_slow_step_that_nobody_saw_is_on_record_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    async with runtime() as opened:
        with watch_steps(opened, limit_s=0.5, clock=clock, has_thread=False) as watch:
            actor = await opened.spawn(Blocks)

            def block() -> None:
                clock.now_s += 0.75

            for _ in range(3):
                actor.tell(block)
            await wait_all_tasks_blocked()
            assert not watch.look()
            assert watch.statistics().slow == 3
            assert repr(watch) == "<StepWatch above 0.5 s: 3 slow steps>"
        actor.tell(block)
        await wait_all_tasks_blocked()

    assert [(event.who, event.where) for event in events(opened, StepBlocked)] == [(actor.id, "")] * 3
    assert len(caplog.records) == 3


async def test_what_the_host_blocks_is_nobodys() -> None:
    clock = Clock()
    async with runtime() as opened:
        with watch_steps(opened, limit_s=0.5, clock=clock, has_thread=False) as watch:
            await trio.lowlevel.checkpoint()
            clock.now_s += 1
            assert looks(watch) == [True, False]
            await trio.lowlevel.checkpoint()

    (blocked,) = events(opened, StepBlocked)
    assert (blocked.who, blocked.actor) == ("", "")
    assert blocked.task


async def test_steps_below_the_limit_are_nobodys_business(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    async with runtime() as opened:
        with watch_steps(opened, limit_s=0.5, clock=clock, has_thread=False) as watch:
            actor = await opened.spawn(Blocks)

            def nearly() -> None:
                clock.now_s += 0.5

            for _ in range(9):
                actor.tell(nearly)
            await wait_all_tasks_blocked()

            assert watch.statistics().slow == 0
    assert not events(opened, StepBlocked)
    assert not caplog.records


async def test_watchdogs_of_one_loop_share_its_clock_readings_and_keep_their_own_limits() -> None:
    """A hundred open sessions watch one loop: a step costs what it costs for one of them."""
    readings = 0

    class Counting(Clock):
        def __call__(self) -> float:
            nonlocal readings
            readings += 1
            return super().__call__()

    clock = Counting()
    async with runtime() as opened:

        def watching(limit_s: float) -> AbstractContextManager[StepWatch]:
            return watch_steps(opened, limit_s=limit_s, clock=clock, has_thread=False, is_logged=False)

        with watching(0.5) as patient, watching(0.2) as strict:
            await trio.lowlevel.checkpoint()
            before = readings
            await trio.lowlevel.cancel_shielded_checkpoint()
            assert readings - before == 2
            clock.now_s += 0.3
            with watching(0.1) as late:  # in the middle of a step
                await trio.lowlevel.checkpoint()
                clock.now_s += 1
                await trio.lowlevel.checkpoint()
            counted = [watch.statistics().slow for watch in (patient, strict, late)]

        before = readings
        await trio.lowlevel.checkpoint()

    assert counted == [1, 2, 1]
    assert readings == before


async def test_the_thread_sees_a_step_that_is_stuck_and_ends_with_the_block() -> None:
    """The handler goes on only because its own report has come."""
    reported = threading.Event()

    class Hears(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "stuck blocks" in record.getMessage():  # on a busy machine other steps are slow as well
                reported.set()

    log, hears = logging.getLogger("greenroom"), Hears()
    threads = threading.active_count()
    log.addHandler(hears)
    try:
        async with runtime() as opened:
            with watch_steps(opened, limit_s=0.002):
                assert threading.active_count() == threads + 1
                actor = await opened.spawn(Blocks, name="stuck")
                heard: list[bool] = []
                actor.tell(lambda: heard.append(reported.wait(60)))
                await wait_all_tasks_blocked()
            assert threading.active_count() == threads
    finally:
        log.removeHandler(hears)

    assert heard == [True]
    assert any(event.who == actor.id and "threading.py:" in event.where for event in events(opened, StepBlocked))


@pytest.mark.parametrize("limit_s", [0.0, -1.0, float("nan")])
async def test_a_limit_that_makes_no_sense_is_refused(limit_s: float) -> None:
    async with runtime() as opened:
        with pytest.raises(UsageError), watch_steps(opened, limit_s=limit_s):
            raise AssertionError

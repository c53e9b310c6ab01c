"""The wheel that holds every deadline of a runtime."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.testing import run_virtual
from greenroom.waiting import Timers

TICK_S = 1 / 64


@pytest.mark.promise("I-51")
@given(st.lists(st.floats(0, 100), max_size=20), st.integers(0, 3))
def test_nothing_fires_early_and_everything_within_a_tick(delays: list[float], seed: int) -> None:
    fired: list[tuple[int, float]] = []

    async def scenario() -> None:
        timers = Timers(trio.current_time)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(timers.run)
            for number, delay_s in enumerate(delays):
                timers.after(delay_s, lambda number=number: fired.append((number, trio.current_time())))  # type: ignore[misc]
            assert len(timers) == len(delays)
            await trio.sleep(101)
            assert len(timers) == 0
            nursery.cancel_scope.cancel()

    run_virtual(scenario, choices=seed)

    assert sorted(number for number, _ in fired) == list(range(len(delays)))
    for number, at in fired:
        assert delays[number] <= at <= delays[number] + TICK_S


@pytest.mark.promise("I-46")
def test_what_falls_due_together_fires_in_the_order_in_which_it_was_asked_for() -> None:
    fired: list[int] = []

    async def scenario() -> None:
        timers = Timers(trio.current_time)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(timers.run)
            for number in range(20):
                timers.after(1.0, lambda number=number: fired.append(number))  # type: ignore[misc]
            await trio.sleep(2)
            nursery.cancel_scope.cancel()

    for seed in range(5):
        fired.clear()
        run_virtual(scenario, choices=seed)
        assert fired == list(range(20))


def test_a_withdrawn_deadline_does_not_fire_and_may_be_withdrawn_by_a_neighbour() -> None:
    fired: list[str] = []

    async def scenario() -> None:
        timers = Timers(trio.current_time)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(timers.run)
            first = timers.after(1.0, lambda: fired.append("first"))

            def withdraw() -> None:
                fired.append("second")
                third.cancel()
                third.cancel()

            timers.after(1.0, withdraw)
            third = timers.after(1.0, lambda: fired.append("third"))
            first.cancel()
            await trio.sleep(2)
            timers.after(1.0, lambda: fired.append("later"))
            assert len(timers) == 1
            await trio.sleep(2)
            nursery.cancel_scope.cancel()

    run_virtual(scenario)

    assert fired == ["second", "later"]


def test_an_earlier_deadline_overtakes_one_that_is_slept_for() -> None:
    fired: list[float] = []

    async def scenario() -> None:
        timers = Timers(trio.current_time)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(timers.run)
            timers.after(50, lambda: fired.append(trio.current_time()))
            await wait_all_tasks_blocked()
            timers.after(2, lambda: fired.append(trio.current_time()))
            await trio.sleep(60)
            nursery.cancel_scope.cancel()

    run_virtual(scenario)

    assert fired == [2, 50]


def test_deadlines_that_are_withdrawn_at_once_wake_the_wheel_once_and_not_each() -> None:
    """As the limit of every start is."""

    class Steps(trio.abc.Instrument):
        count = 0

        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            self.count += task.name == "wheel"

    steps = Steps()

    async def scenario() -> None:
        timers = Timers(trio.current_time)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(timers.run, name="wheel")
            await wait_all_tasks_blocked()
            trio.lowlevel.add_instrument(steps)
            for _ in range(100):
                timers.after(30, lambda: None).cancel()
                await trio.sleep(0.1)
            assert len(timers) == 0
            await trio.sleep(100)
            nursery.cancel_scope.cancel()

    run_virtual(scenario)

    assert steps.count <= 4  # the first deadline, its time, and the end

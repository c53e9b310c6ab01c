"""Liveness: what is hot at the end, too long after the faults, or forever."""

from __future__ import annotations

import pytest
import trio

from greenroom.actors import Behavior, Context, TurnBegan, TurnEnded
from greenroom.core import Event, Level, Recorder, point
from greenroom.testing import ExplorationFailed, Faults, Monitor, NotQuiescent, Sim, explore


def not_quiescent(scenario: object, **options: object) -> NotQuiescent:
    with pytest.raises(ExplorationFailed) as caught:
        explore(scenario, strategy="fifo", **options)  # type: ignore[arg-type]
    error = caught.value.__cause__
    assert isinstance(error, NotQuiescent)
    return error


def test_what_became_cold_again_is_fine() -> None:
    async def scenario(sim: Sim) -> None:
        orders = sim.monitor("orders")
        orders.hot("one")
        orders.hot("one")
        orders.cold("one")
        orders.cold("never hot")

    assert explore(scenario, schedules=3).runs == 3


def test_what_is_hot_at_the_end_is_named_with_its_monitor_and_since_when() -> None:
    async def scenario(sim: Sim) -> None:
        orders = sim.monitor("orders")
        orders.hot("done")
        await trio.sleep(2)
        orders.hot("lost")
        step = sim.steps
        await trio.sleep(2)
        orders.hot("lost")
        orders.cold("done")
        assert repr(orders) == "<Monitor 'orders': 1 hot>"
        assert sim.hot()[0].step == step

    error = not_quiescent(scenario)

    (hot,) = error.hot
    assert (hot.monitor, hot.what, hot.at_s) == ("orders", "lost", 2)
    assert "'lost' of monitor 'orders' is hot since step" in str(error)


def test_a_monitor_reads_events_and_sees_a_turn_that_never_ends() -> None:
    class Stuck(Behavior[str]):
        journal = Level.TURNS

        async def on_message(self, message: str, ctx: Context) -> None:
            if message == "wait":
                await trio.sleep_forever()

    def turns(monitor: Monitor, event: Event) -> None:
        if isinstance(event, TurnBegan):
            monitor.hot(f"turn {event.turn}")
        elif isinstance(event, TurnEnded):
            monitor.cold(f"turn {event.turn}")

    async def scenario(sim: Sim) -> None:
        sim.monitor("turns", turns)
        async with sim.open_runtime() as runtime:
            actor = await runtime.spawn(Stuck)
            actor.tell("go on")
            actor.tell("wait")
            await actor.wait_ended()

    error = not_quiescent(scenario)

    assert [hot.what for hot in error.hot] == ["turn 2"]  # although the end of the run has ended the turn
    assert "100,000 virtual seconds" in error.why


def test_another_recorder_that_is_followed_is_read_and_part_of_the_journal() -> None:
    def read(monitor: Monitor, event: Event) -> None:
        monitor.hot(event.actor)

    async def scenario(sim: Sim) -> None:
        other = Recorder(trio.current_time)
        other.emit(Event(actor="before"))
        before = sim.monitor("made before", read)
        sim.follow(other)
        after = sim.monitor("made after", read)
        await point("any")
        other.emit(Event(actor="seen", inc=sim.steps))
        for monitor in (before, after):
            assert [hot.what for hot in monitor.waiting()] == ["seen"]
            monitor.cold("seen")

    done = explore(scenario, strategy="dfs(9)")

    assert (done.runs, done.journals) == (5, 4)  # to be held is to yield once here, where nobody else runs


def test_a_run_that_goes_on_forever_is_ended_with_what_was_hot_then() -> None:
    async def scenario(sim: Sim) -> None:
        work = sim.monitor("work")
        work.hot("item")
        try:
            while True:
                await trio.lowlevel.checkpoint()
        finally:
            work.cold("item")

    error = not_quiescent(scenario, max_steps=500)

    assert [hot.what for hot in error.hot] == ["item"]
    assert "step 50" in error.why


async def retry_until_it_works(sim: Sim) -> None:
    """Do a thing again until it did not fail, and forget that a failure may be the last one."""
    while True:
        try:
            await point("sent")
        except OSError:
            await trio.lowlevel.checkpoint()
        else:
            return


async def retry_while_it_rains(sim: Sim) -> None:
    """The same, but once there was a failure it never believes in success."""
    is_broken = False
    while True:
        try:
            await point("sent")
        except OSError:
            is_broken = True
        if not is_broken:
            return
        await trio.lowlevel.checkpoint()


@pytest.mark.promise("I-52")
def test_after_the_faults_have_stopped_everything_comes_to_rest_within_a_bound() -> None:
    faults = Faults(checkpoints=0, errors={"sent": OSError}, most=1_000)

    explore(retry_until_it_works, faults=faults, quiet_after=40, quiet_within=10)
    with pytest.raises(ExplorationFailed) as caught:
        explore(retry_while_it_rains, faults=faults, quiet_after=40, quiet_within=100)

    assert caught.value.choices == (1,)
    assert isinstance(caught.value.__cause__, NotQuiescent)
    assert "at step 14" in caught.value.__cause__.why
    assert "long after the faults have stopped" in caught.value.__cause__.why


def test_a_run_without_faults_is_not_bounded_by_their_end() -> None:
    explore(retry_until_it_works, faults=Faults(checkpoints=0), quiet_after=None)

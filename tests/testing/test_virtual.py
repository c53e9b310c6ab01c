"""Ports, runs, sweeps and the standing loop of the test kit."""

from __future__ import annotations

from itertools import count

import pytest
import trio

from greenroom.core import Event, Record, actor_id
from greenroom.core.ports import session_id
from greenroom.testing import (
    VIRTUAL_START,
    CancelAt,
    Diverged,
    VirtualLoop,
    cancel_sweep,
    double_run,
    record_lines,
    run_virtual,
    virtual_ports,
)


async def sleep_for(seconds: float) -> float:
    await trio.sleep(seconds)
    return trio.current_time()


# --- ports and runs ---------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_ids_and_chance() -> None:
    def drawn(seed: int) -> tuple[str, float, str]:
        ports = virtual_ports(seed)
        return actor_id(ports.ids), ports.chance.random(), session_id(ports.ids, VIRTUAL_START)

    assert drawn(1) == drawn(1) != drawn(2)


def test_the_wall_clock_moves_with_virtual_time_from_a_fixed_start() -> None:
    async def scenario() -> tuple[float, float, float]:
        ports = virtual_ports()
        now = ports.clock.bind()
        before = (ports.clock.wall() - VIRTUAL_START).total_seconds()
        await trio.sleep(90)
        return before, (ports.clock.wall() - VIRTUAL_START).total_seconds(), now()

    assert run_virtual(scenario).result == (0, 90, 90)


def test_blocking_calls_run_inline_and_no_time_passes() -> None:
    async def scenario() -> tuple[int, float]:
        result = await virtual_ports().blocking.run(sum, [1, 2])
        return result, trio.current_time()

    assert run_virtual(scenario).result == (3, 0)


def test_waiting_costs_nothing() -> None:
    assert run_virtual(sleep_for, 1e6).result == 1e6


# --- twice ------------------------------------------------------------------------------------------------------------


def test_two_runs_that_are_the_same_are_returned_once() -> None:
    async def scenario() -> list[Record]:
        await trio.sleep(1)
        return [(1, trio.current_time(), Event, "a", 1, 0)]

    assert double_run(scenario).result == [(1, 1.0, Event, "a", 1, 0)]
    assert record_lines(double_run(scenario).result) == ["1 1.0 Event ('a', 1, 0)"]


@pytest.mark.parametrize("is_shorter", [False, True])
@pytest.mark.promise("I-46")
def test_the_first_difference_of_two_runs_is_named(is_shorter: bool) -> None:
    numbers = count()

    async def scenario() -> list[Record]:
        number = next(numbers)
        rest: list[Record] = [(2, 0.0, Event, f"run {number}", 1, 0)]
        return [(1, 0.0, Event, "a", 1, 0), *(rest[number:] if is_shorter else rest)]

    with pytest.raises(Diverged) as caught:
        double_run(scenario)

    assert caught.value.index == 1
    assert "run 0" in caught.value.first
    assert ("run 1" in caught.value.second) is not is_shorter


def test_a_difference_in_the_choices_is_one_too() -> None:
    numbers = count()

    async def scenario() -> list[Record]:
        async with trio.open_nursery() as nursery:
            for _ in range(3 * next(numbers)):
                nursery.start_soon(trio.sleep, 0)
        return []

    with pytest.raises(Diverged):
        double_run(scenario)


# --- sweeps -----------------------------------------------------------------------------------------------------------


async def three_steps(at: CancelAt) -> int:
    done = 0
    with trio.CancelScope() as scope:
        at.aim(scope.cancel)
        for _ in range(3):
            await trio.lowlevel.checkpoint()
            done += 1
    at.rest()
    return done


def test_a_sweep_strikes_before_every_step_once() -> None:
    runs = cancel_sweep(three_steps)

    assert runs[0].steps == ()
    assert runs[0].result == 3
    struck = [run.steps[0] for run in runs[1:]]
    assert struck == list(range(struck[0], struck[-1] + 1))
    assert sorted({run.result for run in runs[1:]}) == [0, 1, 2]


def test_a_sweep_of_pairs_strikes_at_every_two_steps() -> None:
    async def scenario(at: CancelAt) -> list[str]:
        log: list[str] = []
        at.aim(lambda: log.append("strike"))
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        at.rest()
        return log

    runs = cancel_sweep(scenario, pairs=True)

    assert {len(run.result) for run in runs} == {0, 1, 2}
    singles = sum(len(run.steps) == 1 for run in runs)
    assert len(runs) == 1 + singles + singles * (singles - 1) // 2


def test_what_a_run_of_a_sweep_raises_says_which_steps_were_struck() -> None:
    async def scenario(at: CancelAt) -> None:
        if await three_steps(at) == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        cancel_sweep(scenario)

    assert any("struck before the steps (" in note for note in caught.value.__notes__)


def test_what_a_strike_raises_is_not_lost() -> None:
    """Trio would log it, drop the instrument and go on."""

    async def scenario(at: CancelAt) -> None:
        at.aim(lambda: 1 // 0)
        await trio.sleep(1)

    with pytest.raises(ZeroDivisionError):
        cancel_sweep(scenario)


# --- the standing loop ------------------------------------------------------------------------------------------------


def test_nothing_moves_between_two_calls() -> None:
    log: list[float] = []

    async def background() -> None:
        log.append(await sleep_for(2))
        log.append(await sleep_for(2))
        log.append(await sleep_for(2))

    with VirtualLoop() as loop:
        loop.start_soon(background)
        assert loop.run(sleep_for, 0) == 0
        loop.settle()
        assert log == []
        loop.advance(1.9)
        assert log == []
        loop.advance(3)
        assert log == [2, 4]
        assert loop.clock.current_time() == pytest.approx(4.9)
        assert repr(loop) == "<VirtualLoop at 4.9 s>"


def test_what_a_call_raises_comes_out_of_it() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with VirtualLoop() as loop, pytest.raises(ZeroDivisionError):
        loop.run(fail)


def test_what_a_background_task_raises_ends_the_run() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    loop = VirtualLoop()
    loop.start_soon(fail)
    with pytest.RaisesGroup(ZeroDivisionError):
        loop.settle()
    loop.close()


def test_closing_gives_the_shielded_their_time_and_can_be_done_twice() -> None:
    log: list[float] = []

    async def stubborn() -> None:
        with trio.CancelScope(shield=True):
            log.append(await sleep_for(100))

    loop = VirtualLoop()
    loop.start_soon(stubborn)
    loop.settle()
    loop.close()
    loop.close()

    assert log == [100]

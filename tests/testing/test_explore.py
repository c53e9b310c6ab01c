"""Exploring: searches, shrinking, what a failure shows, and that it can be repeated."""

from __future__ import annotations

import random
from collections.abc import Generator
from itertools import product

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import Event, UsageError, point
from greenroom.testing import (
    Chooser,
    Diverged,
    ExplorationFailed,
    Faults,
    Search,
    Sim,
    Trail,
    assert_deterministic,
    dfs,
    explore,
    pct,
    replay,
)
from greenroom.testing._scheduler import Picks, replayed
from greenroom.testing._search import search_of
from greenroom.testing._shrink import shrink
from greenroom.testing._sim import Rules, run_sim

WITHOUT_FAULTS = Faults(checkpoints=0)


class Lost(Exception):
    """Money is gone."""


def note(sim: Sim, what: object) -> None:
    sim.recorder.emit(Event(actor=str(what)))


async def three_in_a_row(sim: Sim) -> None:
    """Note in which order three tasks ran: 6 orders."""

    async def run(number: int) -> None:
        note(sim, number)

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(run, number)


async def pay_in_twice(sim: Sim) -> None:
    """Lose money when two tasks read before one of them has written, which takes a wait that only a fault brings."""
    balance = 0

    async def pay() -> None:
        nonlocal balance
        read = balance
        await point("read")
        balance = read + 10

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pay)
        nursery.start_soon(pay)
    if balance != 20:
        raise Lost(balance)


async def last_comes_first(sim: Sim) -> None:
    """Fail when the tasks ran in exactly the opposite order."""
    order: list[int] = []

    async def run(number: int) -> None:
        order.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(run, number)
    if order == [4, 3, 2, 1, 0]:
        raise Lost


# --- searches ---------------------------------------------------------------------------------------------------------


def test_first_in_first_out_is_one_run() -> None:
    done = explore(three_in_a_row, strategy="fifo")

    assert (done.runs, done.journals, done.is_exhaustive) == (1, 1, True)


def test_a_bounded_search_reaches_every_order_once() -> None:
    done = explore(three_in_a_row, strategy=dfs(10), schedules=1_000)

    assert (done.runs, done.journals, done.is_exhaustive) == (6, 6, True)
    assert str(done) == "6 schedules, all there are, 6 distinct journals"


def test_the_bound_leaves_later_choices_at_zero() -> None:
    assert explore(three_in_a_row, strategy=dfs(1), schedules=1_000).journals == 3


def test_a_bounded_search_stops_at_the_number_of_schedules_and_says_that_there_is_more() -> None:
    done = explore(three_in_a_row, strategy=dfs(10), schedules=4)

    assert (done.runs, done.is_exhaustive) == (4, False)


@pytest.mark.parametrize("strategy", ["mixed", "random", pct(1), pct(3)])
def test_chance_reaches_every_order_too(strategy: Search | str) -> None:
    done = explore(three_in_a_row, strategy=strategy, schedules=80)

    assert (done.runs, done.journals, done.is_exhaustive) == (80, 6, False)


def test_more_depth_finds_what_plain_priorities_cannot() -> None:
    """One task has to be first twice and last once; without a change of priorities it is always the same."""

    async def scenario(sim: Sim) -> None:
        order: list[int] = []

        async def run(number: int) -> None:
            for _ in range(4):
                order.append(number)
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, 0)
            nursery.start_soon(run, 1)
        if order == [1, 0, 1, 0, 0, 1, 0, 1]:
            raise Lost

    explore(scenario, strategy=pct(1), schedules=300)
    with pytest.raises(ExplorationFailed):
        explore(scenario, strategy=pct(2), schedules=300)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fifo", "fifo"),
        ("random", "random"),
        ("pct(3)", "pct(3)"),
        ("dfs( 20 )", "dfs(20)"),
        ("mixed", "mixed"),
        ("freezing", "freezing"),
        ("replay([0, 3])", "replay([0, 3])"),
        ("replay(0,3)", "replay([0, 3])"),
        ("replay()", "replay([])"),
    ],
)
def test_a_strategy_can_be_given_as_text(text: str, shown: str) -> None:
    assert str(search_of(text)) == shown


@pytest.mark.parametrize("text", ["", "pct", "pct()", "pct(a)", "dfs(1, 2)", "fifo(1)", "best", "pct(0)", "dfs(0)"])
def test_a_strategy_that_there_is_not_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        explore(three_in_a_row, strategy=text)
    assert "\n" not in str(caught.value)


def test_at_least_one_schedule_is_asked_for() -> None:
    with pytest.raises(UsageError):
        explore(three_in_a_row, schedules=0)


async def test_it_is_called_from_a_plain_function() -> None:
    with pytest.raises(UsageError):
        explore(three_in_a_row)


@pytest.mark.promise("I-46")
@given(seed=st.integers(0, 2**32), strategy=st.sampled_from(["mixed", "random", "pct(2)", "freezing", "dfs(8)"]))
def test_the_same_seed_explores_the_same(seed: int, strategy: str) -> None:
    def explored() -> list[str]:
        seen: list[str] = []

        async def scenario(sim: Sim) -> None:
            await three_in_a_row(sim)
            await point("end")
            seen.append(" ".join(record[3] for record in sim.recorder.latest()))

        explore(scenario, strategy=strategy, seed=seed, schedules=6)
        return seen

    random.seed(seed)  # module state is nothing that it looks at
    first = explored()
    assert explored() == first


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["random", "pct(2)", "dfs(20)"])
def test_a_failure_shows_a_short_list_of_choices_that_repeats_it(strategy: str) -> None:
    with pytest.raises(ExplorationFailed) as caught:
        explore(last_comes_first, strategy=strategy, schedules=5_000, seed=1)

    error = caught.value
    assert error.choices == (4, 3, 2, 1)
    assert (error.strategy, error.seed, error.is_repeatable) == (strategy, 1, True)
    assert isinstance(error.__cause__, Lost)
    assert "strategy=replay([4, 3, 2, 1])" in str(error)
    with pytest.raises(ExplorationFailed) as again:
        explore(last_comes_first, strategy=replay(error.choices))
    assert isinstance(again.value.__cause__, Lost)
    assert (again.value.runs, again.value.shrinks) == (1, 0)


def test_what_happens_at_a_point_is_in_the_same_list() -> None:
    explore(pay_in_twice, faults=WITHOUT_FAULTS)

    with pytest.raises(ExplorationFailed) as caught:
        explore(pay_in_twice)

    assert caught.value.choices == (0, 1)  # the first task first, and one checkpoint at its point
    with pytest.raises(ExplorationFailed):
        explore(pay_in_twice, strategy=replay([0, 1]))


class Three:
    """A search of somebody's own: the milder choices come later, if at all."""

    def __str__(self) -> str:
        return "three"

    def choosers(self, seed: int) -> Generator[Chooser, Trail, None]:
        yield Picks(replayed([3]))


def test_a_simpler_list_that_fails_in_another_way_is_no_answer() -> None:
    async def scenario(sim: Sim) -> None:
        await point("saved")
        if trio.current_time() == 3:
            raise Lost
        if trio.current_time():
            raise ZeroDivisionError

    slow = Faults(checkpoints=0, sleeps_s=(1, 2, 3))
    with pytest.raises(ExplorationFailed) as caught:
        explore(scenario, strategy=Three(), faults=slow)

    assert caught.value.choices == (3,)
    assert caught.value.strategy == "three"
    assert isinstance(caught.value.__cause__, Lost)
    with pytest.raises(ExplorationFailed) as milder:
        explore(scenario, strategy=replay([1]), faults=slow)
    assert isinstance(milder.value.__cause__, ZeroDivisionError)


def test_several_errors_at_once_are_a_failure() -> None:
    async def fail() -> None:
        raise Lost

    async def scenario(sim: Sim) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            nursery.start_soon(fail)

    with pytest.raises(ExplorationFailed) as caught:
        explore(scenario)
    assert caught.value.choices == ()
    assert isinstance(caught.value.__cause__, ExceptionGroup)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_failure_leaves_at_once(error: type[BaseException]) -> None:
    runs: list[int] = []

    async def scenario(sim: Sim) -> None:
        runs.append(1)
        raise error

    with pytest.raises(error):
        explore(scenario)
    assert runs == [1]


def test_a_failure_that_does_not_come_back_is_said_to_be_so() -> None:
    fails = iter([True])

    async def scenario(sim: Sim) -> None:
        if next(fails, False):
            raise Lost

    with pytest.raises(ExplorationFailed) as caught:
        explore(scenario)
    assert caught.value.is_repeatable is False
    assert isinstance(caught.value.__cause__, Lost)
    assert "assert_deterministic" in str(caught.value)


# --- shrinking --------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 5), max_size=12), st.dictionaries(st.integers(0, 11), st.integers(1, 5), max_size=3))
def test_shrinking_leaves_exactly_what_is_needed(noise: list[int], needed: dict[int, int]) -> None:
    """Where some places have to be at least so much, and nothing else counts, nothing else is left."""
    length = max([len(noise), *(place + 1 for place in needed)])
    start = [max(value, needed.get(place, 0)) for place, value in enumerate(noise + [0] * (length - len(noise)))]

    def fails(choices: tuple[int, ...]) -> bool:
        return all(place < len(choices) and choices[place] >= least for place, least in needed.items())

    shortest, _ = shrink(start, fails, most=10_000)

    assert shortest == tuple(needed.get(place, 0) for place in range(max(needed, default=-1) + 1))


@given(st.lists(st.integers(0, 3), max_size=10), st.integers(0, 30))
def test_shrinking_never_ends_with_a_list_that_does_not_fail(choices: list[int], most: int) -> None:
    chance = random.Random(repr(choices))
    answers: dict[tuple[int, ...], bool] = {}

    def fails(candidate: tuple[int, ...]) -> bool:
        return answers.setdefault(candidate, chance.random() < 0.4)

    shortest, runs = shrink(choices, fails, most=most)

    assert runs == len(answers) <= most
    assert answers.get(shortest, True)
    assert len(shortest) <= len(choices)


# --- fault points -----------------------------------------------------------------------------------------------------


def happened(faults: Faults, *, aims: bool = False, quiet_after: int | None = None) -> set[str]:
    """Return what can happen at a point: run it with every choice that there is."""
    seen: set[str] = set()

    async def scenario(sim: Sim) -> None:
        for _ in range(2 * (quiet_after is not None)):
            await trio.lowlevel.checkpoint()
        steps, began = sim.steps, trio.current_time()
        with trio.CancelScope() as scope:
            if aims:
                sim.aim(scope.cancel, at="saved")
            try:
                await point("saved")
            except OSError:
                seen.add("OSError")
            else:
                seconds = trio.current_time() - began
                seen.add(f"slept {seconds:g} s" if seconds else f"after {sim.steps - steps} steps")
        if scope.cancelled_caught:
            seen.add("cancelled")

    explore(scenario, faults=faults, strategy=dfs(5), schedules=1_000, quiet_after=quiet_after)
    return seen


def test_by_default_a_point_lets_others_run_up_to_three_times() -> None:
    seen = happened(Faults())

    assert "after 0 steps" in seen
    assert len(seen) == 4


def test_a_point_sleeps_fails_and_is_cancelled_where_the_test_says_so() -> None:
    faults = Faults(checkpoints=0, sleeps_s=(5, 60), errors={"saved": OSError, "other": ValueError})

    seen = happened(faults, aims=True)

    assert {"after 0 steps", "slept 5 s", "slept 60 s", "OSError", "cancelled"} == seen


def test_faults_stop_at_the_step_that_is_given() -> None:
    assert happened(Faults(), quiet_after=1) == {"after 0 steps"}


def test_there_are_so_many_errors_in_a_run_at_most() -> None:
    raised: set[int] = set()

    async def scenario(sim: Sim) -> None:
        count = 0
        for _ in range(4):
            try:
                await point("saved")
            except OSError:
                count += 1
        raised.add(count)

    done = explore(
        scenario, faults=Faults(checkpoints=0, errors={"saved": OSError}, most=2), strategy=dfs(9), schedules=99
    )

    assert raised == {0, 1, 2}
    assert done.passed == {"saved": 4 * done.runs}


@pytest.mark.parametrize("bad", [{"checkpoints": -1}, {"most": -1}])
def test_fewer_than_no_faults_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Faults(**bad)  # type: ignore[arg-type]


def test_points_of_actors_are_armed_too() -> None:
    from greenroom.actors import Behavior, Context

    class Waits(Behavior[str]):
        async def on_message(self, message: str, ctx: Context) -> None:
            await point("in a turn")

    async def scenario(sim: Sim) -> None:
        async with sim.open_runtime() as runtime:
            actor = await runtime.spawn(Waits)
            actor.tell("go")
            await trio.sleep(1)
            assert sim.passed == {"in a turn": 1}

    assert explore(scenario, schedules=5).passed == {"in a turn": 5}


# --- determinism ------------------------------------------------------------------------------------------------------


@pytest.mark.promise("I-46")
@pytest.mark.parametrize("choices", [None, 3, [0, 1, 2]])
def test_what_only_the_choices_decide_is_deterministic(choices: int | list[int] | None) -> None:
    trail = assert_deterministic(pay_in_twice if choices is None else three_in_a_row, choices=choices)

    assert len(trail.choices) == len(trail.widths)


@pytest.mark.promise("I-46")
def test_the_first_difference_is_shown_with_what_came_before_it() -> None:
    numbers = iter(range(9))

    async def scenario(sim: Sim) -> None:
        note(sim, "same")
        sim.recorder.emit(Event(actor="same", inc=next(numbers)))

    with pytest.raises(Diverged) as caught:
        assert_deterministic(scenario)

    assert caught.value.index == 1
    assert "in same, event 2 of it" in "\n".join(caught.value.__notes__)


def test_an_error_in_a_run_that_is_compared_leaves_as_it_is() -> None:
    with pytest.raises(Lost):
        assert_deterministic(last_comes_first, choices=[4, 3, 2, 1])


# --- limits -----------------------------------------------------------------------------------------------------------


def test_every_run_has_the_same_ids_and_chance() -> None:
    drawn: set[float] = set()

    async def scenario(sim: Sim) -> None:
        await three_in_a_row(sim)
        drawn.add(sim.ports.chance.random())

    explore(scenario, schedules=5)
    assert len(drawn) == 1


def test_a_run_counts_its_steps() -> None:
    run = run_sim(three_in_a_row, Picks(replayed([])), Rules(faults=WITHOUT_FAULTS))

    assert run.steps >= 4
    assert len({run_sim(three_in_a_row, Picks(replayed(one)), Rules(faults=Faults())).journal()
                for one in product(range(3), range(2))}) == 6  # fmt: skip

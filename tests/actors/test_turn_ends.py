"""The outcome of a turn that failed or was killed reaches its behavior once, as the table decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import Outcome, State, TurnEnded, decide_outcome
from greenroom.core import Cause, InternalError, TurnFailed, is_cancelled, open_bare_nursery, split_cancelled
from tests.actors.situations import Do, Gate, Oops, PlainDoer, Survivor, events, fail, fail_plainly, runtime

if TYPE_CHECKING:
    from greenroom.actors import Context


class Told(Survivor):
    """Notes how its turns ended."""

    def __init__(self, ends: list[tuple[Any, Outcome]], raises: Exception | None = None) -> None:
        super().__init__()
        self._ends = ends
        self._raises = raises

    def on_unfinished(self, message: Any, outcome: Outcome, ctx: Context) -> None:
        self._ends.append((message, outcome))
        if self._raises is not None:
            raise self._raises


class PlainTold(PlainDoer):
    """The same, and the dispatcher serves it."""

    on_failure = "continue"

    def __init__(self, ends: list[tuple[Any, Outcome]]) -> None:
        super().__init__()
        self._ends = ends

    def on_unfinished(self, message: Any, outcome: Outcome, ctx: Context) -> None:
        self._ends.append((message, outcome))


def wait_in(tasks: int, *, fails: bool = False) -> Any:
    """Return a job that waits in so many tasks; on request the first fails when it is cancelled."""

    async def wait(ctx: Context) -> None:
        async with trio.open_nursery() as nursery:
            for number in range(tasks):
                nursery.start_soon(_wait, fails and number == 0)

    return wait


async def _wait(fails: bool) -> None:
    try:
        await trio.sleep_forever()
    finally:
        if fails:
            raise Oops


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("fails", [False, True])
async def test_aborted_turn_is_told_once_however_many_tasks_it_had(tasks: int, *, fails: bool) -> None:
    ends: list[tuple[Any, Outcome]] = []
    async with runtime() as opened:
        actor = await opened.spawn(Told, ends)
        job = wait_in(tasks, fails=fails)
        actor.tell(job)
        await trio.sleep(1)
        actor.abort_turn(why="asked")
        await trio.sleep(1)

        ((message, outcome),) = ends
        assert message is job
        assert outcome.state is (State.FAILED if fails else State.KILLED)
        assert outcome.cause == Cause("host", "asked")
        assert isinstance(outcome.error, Oops) is fails
        (end,) = events(opened, TurnEnded)
        assert end.state == outcome.state
        assert not actor.is_gone


@pytest.mark.usefixtures("virtual_time")
async def test_killed_actor_is_told_of_its_turn_before_it_ends() -> None:
    ends: list[tuple[Any, Outcome]] = []
    async with runtime() as opened:
        actor = await opened.spawn(Told, ends)
        actor.tell(wait_in(2))
        await trio.sleep(1)
        actor.kill("asked")
        await actor.wait_ended()

    assert [(outcome.state, outcome.by) for _, outcome in ends] == [(State.KILLED, "ancestor")]


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize(("behavior", "job"), [(Told, fail), (PlainTold, fail_plainly)])
async def test_failed_turn_is_told_and_completed_turn_is_not(behavior: Any, job: Any) -> None:
    ends: list[tuple[Any, Outcome]] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior, ends)
        actor.tell("x")
        actor.tell(job)
        actor.tell("y")
        await trio.sleep(1)

    ((message, outcome),) = ends
    assert message is job
    assert (outcome.state, type(outcome.error)) == (State.FAILED, Oops)


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("error", [ValueError("the reaction failed"), InternalError("the reaction failed")])
async def test_error_of_the_reaction_fails_the_turn(error: Exception) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Told, [], error)
        actor.tell(wait_in(2))
        await trio.sleep(1)
        actor.abort_turn(why="asked")
        await trio.sleep(0.5)

        (end,) = events(opened, TurnEnded)
        assert (end.state, end.during_kill) == (State.FAILED, True)
        assert "the reaction failed" in end.error
        if isinstance(error, ValueError):
            gate = Gate()
            gate.opened.set()
            actor.tell(gate)
            await trio.sleep(1)
            assert gate.is_through, "it takes its next turn"


@pytest.mark.usefixtures("virtual_time")
async def test_error_of_the_reaction_joins_that_of_the_turn() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Told, [], ValueError("the reaction failed"))
        with pytest.raises(TurnFailed) as caught:
            await actor.ask(Do(fail), timeout_s=5)

    assert caught.value.why == "Oops; ValueError: the reaction failed"


@pytest.mark.usefixtures("virtual_time")
async def test_nursery_that_fails_beside_a_cancelled_body_raises_the_failure() -> None:
    """The body leaves as a group of cancels: the failure that cancelled it must not become its note."""
    with pytest.RaisesGroup(Oops, flatten_subgroups=True):
        async with open_bare_nursery() as outer:
            outer.start_soon(_fail_soon)
            await wait_in(2)(None)


@pytest.mark.usefixtures("virtual_time")
async def test_nursery_ends_the_cancel_of_its_own_scope() -> None:
    """A task cancels the scope while the body waits: outside there is nothing to see of that."""
    left: list[BaseException] = []
    try:
        async with open_bare_nursery() as nursery:
            nursery.start_soon(_cancel_soon, nursery.cancel_scope)
            await trio.sleep_forever()
    except BaseException as error:  # noqa: BLE001, ASYNC103 - a cancel that leaves would end this test without a word
        left.append(error)

    assert not left


async def _cancel_soon(scope: trio.CancelScope) -> None:
    await trio.sleep(1)
    scope.cancel()


async def _fail_soon() -> None:
    await trio.sleep(1)
    raise Oops


# --- groups -------------------------------------------------------------------------------------------------------------

LEAVES = st.sampled_from(["cancelled", "error", "exit"])
TREES = st.recursive(LEAVES, lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=6)


def _made(tree: Any) -> BaseException:
    if isinstance(tree, list):
        return BaseExceptionGroup("several", [_made(one) for one in tree])
    if tree == "cancelled":
        return trio.Cancelled._create(source="explicit")
    return Oops() if tree == "error" else KeyboardInterrupt()


def _leaves(tree: Any) -> set[str]:
    return {leaf for one in tree for leaf in _leaves(one)} if isinstance(tree, list) else {tree}


@given(TREES)
def test_outcome_of_a_group_is_that_of_its_leaves(tree: Any) -> None:
    error, leaves = _made(tree), _leaves(tree)

    cancelled, rest = split_cancelled(error)
    outcome = decide_outcome(error, requested=None, was_caught=False)

    assert (cancelled is not None) is ("cancelled" in leaves)
    assert is_cancelled(error) is (rest is None) is (leaves == {"cancelled"})
    assert outcome.state is (State.KILLED if rest is None else State.FAILED)
    assert outcome.during_kill is ("cancelled" in leaves and rest is not None)
    assert outcome.must_crash is bool(leaves & {"cancelled", "exit"})

"""Aborting a turn: what is answered, what happens to the turn, and that nothing of it stays."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, final

import pytest
import trio
from trio.lowlevel import checkpoint
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import AbortResult, AbortStatus, Context, Ref, State, TurnEnded
from greenroom.core import TurnKilled
from greenroom.mailbox import DeadReason, MessageAcked
from tests.actors.situations import Do, Doer, Gate, Oops, Quiet, Survivor, Teamster, dead, events, runtime

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")


@pytest.mark.promise("I-24")
@pytest.mark.parametrize("behavior", [Doer, Quiet])
async def test_an_aborted_turn_ends_and_the_actor_takes_the_next_message(behavior: type[Doer]) -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior, seen)
        gate = Gate()
        actor.tell(gate)
        actor.tell("next")
        await gate.entered.wait()

        result = actor.abort_turn(why="changed my mind")
        outcome = await result.wait_ended()
        await wait_all_tasks_blocked()

        assert result.status is AbortStatus.ABORTED
        assert (outcome.state, outcome.by) == (State.KILLED, "own")
        assert outcome.cause is not None
        assert (outcome.cause.who, outcome.cause.why) == ("host", "changed my mind")
        assert not gate.is_through
        assert seen == ["next"]
        assert actor.state is State.RUNNING


@pytest.mark.promise("I-24", "I-29")
async def test_turns_can_be_aborted_again_and_again_and_those_between_know_nothing_of_it() -> None:
    """RC-08."""
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        for number in range(3):
            gate = Gate()
            actor.tell(gate)
            await gate.entered.wait()
            result = actor.abort_turn(why=f"number {number}")
            with trio.fail_after(1):
                outcome = await result.wait_ended()
            assert outcome.cause is not None
            assert (outcome.state, outcome.cause.why) == (State.KILLED, f"number {number}")
            actor.tell("between")
            await wait_all_tasks_blocked()

        turns = [event for event in events(opened, TurnEnded) if event.actor == actor.id]
        assert [turn.state for turn in turns] == ["killed", "completed"] * 3
        assert not any(turn.late_cancel for turn in turns)


@pytest.mark.promise("I-21", "I-28")
async def test_an_abort_of_an_idle_actor_does_nothing_then_or_later() -> None:
    """RC-08, CL-18."""
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        seq = opened.recorder.seq

        result = actor.abort_turn()

        assert result.status is AbortStatus.IDLE
        assert opened.recorder.seq == seq
        gate = Gate()
        actor.tell(gate)
        await gate.entered.wait()
        gate.opened.set()
        await wait_all_tasks_blocked()
        assert gate.is_through


@pytest.mark.promise("I-28")
async def test_an_abort_that_names_another_turn_is_stale() -> None:
    tokens = []

    async def note_token(ctx: Context) -> None:
        tokens.append(ctx.turn.token)

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(note_token)
        await wait_all_tasks_blocked()
        assert actor.abort_turn(tokens[0]).status is AbortStatus.STALE
        gate = Gate()
        actor.tell(gate)
        await gate.entered.wait()

        assert actor.abort_turn(tokens[0]).status is AbortStatus.STALE
        identity, incarnation, turn = tokens[0]
        assert actor.abort_turn((identity, incarnation, turn + 1)).status is AbortStatus.ABORTED


@pytest.mark.promise("I-28")
async def test_an_abort_during_the_commit_is_too_late() -> None:
    """RC-10."""
    statuses = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer)

        def listen(record: Any) -> None:
            if record[2] is MessageAcked:
                statuses.append(actor.abort_turn().status)

        opened.recorder.listen(listen)
        actor.tell("a")
        await wait_all_tasks_blocked()

    assert statuses == [AbortStatus.TOO_LATE]
    assert [event.state for event in events(opened, TurnEnded)] == ["completed"]


@pytest.mark.promise("I-29")
async def test_a_turn_that_returns_in_spite_of_an_abort_is_completed_with_late_cancel() -> None:
    async def abort_myself(ctx: Context) -> None:
        assert not ctx.turn.is_aborting
        assert ctx.ref.abort_turn(why="late").status is AbortStatus.ABORTED
        assert ctx.turn.is_aborting
        ctx.reply("done")

    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)

        assert await actor.ask(Do(abort_myself)) == "done"
        gate = Gate()
        actor.tell(gate)
        await gate.entered.wait()
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert gate.is_through  # the abort was not kept for this one

    first = events(opened, TurnEnded)[0]
    assert (first.state, first.late_cancel) == ("completed", True)
    assert first.cause is not None
    assert first.cause.why == "late"
    assert dead(opened) == {}


@pytest.mark.promise("I-29")
async def test_an_abort_in_the_step_in_which_a_turn_leaves_its_nursery_says_what_became_of_the_turn() -> None:
    """What was asked for in time kills the turn, and what is told to be too late changes nothing of it."""
    results: list[AbortResult] = []
    async with runtime() as opened, trio.open_nursery() as outside:

        async def be_late(ctx: Context) -> None:
            async def abort() -> None:
                results.append(ctx.ref.abort_turn(why="late"))

            ctx.reply("done")
            outside.start_soon(abort)

        actor = await opened.spawn(Teamster)
        for _ in range(10):  # it depends on the schedule which of the two comes first
            with suppress(TurnKilled):
                await actor.ask(Do(be_late))
        await wait_all_tasks_blocked()

    expected = ["killed" if result.status is AbortStatus.ABORTED else "completed" for result in results]
    assert [turn.state for turn in events(opened, TurnEnded)] == expected
    assert not any(turn.late_cancel for turn in events(opened, TurnEnded))


@pytest.mark.promise("I-29")
async def test_a_turn_that_fails_while_it_is_aborted_has_failed() -> None:
    async def fail_in_clean_up(ctx: Context) -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise Oops

    async with runtime() as opened:
        actor = await opened.spawn(Survivor)
        actor.tell(fail_in_clean_up)
        await wait_all_tasks_blocked()
        outcome = await actor.abort_turn().wait_ended()

        assert (outcome.state, outcome.during_kill) == (State.FAILED, True)
        assert isinstance(outcome.error, Oops)
        assert dead(opened) == {DeadReason.FAILED: 1}


@pytest.mark.promise("I-22")
async def test_the_first_reason_for_an_abort_stays() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(Gate())
        await wait_all_tasks_blocked()
        actor.abort_turn(why="first")
        outcome = await actor.abort_turn(why="second").wait_ended()

    assert outcome.cause is not None
    assert outcome.cause.why == "first"


@pytest.mark.parametrize("behavior", [Doer, Quiet])
async def test_one_hears_how_the_aborted_turn_ended_or_else_how_the_last_one_did(behavior: type[Doer]) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        actor.tell(Gate())
        await wait_all_tasks_blocked()
        result = actor.abort_turn()
        assert (await result.wait_ended()).state is State.KILLED
        actor.tell("next")
        await wait_all_tasks_blocked()

        assert (await result.wait_ended()).state is State.KILLED
        assert (await actor.abort_turn().wait_ended()).state is State.COMPLETED


@pytest.mark.promise("I-25")
async def test_an_abort_of_one_actor_leaves_the_one_it_asked_alone() -> None:
    """Only links and turn tasks go down with a turn."""
    seen: list[Any] = []
    gate = Gate()
    async with runtime() as opened:
        asked = await opened.spawn(Doer, seen)
        asker = await opened.spawn(Doer)

        async def ask(ctx: Context) -> None:
            await asked.ask(Do(gate))

        asker.tell(ask)
        await gate.entered.wait()
        asker.abort_turn()
        await wait_all_tasks_blocked()
        assert asked.is_busy
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert gate.is_through
        assert asked.state is State.RUNNING


@final
class Strike(trio.abc.Instrument):
    """Aborts the turn of an actor before the first step of any task after its handler has returned."""

    def __init__(self, actor: Ref[Any]) -> None:
        self.actor = actor
        self.has_returned = False
        self.results: list[AbortResult] = []

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if self.has_returned and not self.results:
            self.results.append(self.actor.abort_turn())


@pytest.mark.promise("I-28", "I-29")
@pytest.mark.parametrize("has_tasks", [False, True])
async def test_after_the_handler_an_abort_finds_only_what_the_turn_has_left_running(has_tasks: bool) -> None:
    """Trio yields where a nursery is left, even an empty one: between the handler and the commit others run."""
    async with runtime() as opened:
        actor = await opened.spawn(Teamster)
        strike = Strike(actor)

        async def return_at_once(ctx: Context) -> None:
            if has_tasks:
                ctx.turn.start_soon(trio.sleep_forever)
                await checkpoint()
            strike.has_returned = True

        trio.lowlevel.add_instrument(strike)
        actor.tell(return_at_once)
        await wait_all_tasks_blocked()
        trio.lowlevel.remove_instrument(strike)

    assert [result.status for result in strike.results] == [AbortStatus.ABORTED if has_tasks else AbortStatus.TOO_LATE]
    (turn,) = events(opened, TurnEnded)
    assert (turn.state, turn.late_cancel) == ("killed" if has_tasks else "completed", False)

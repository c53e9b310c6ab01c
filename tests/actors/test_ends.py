"""Stop and kill: who gets to finish what, and how long it may take in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import (
    AbortRequested,
    ActorBegan,
    ActorExited,
    ActorUnresponsive,
    Context,
    KillRequested,
    State,
    StopRequested,
    TurnEnded,
)
from greenroom.core import Cause, Closed, UsageError
from greenroom.mailbox import DeadReason, Delivery, Lane, MailboxPolicy
from greenroom.supervisor import ChildSpec, SupervisorSpec
from tests.actors.situations import AT_ONCE, Deaf, Do, Doer, Gate, Oops, Quiet, dead, events, fail, runtime

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")


@pytest.mark.parametrize("grace_s", [-1, float("inf"), float("nan")])
async def test_a_wrong_grace_harms_nobody_but_who_gave_it(grace_s: float) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        gate = Gate()
        actor.tell(gate)
        await gate.entered.wait()
        with pytest.raises(UsageError, match="number of seconds"):
            actor.stop(grace_s=grace_s)
        with pytest.raises(UsageError, match="number of seconds"):
            await opened.root.stop(actor, grace_s=grace_s)
        await trio.sleep(10)

        assert actor.is_busy


# --- stop -------------------------------------------------------------------------------------------------------------


async def test_stop_lets_the_turn_finish_and_leaves_the_rest_unread() -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        gate = Gate()
        actor.tell(gate)
        actor.tell("unread")
        await gate.entered.wait()
        actor.stop(why="enough")
        await wait_all_tasks_blocked()
        assert actor.state is State.RUNNING
        gate.opened.set()
        down = await actor.wait_ended()

        assert gate.is_through
        assert down.state is State.COMPLETED
        assert down.cause is not None
        assert (down.cause.who, down.cause.why) == ("host", "enough")
        assert seen == []
        assert dead(opened) == {DeadReason.ENDED: 1}
        assert actor.tell("later") is Delivery.CLOSED


@pytest.mark.parametrize("way", ["abort_turn", "stop", "kill"])
async def test_a_turn_can_see_whether_it_is_the_last_one(way: str) -> None:
    """An abort is for the turn alone."""
    seen: list[bool] = []

    async def look(ctx: Context) -> None:
        seen.append(ctx.is_ending)
        getattr(ctx.ref, way)()
        seen.append(ctx.is_ending)

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(look)
        await wait_all_tasks_blocked()

    assert seen == [False, way != "abort_turn"]


async def test_stop_ends_an_idle_actor_at_once() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.stop()
        down = await actor.wait_ended()

        assert down.state is State.COMPLETED
        assert trio.current_time() == 0


@pytest.mark.promise("I-27")
async def test_stop_aborts_the_turn_after_the_grace() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer, spec=ChildSpec(grace_s=3))
        actor.tell(Gate())
        await wait_all_tasks_blocked()
        actor.stop()
        down = await actor.wait_ended()

        assert trio.current_time() == 3
        assert down.state is State.COMPLETED  # it ended as it was asked to; only its turn was cut

    assert [event.state for event in events(opened, TurnEnded)] == ["killed"]
    assert len(events(opened, AbortRequested)) == 1
    assert events(opened, KillRequested) == []


@pytest.mark.promise("I-27")
async def test_the_ladder_of_a_stop_is_stop_abort_kill_and_give_up_each_after_its_deadline() -> None:
    deaf = Deaf(60)
    async with runtime() as opened:
        actor = await opened.spawn(Doer, spec=ChildSpec(grace_s=3, kill_grace_s=2))
        actor.tell(deaf)
        await deaf.entered.wait()
        actor.stop()
        down = await actor.wait_ended()

        assert trio.current_time() == 60
        assert down.state is State.KILLED

    kinds = (StopRequested, AbortRequested, KillRequested, ActorUnresponsive)
    rungs = [record for record in opened.recorder.latest() if record[2] in kinds and record[3] == actor.id]
    assert [(record[1], record[2]) for record in rungs] == [
        (0.0, StopRequested),
        (3.0, AbortRequested),
        (5.0, KillRequested),
        (9.0, ActorUnresponsive),
    ]


async def test_a_stop_may_say_its_own_grace() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(Gate())
        await wait_all_tasks_blocked()
        actor.stop(grace_s=0.5)
        await actor.wait_ended()

        assert trio.current_time() == 0.5


async def test_a_second_stop_changes_nothing() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.stop(why="first")
        actor.stop(why="second")
        down = await actor.wait_ended()
        actor.stop(why="third")

        assert down.cause is not None
        assert down.cause.why == "first"

    assert len(events(opened, StopRequested)) == 2  # the actor's, and the root's at the end


async def test_an_actor_may_stop_itself() -> None:
    async def stop(ctx: Context) -> None:
        ctx.ref.stop()
        ctx.reply("bye")

    async with runtime() as opened:
        actor = await opened.spawn(Doer)

        assert await actor.ask(Do(stop)) == "bye"
        down = await actor.wait_ended()
        assert down.cause is not None
        assert down.cause.who == actor.id


# --- kill -------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("I-26")
@pytest.mark.parametrize("behavior", [Doer, Quiet])
async def test_kill_cuts_the_turn_and_ends_the_actor_in_the_same_instant(behavior: type[Doer]) -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior, seen)
        gate = Gate()
        actor.tell(gate)
        actor.tell("unread")
        await gate.entered.wait()
        actor.kill("enough")
        down = await actor.wait_ended()

        assert trio.current_time() == 0
        assert (down.state, down.incarnation) == (State.KILLED, 1)
        assert down.cause is not None
        assert (down.cause.who, down.cause.why) == ("host", "enough")
        assert not gate.is_through
        assert dead(opened) == {DeadReason.ABORTED: 1, DeadReason.ENDED: 1}
        assert seen == []


@pytest.mark.promise("I-7")
async def test_kill_before_the_first_step_runs_no_user_code() -> None:
    made: list[int] = []

    class Noisy(Doer):
        def __init__(self) -> None:
            made.append(1)
            super().__init__()

    async with runtime() as opened:
        cell = opened.root.start(Noisy)
        cell.request_kill(opened.root.cell.life.kill_cause or _because("too soon"))
        await cell.wait_gone()

        assert made == []
        assert cell.down is not None
        assert cell.down.state is State.KILLED

    assert [event.actor for event in events(opened, ActorBegan)] == [opened.root.id]


@pytest.mark.promise("I-26")
async def test_a_message_that_arrives_with_a_kill_is_not_handled() -> None:
    """Wake-only delivery: the actor looks at its flags before it takes a message."""
    seen: list[Any] = []
    async with runtime() as opened:
        for first in ("tell", "kill"):
            actor = await opened.spawn(Doer, seen)
            await wait_all_tasks_blocked()
            if first == "tell":
                actor.tell("never")
                actor.kill()
            else:
                actor.kill()
                actor.tell("never")
            down = await actor.wait_ended()
            assert down.state is State.KILLED

        assert seen == []
        assert sum(dead(opened).values()) == 2


@pytest.mark.promise("I-26")
async def test_a_killed_actor_whose_handlers_never_wait_takes_no_further_message() -> None:
    seen: list[Any] = []

    async def kill_myself(ctx: Context) -> None:
        ctx.ref.kill()

    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        actor.tell(kill_myself)
        for number in range(5):
            actor.tell(number)
        down = await actor.wait_ended()

        assert down.state is State.KILLED
        assert seen == []
        assert dead(opened) == {DeadReason.ENDED: 5}


async def test_a_kill_outruns_a_stop_that_waits() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(Gate())
        await wait_all_tasks_blocked()
        actor.stop()
        await wait_all_tasks_blocked()
        actor.kill()
        down = await actor.wait_ended()

        assert trio.current_time() == 0
        assert down.state is State.KILLED


@pytest.mark.promise("I-28")
async def test_requests_after_the_end_do_nothing() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.kill()
        await actor.wait_ended()
        seq = opened.recorder.seq

        actor.kill()
        actor.stop()
        status = actor.abort_turn().status

        assert opened.recorder.seq == seq
        assert status == "idle"
        assert actor.tell("x", Lane.NOW) is Delivery.CLOSED


# --- clean-up ---------------------------------------------------------------------------------------------------------


class Small(Doer):
    """Room for one message."""

    mailbox = MailboxPolicy(capacity=1)


class Cleaner(Doer):
    """Takes a while to clean up."""

    def __init__(self, seconds: float, done: list[float]) -> None:
        super().__init__()
        self.seconds = seconds
        self.done = done

    async def on_stop(self, ctx: Context) -> None:
        await trio.sleep(self.seconds)
        self.done.append(trio.current_time())


@pytest.mark.parametrize("is_kill", [True, False])
async def test_clean_up_may_wait_within_the_kill_grace(is_kill: bool) -> None:
    done: list[float] = []
    async with runtime() as opened:
        actor = await opened.spawn(Cleaner, 1.5, done)
        if is_kill:
            actor.kill()
        else:
            actor.stop()
        down = await actor.wait_ended()

        assert done == [1.5]
        assert down.state is (State.KILLED if is_kill else State.COMPLETED)

    assert not events(opened, ActorExited)[0].cleanup_cut


@pytest.mark.promise("I-26")
async def test_clean_up_is_cut_after_the_kill_grace() -> None:
    done: list[float] = []
    async with runtime() as opened:
        actor = await opened.spawn(Cleaner, 10, done, spec=ChildSpec(kill_grace_s=2))
        actor.kill()
        down = await actor.wait_ended()

        assert trio.current_time() == 2
        assert done == []
        assert down.state is State.KILLED

    exited = events(opened, ActorExited)[0]
    assert (exited.state, exited.cleanup_cut) == ("killed", True)


async def test_clean_up_runs_after_a_crash_too_and_before_the_next_incarnation() -> None:
    done: list[float] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Cleaner, 1, done)
        actor.tell(fail)
        await wait_all_tasks_blocked()
        assert actor.state is State.RUNNING
        await trio.sleep(1.5)

        assert done == [1]
        assert opened.tree().children[0].incarnation == 2


async def test_what_clean_up_raises_is_part_of_the_run() -> None:
    class Messy(Doer):
        async def on_stop(self, ctx: Context) -> None:
            raise Oops

    async with runtime() as opened:
        actor = await opened.spawn(Messy)
        actor.stop()
        down = await actor.wait_ended()

        assert down.state is State.FAILED
        assert isinstance(down.error, Oops)


@pytest.mark.promise("I-20")
async def test_producers_that_wait_are_let_go_when_the_owner_ends() -> None:
    """The message in hand frees a place as it dies, so one gets in and dies with the mailbox; the rest is refused."""
    ends: list[str] = []
    async with runtime() as opened, trio.open_nursery() as nursery:
        cell = opened.root.start(Small)
        await cell.wait_ready()
        gate = Gate()
        cell.mailbox.put_nowait(gate)
        await gate.entered.wait()

        async def produce() -> None:
            try:
                await cell.mailbox.put("x")
            except Closed:
                ends.append("closed")
            else:
                ends.append("accepted")

        for _ in range(3):
            nursery.start_soon(produce)
        await wait_all_tasks_blocked()
        cell.request_kill(_because("over"))
        await wait_all_tasks_blocked()

        assert sorted(ends) == ["accepted", "closed", "closed"]
        assert dead(opened) == {DeadReason.ABORTED: 1, DeadReason.ENDED: 1}


def _because(why: str) -> Cause:
    return Cause("host", why)

"""Actors whose handler is a plain function: the same promises, kept by the dispatcher."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import AbortStatus, ActorExited, Behavior, Context, State, TurnEnded, TurnNoted
from greenroom.actors._behavior import is_plain
from greenroom.core import InternalError, Level, StartFailed, UsageError
from greenroom.mailbox import BUDGET, DeadReason, Delivery, Lane
from greenroom.supervisor import Backoff, ChildSpec, Restart, Strategy, SupervisorSpec
from tests.actors.situations import AT_ONCE, Do, Doer, Oops, PlainDoer, Teamster, dead, events, fail_plainly, runtime

if TYPE_CHECKING:
    from greenroom.supervisor import Runtime

pytestmark = pytest.mark.usefixtures("virtual_time")


async def test_which_behaviors_the_dispatcher_serves() -> None:
    class WithStart(PlainDoer):
        async def on_start(self, ctx: Context) -> None: ...

    class WithStop(PlainDoer):
        async def on_stop(self, ctx: Context) -> None: ...

    class WithTasks(PlainDoer):
        actor_tasks = True

    assert is_plain(PlainDoer)
    assert not any(is_plain(one) for one in (Doer, Teamster, WithStart, WithStop, WithTasks))


async def test_messages_are_handled_in_order_and_lanes_are_kept() -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(PlainDoer, seen)
        actor.tell("later", Lane.LATER)
        actor.tell("next")
        actor.tell("now", Lane.NOW)
        await wait_all_tasks_blocked()

    assert seen == ["now", "next", "later"]


async def test_a_crash_fails_the_turn_and_the_incarnation_and_the_mail_stays() -> None:
    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(PlainDoer, seen)
        actor.tell(fail_plainly)
        actor.tell("next")
        await wait_all_tasks_blocked()

        assert seen == ["next"]
        assert opened.tree().children[0].incarnation == 2
        assert dead(opened) == {DeadReason.FAILED: 1}

    assert [(event.inc, event.turn, event.state) for event in events(opened, TurnEnded)] == [
        (1, 1, "failed"),
        (2, 1, "completed"),
    ]


async def test_a_restart_waits_for_its_back_off_and_mail_waits_with_it() -> None:
    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=2, jitter=0))) as opened:
        actor = await opened.spawn(PlainDoer, seen)
        actor.tell(fail_plainly)
        await wait_all_tasks_blocked()
        assert actor.state is State.PENDING
        assert actor.tell("next") is Delivery.ACCEPTED
        await trio.sleep(1.9)
        assert seen == []
        await trio.sleep(0.2)

        assert seen == ["next"]


@pytest.mark.promise("I-7")
async def test_a_kill_ends_a_back_off_at_once_and_runs_nothing() -> None:
    made: list[int] = []

    class Counted(PlainDoer):
        def __init__(self) -> None:
            made.append(1)
            super().__init__()

    async with runtime(SupervisorSpec(backoff=Backoff(first_s=20))) as opened:
        actor = await opened.spawn(Counted)
        actor.tell(fail_plainly)
        await wait_all_tasks_blocked()
        actor.kill()
        down = await actor.wait_ended()

        assert (down.incarnation, down.state) == (2, State.KILLED)
        assert made == [1]
        assert trio.current_time() == 0
        await trio.sleep(100)
        assert made == [1]


async def test_kill_is_immediate_when_no_handler_runs() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(PlainDoer)
        actor.tell("never")
        actor.kill()

        assert actor.is_gone
        assert actor.state is State.KILLED
        assert dead(opened) == {DeadReason.ENDED: 1}


async def test_stop_is_immediate_when_no_handler_runs() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(PlainDoer)
        actor.stop()

        assert actor.is_gone
        assert actor.state is State.COMPLETED


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_an_end_asked_for_by_its_own_handler_comes_after_its_commit(how: str) -> None:
    async def ask() -> object:
        return await actor.ask(Do(end_myself))

    def end_myself(ctx: Context) -> None:
        if how == "kill":
            ctx.ref.kill()
        else:
            ctx.ref.stop()
        assert ctx.ref.state is State.RUNNING
        ctx.reply("last words")

    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(PlainDoer, seen)
        actor.tell("first")
        await wait_all_tasks_blocked()

        assert await ask() == "last words"
        down = await actor.wait_ended()
        assert down.state is (State.KILLED if how == "kill" else State.COMPLETED)
        assert down.cause is not None
        assert down.cause.who == actor.id
        assert seen == ["first"]


async def test_a_handler_that_kills_itself_and_raises_has_failed_and_is_not_restarted() -> None:
    def kill_and_raise(ctx: Context) -> None:
        ctx.ref.kill()
        raise Oops

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(PlainDoer)
        actor.tell(kill_and_raise)
        down = await actor.wait_ended()

        assert (down.incarnation, down.state) == (1, State.FAILED)


async def test_one_plain_actor_may_end_another_in_its_turn() -> None:
    async with runtime() as opened:
        victim = await opened.spawn(PlainDoer)

        def kill(ctx: Context) -> None:
            victim.kill()
            assert victim.is_gone

        actor = await opened.spawn(PlainDoer)
        actor.tell(kill)
        await wait_all_tasks_blocked()

        assert (await victim.wait_ended()).state is State.KILLED


async def test_a_plain_turn_cannot_be_aborted() -> None:
    statuses = []

    def abort_myself(ctx: Context) -> None:
        statuses.append(ctx.ref.abort_turn().status)

    async with runtime() as opened:
        actor = await opened.spawn(PlainDoer)
        actor.tell(abort_myself)
        await wait_all_tasks_blocked()
        statuses.append(actor.abort_turn().status)

    assert statuses == [AbortStatus.IDLE] * 2


async def test_tasks_are_refused() -> None:
    errors = []

    def start(ctx: Context) -> None:
        for start_soon in (ctx.start_soon, ctx.turn.start_soon):
            with pytest.raises(UsageError) as caught:
                start_soon(trio.sleep, 1)
            errors.append(caught.value)

    async with runtime() as opened:
        actor = await opened.spawn(PlainDoer)
        actor.tell(start)
        await wait_all_tasks_blocked()

    assert len(errors) == 2


async def test_a_plain_handler_that_returns_an_awaitable_fails() -> None:
    class Confused(Behavior["Any"]):
        def on_message(self, message: Any, ctx: Context) -> Any:
            return Doer.on_message(Doer(), message, ctx)

    async with runtime() as opened:
        actor = await opened.spawn(Confused, spec=ChildSpec(restart=Restart.TEMPORARY))
        actor.tell("x")
        down = await actor.wait_ended()

        assert isinstance(down.error, UsageError)


async def test_a_survivor_keeps_its_incarnation_but_for_our_own_errors() -> None:
    class PlainSurvivor(PlainDoer):
        on_failure = "continue"

    def break_promise(ctx: Context) -> None:
        raise InternalError("a promise does not hold")

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(PlainSurvivor)
        actor.tell(fail_plainly)
        await wait_all_tasks_blocked()
        assert opened.tree().children[0].incarnation == 1
        actor.tell(break_promise)
        await wait_all_tasks_blocked()
        assert opened.tree().children[0].incarnation == 2


async def test_a_factory_that_fails_at_a_restart_counts_as_a_restart() -> None:
    tries: list[int] = []

    class Fragile(PlainDoer):
        def __init__(self) -> None:
            tries.append(1)
            if len(tries) in {2, 3}:
                raise Oops
            super().__init__()

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Fragile)
        actor.tell(fail_plainly)
        await wait_all_tasks_blocked()

        assert actor.state is State.RUNNING
        assert opened.tree().children[0].incarnation == len(tries) == 4


async def test_a_flood_of_plain_mail_lets_others_run() -> None:
    others = 0
    async with runtime() as opened, trio.open_nursery() as nursery:
        actor = await opened.spawn(PlainDoer)

        async def other() -> None:
            nonlocal others
            while True:
                others += 1
                await trio.lowlevel.checkpoint()

        nursery.start_soon(other)
        for number in range(8 * BUDGET):
            actor.tell(number)
        while actor.statistics().acked < 8 * BUDGET:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()

    assert others >= 6


async def test_turns_of_plain_actors_begin_when_they_are_served() -> None:
    """A turn takes its beginning from the end of the one before, except after a wait."""

    class Noted(PlainDoer):
        journal = Level.LIFECYCLE

    async with runtime() as opened:
        actors = [await opened.spawn(Noted) for _ in range(2)]
        for _ in range(2):
            await trio.sleep(10)
            for actor in actors:
                actor.tell("message")
        await wait_all_tasks_blocked()

    began_s = [event.began_t for event in events(opened, TurnNoted)]
    assert [began - began_s[0] for began in began_s] == [0, 0, 10, 10]


async def test_two_plain_actors_take_turns() -> None:
    """One message of one actor at a time, then the next actor."""
    seen: list[Any] = []
    async with runtime() as opened:
        one, two = await opened.spawn(PlainDoer, seen), await opened.spawn(PlainDoer, seen)
        for number in range(3):
            one.tell(f"one-{number}")
        for number in range(3):
            two.tell(f"two-{number}")
        await wait_all_tasks_blocked()

    assert seen == ["one-0", "two-0", "one-1", "two-1", "one-2", "two-2"]


async def test_a_neighbour_that_is_restarted_with_mail_waiting_is_served_by_its_new_incarnation_only() -> None:
    """The restart happens while the dispatcher still has the old incarnation in its queue."""
    killed: list[int] = []

    def kill_myself(ctx: Context) -> None:
        killed.append(ctx.incarnation)
        ctx.ref.kill()

    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=AT_ONCE)
    async with runtime(spec) as opened:
        neighbour = await opened.spawn(PlainDoer)
        fragile = await opened.spawn(PlainDoer)
        fragile.tell(fail_plainly)
        while fragile.statistics().leased == fragile.statistics().died == 0:
            await trio.lowlevel.checkpoint()
        neighbour.tell(kill_myself)
        down = await neighbour.wait_ended()

        assert down.state is State.KILLED
        assert killed == [down.incarnation]


@pytest.mark.promise("I-38")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_an_error_whose_text_cannot_be_had_fails_nobody_else(behavior: Any) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise Oops

    def fail_mutely(ctx: Context) -> None:
        raise Mute

    async def fail_and_wait(ctx: Context) -> None:
        fail_mutely(ctx)

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(behavior)
        neighbour = await opened.spawn(PlainDoer)
        actor.tell(fail_mutely if behavior is PlainDoer else fail_and_wait)
        await wait_all_tasks_blocked()

        assert (actor.state, neighbour.state) == (State.RUNNING, State.RUNNING)
        assert events(opened, ActorExited)[0].error == "Mute: (no text: its str() raised Oops)"


class EndsItself(Behavior[Any]):
    """Asks for its own end while it is made."""

    def __init__(self, opened: Runtime, how: str, error: Exception | None) -> None:
        me = opened.find("me")
        assert me is not None
        getattr(me, how)()
        if error is not None:
            raise error

    def on_message(self, message: Any, ctx: Context) -> Any: ...


class EndsItsTask(EndsItself):
    async def on_message(self, message: Any, ctx: Context) -> None: ...


@pytest.mark.parametrize("behavior", [EndsItself, EndsItsTask])
@pytest.mark.parametrize("how", ["kill", "stop", "drain"])
async def test_a_factory_may_ask_for_the_end_of_what_it_makes(behavior: Any, how: str) -> None:
    async with runtime() as opened:
        with contextlib.suppress(StartFailed):  # a task was killed before it was ready
            actor = await opened.spawn(behavior, opened, how, None, name="me")
            await actor.wait_ended()
        with pytest.raises(StartFailed, match="oops"):
            await opened.spawn(behavior, opened, how, Oops("oops"), name="me")

        (ended, failed) = events(opened, ActorExited)
        assert (ended.state, failed.state) == ("killed" if how == "kill" else "completed", "failed")
        assert opened.root.children() == []

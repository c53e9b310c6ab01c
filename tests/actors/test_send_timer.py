"""Messages that an actor sends later: by a timer, or with the commit of its turn; and what it looks at in the middle of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import SendTimer
from greenroom.core import UsageError
from greenroom.mailbox import DeadReason, Delivery, Lane, MailboxPolicy
from greenroom.supervisor import SupervisorSpec
from greenroom.testing import run_virtual
from greenroom.waiting import TICK_S
from tests.actors.situations import (
    AT_ONCE,
    Do,
    Doer,
    Gate,
    Keeper,
    Oops,
    PlainDoer,
    Stubborn,
    Survivor,
    dead,
    fail,
    runtime,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from greenroom.actors import Context

virtual = pytest.mark.usefixtures("virtual_time")


class Job:
    """A job for both kinds of behavior."""

    def __init__(self, plain: Callable[[Context], object]) -> None:
        self.plain = plain

    async def __call__(self, ctx: Context) -> None:
        self.plain(ctx)


def for_behavior(behavior: Any, job: Job) -> Any:
    return job.plain if behavior is PlainDoer else job


# --- timers -----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("I-46")
@given(
    delays=st.lists(st.integers(0, 6), max_size=10),
    withdrawn=st.sets(st.integers(0, 9)),
    withdrawn_at=st.integers(0, 7),
    seed=st.integers(0, 2),
)
def test_timers_come_in_the_order_of_their_deadlines_and_then_of_their_calls(
    delays: list[int], withdrawn: set[int], withdrawn_at: int, seed: int
) -> None:
    """A cancelled one never comes, also not when its message was queued in the same step: `later` is served last."""
    seen: list[Any] = []
    timers: list[SendTimer] = []

    def set_all(ctx: Context) -> None:
        timers.extend(ctx.send_after(delay_s, number) for number, delay_s in enumerate(delays))
        ctx.send_after(withdrawn_at, Job(cancel_some), lane=Lane.NOW)

    def cancel_some(ctx: Context) -> None:
        for number in withdrawn & set(range(len(delays))):
            timers[number].cancel()

    async def scenario() -> None:
        async with runtime() as opened:
            actor = await opened.spawn(Doer, seen)
            actor.tell(Job(set_all))
            await trio.sleep(10)
            assert actor.statistics().accepted - actor.statistics().acked == dead(opened).get(DeadReason.WITHDRAWN, 0)
            assert opened.statistics().open_timers == 0

    run_virtual(scenario, choices=seed)

    order = sorted(range(len(delays)), key=lambda number: delays[number])
    assert seen == [one for one in order if one not in withdrawn or delays[one] < withdrawn_at]


@virtual
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_a_timer_runs_from_the_commit_and_counts_from_the_call(behavior: Any) -> None:
    seen: list[Any] = []

    async def set_and_linger(ctx: Context) -> None:
        ctx.send_after(2, "on time")
        ctx.send_after(0.5, "overdue")
        await trio.sleep(1)

    async with runtime() as opened:
        actor = await opened.spawn(behavior, seen)
        if behavior is Doer:
            actor.tell(set_and_linger)
            await trio.sleep(0.75)
            assert opened.statistics().open_timers == 0
            await trio.sleep(0.5)
            assert seen == ["overdue"]
        else:
            actor.tell(lambda ctx: ctx.send_after(2, "on time"))
            await trio.sleep(1.25)
        await trio.sleep(0.5)
        assert "on time" not in seen
        await trio.sleep(0.5)
        assert seen[-1] == "on time"


@virtual
@pytest.mark.parametrize("how", ["fail", "abort"])
async def test_a_timer_of_a_turn_that_does_not_finish_never_runs(how: str) -> None:
    timers: list[SendTimer] = []

    async def set_in_vain(ctx: Context) -> None:
        timers.append(ctx.send_after(1, "never"))
        if how == "fail":
            raise Oops
        ctx.ref.abort_turn()
        await trio.sleep(1)

    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Survivor, seen)
        actor.tell(set_in_vain)
        await trio.sleep(3)

        assert seen == []
        assert not timers[0].is_open


@virtual
@pytest.mark.promise("I-49")
@pytest.mark.parametrize("end", ["restart", "kill", "stop"])
async def test_timers_end_with_their_incarnation_with_what_they_have_queued(end: str) -> None:
    seen: list[Any] = []

    def set_some(ctx: Context) -> None:
        ctx.send_after(1, "queued")
        ctx.send_every(1, "again")
        ctx.send_after(3, "open")

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer, seen)
        actor.tell(Job(set_some))
        gate = Gate()
        actor.tell(gate)
        await trio.sleep(1.5)
        assert actor.statistics().next == 2
        if end == "restart":
            actor.tell(fail, Lane.NOW)
            gate.opened.set()
        elif end == "kill":
            actor.kill()
        else:
            actor.stop()
            gate.opened.set()
        await trio.sleep(5)

        assert seen == []
        assert opened.statistics().open_timers == 0
        assert dead(opened)[DeadReason.ENDED] == 2


@virtual
async def test_a_context_of_the_past_sets_no_timer_and_enters_no_state() -> None:
    contexts: list[Context] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer)
        actor.tell(Job(contexts.append))
        actor.tell(fail)
        await wait_all_tasks_blocked()
        (ctx,) = contexts
        for call in (
            lambda: ctx.send_after(1, "never"),
            lambda: ctx.send_every(1, "never"),
            lambda: ctx.enter("state"),
        ):
            with pytest.raises(UsageError, match="ended"):
                call()


@virtual
async def test_a_periodic_timer_keeps_in_step_and_has_one_message_waiting_at_most() -> None:
    times: list[float] = []
    timers: list[SendTimer] = []

    async def tick(ctx: Context) -> None:
        times.append(trio.current_time())
        if len(times) == 2:
            await trio.sleep(3.5)

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        began = trio.current_time()
        actor.tell(Job(lambda ctx: timers.append(ctx.send_every(1, tick))))
        await trio.sleep(7.5)
        timers[0].cancel()
        await trio.sleep(5)

        assert [round(at - began, 1) for at in times] == [1, 2, 5.5, 6, 7]
        assert dead(opened) == {}


@virtual
async def test_a_timer_of_a_state_ends_with_it_also_when_its_message_waits() -> None:
    seen: list[Any] = []

    async def set_and_linger(ctx: Context) -> None:
        ctx.send_after(1, "of the state", for_state=True)
        ctx.send_after(9, "of the state, and open", for_state=True)
        ctx.send_after(1, "of the actor")

    async def linger_and_enter(ctx: Context) -> None:
        await trio.sleep(2)
        ctx.enter("new")
        ctx.send_after(1, "of the new state", for_state=True)

    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        actor.tell(set_and_linger)
        actor.tell(linger_and_enter)
        await trio.sleep(20)

        assert seen == ["of the actor", "of the new state"]
        assert dead(opened) == {DeadReason.WITHDRAWN: 1}
        assert opened.statistics().open_timers == 0


@virtual
@pytest.mark.promise("I-14")
async def test_messages_of_timers_are_not_refused_by_a_full_mailbox() -> None:
    seen: list[Any] = []

    class Small(Doer):
        mailbox = MailboxPolicy(capacity=2)

    async with runtime() as opened:
        actor = await opened.spawn(Small, seen)
        actor.tell(Job(lambda ctx: ctx.send_after(1, "timer")))
        await wait_all_tasks_blocked()
        gate = Gate()
        actor.tell(gate)
        actor.tell("other")
        await trio.sleep(2)
        gate.opened.set()
        await wait_all_tasks_blocked()
        assert seen == ["other", "timer"]


@virtual
async def test_many_timers_of_one_state_leave_nothing_behind_once_they_were_served() -> None:
    def again(ctx: Context) -> None:
        ctx.send_after(1 / 64, Job(again), for_state=True)

    async with runtime(is_checked=False) as opened:
        actor = await opened.spawn(Doer)
        actor.tell(Job(again))
        await trio.sleep(10)
        assert actor.statistics().acked > 300
        assert len(actor.cell.life.timers or ()) <= 64
        actor.kill()


@pytest.mark.parametrize("delay_s", [-1, float("nan")])
@virtual
async def test_times_that_make_no_sense_are_refused(delay_s: float) -> None:
    async def set_wrongly(ctx: Context) -> None:
        with pytest.raises(UsageError):
            ctx.send_after(delay_s, "never")
        for period_s in (delay_s, 0):
            with pytest.raises(UsageError):
                ctx.send_every(period_s, "never")
        ctx.reply(None)

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        await actor.ask(Do(set_wrongly))


# --- with the commit --------------------------------------------------------------------------------------------------


@virtual
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_what_is_told_on_commit_goes_out_in_order_when_the_turn_is_done(behavior: Any) -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        target = await opened.spawn(Doer, seen)
        actor = await opened.spawn(behavior)

        def send(ctx: Context) -> None:
            assert ctx.tell_on_commit(target, "first") is Delivery.ACCEPTED
            target.tell("at once")
            ctx.tell_on_commit(target, "second")
            assert target.statistics().reserved == 2

        actor.tell(for_behavior(behavior, Job(send)))
        await wait_all_tasks_blocked()

        assert seen == ["at once", "first", "second"]
        assert target.statistics().reserved == 0


@virtual
@pytest.mark.promise("I-14")
@pytest.mark.parametrize("how", ["finish", "fail", "abort"])
async def test_a_place_is_reserved_at_the_call_and_free_again_when_the_turn_does_not_finish(how: str) -> None:
    seen: list[Any] = []

    class Small(Doer):
        mailbox = MailboxPolicy(capacity=1)

    async with runtime() as opened:
        target = await opened.spawn(Small, seen)
        actor = await opened.spawn(Survivor)
        gate = Gate()

        async def send(ctx: Context) -> None:
            assert ctx.tell_on_commit(target, "mine") is Delivery.ACCEPTED
            assert ctx.tell_on_commit(target, "one too many") is Delivery.FULL
            assert ctx.tell_on_commit(target, "urgent", lane=Lane.NOW) is Delivery.ACCEPTED
            await gate(ctx)
            if how == "fail":
                raise Oops

        actor.tell(send)
        await gate.entered.wait()
        assert target.tell("theirs") is Delivery.FULL
        if how == "abort":
            actor.abort_turn()
        else:
            gate.opened.set()
        await wait_all_tasks_blocked()

        assert seen == (["urgent", "mine"] if how == "finish" else [])
        assert target.tell("theirs") is Delivery.ACCEPTED
        assert dead(opened)[DeadReason.FULL] == 2


@virtual
@pytest.mark.promise("I-20")
async def test_a_producer_that_waits_gets_the_place_of_a_turn_that_failed() -> None:
    class Small(Doer):
        mailbox = MailboxPolicy(capacity=1)

    seen: list[Any] = []
    async with runtime() as opened, trio.open_nursery() as nursery:
        target = await opened.spawn(Small, seen)
        actor = await opened.spawn(Survivor)
        gate = Gate()

        async def send(ctx: Context) -> None:
            ctx.tell_on_commit(target, "mine")
            await gate(ctx)
            raise Oops

        actor.tell(send)
        await gate.entered.wait()
        nursery.start_soon(target.cell.mailbox.put, "theirs")
        await wait_all_tasks_blocked()
        assert target.statistics().waiting_producers == 1
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert seen == ["theirs"]


@virtual
async def test_what_is_told_to_one_who_has_ended_meanwhile_is_a_dead_letter() -> None:
    async with runtime() as opened:
        target = await opened.spawn(Doer)
        actor = await opened.spawn(Doer)

        async def send(ctx: Context) -> None:
            ctx.tell_on_commit(target, "too late")
            target.kill()
            await target.wait_ended()
            assert ctx.tell_on_commit(target, "much too late") is Delivery.CLOSED
            ctx.reply(None)

        await actor.ask(Do(send))
        assert dead(opened) == {DeadReason.ENDED: 2}


@virtual
async def test_outside_a_turn_nothing_is_told_on_commit_and_nothing_polled() -> None:
    refused: list[UsageError] = []

    class Starter(Doer):
        async def on_start(self, ctx: Context) -> None:
            for call in (lambda: ctx.tell_on_commit(ctx.ref, 1), ctx.poll_now):
                with pytest.raises(UsageError) as caught:
                    call()
                refused.append(caught.value)

    async with runtime() as opened:
        await opened.spawn(Starter)
    assert len(refused) == 2


# --- in the middle of a turn ------------------------------------------------------------------------------------------


@virtual
@pytest.mark.promise("I-12", "I-13")
@pytest.mark.parametrize("how", ["finish", "abort", "requeue"])
async def test_what_is_polled_shares_the_fate_of_the_turn(how: str) -> None:
    polled: list[Any] = []
    seen: list[Any] = []
    gate, end = Gate(), Gate()

    async def poll(ctx: Context) -> None:
        if polled:
            return
        polled.append(ctx.poll_now())
        await gate(ctx)
        polled.extend(ctx.poll_now() for _ in range(3))
        await end(ctx)

    async with runtime() as opened:
        actor = await opened.spawn(Stubborn if how == "requeue" else Doer, seen)
        actor.tell(poll)
        await gate.entered.wait()
        for message in ("a", "b"):
            actor.tell(message, Lane.NOW)
        actor.tell("not now")
        gate.opened.set()
        await end.entered.wait()
        assert polled == [None, "a", "b", None]
        assert actor.statistics().leased == 3
        if how == "finish":
            end.opened.set()
        else:
            actor.abort_turn()
        await wait_all_tasks_blocked()

        assert seen == (["a", "b", "not now"] if how == "requeue" else ["not now"])
        assert dead(opened) == ({DeadReason.ABORTED: 3} if how == "abort" else {})


@virtual
async def test_an_ask_is_not_polled_and_a_suspended_actor_polls_nothing() -> None:
    gate = Gate()
    polled: list[Any] = []

    async def poll(ctx: Context) -> None:
        await gate(ctx)
        polled.append(ctx.poll_now())
        ctx.ref.suspend()
        polled.append(ctx.poll_now())
        ctx.ref.resume()
        polled.append(ctx.poll_now())

    async def reply(ctx: Context) -> None:
        ctx.reply("answer")

    answers: list[Any] = []
    async with runtime() as opened, trio.open_nursery() as nursery:
        actor = await opened.spawn(Doer)
        actor.tell(poll)
        await gate.entered.wait()

        async def ask() -> None:
            answers.append(await actor.ask(Do(reply), lane=Lane.NOW))

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        for message in ("a", "b"):
            actor.tell(message, Lane.NOW)
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert polled == ["a", None, "b"]
        assert answers == ["answer"]


@virtual
@pytest.mark.promise("I-46")
@pytest.mark.parametrize("behavior", [Stubborn, Keeper])
async def test_who_cancels_a_periodic_timer_hears_nothing_more_of_a_message_that_its_turn_gave_back(
    behavior: Any,
) -> None:
    """While the turn handled it the next one was sent, so that two of them wait."""
    ticks: list[float] = []
    timers: list[SendTimer] = []

    async def tick(ctx: Context) -> None:
        ticks.append(trio.current_time())
        await trio.sleep(1.5)

    def cancel(ctx: Context) -> None:
        timers[0].cancel()
        ctx.enter("cancelled")

    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        actor.tell(Job(lambda ctx: timers.append(ctx.send_every(1, tick))))
        await trio.sleep(2.25)
        actor.tell(Job(cancel), Lane.NOW)
        actor.abort_turn()
        await trio.sleep(5)

        assert len(ticks) == 1
        assert dead(opened) == {DeadReason.WITHDRAWN: 2}


@virtual
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_a_period_below_what_the_clock_tells_apart_does_not_keep_the_runtime_busy(behavior: Any) -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior, seen)
        await trio.sleep(1_000)
        actor.tell(for_behavior(behavior, Job(lambda ctx: ctx.send_every(1e-16, "tick"))))
        await trio.sleep(10.5 * TICK_S)

    assert 5 <= seen.count("tick") <= 11

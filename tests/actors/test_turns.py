"""One message, one turn: what a handler's end does to the message, the asker and the actor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorExited, Context, Down, TurnBegan, TurnEnded, TurnNoted
from greenroom.core import TurnFailed, UsageError
from greenroom.mailbox import DeadReason, Delivery, Envelope, Lane
from greenroom.supervisor import SupervisorSpec
from tests.actors.situations import (
    AT_ONCE,
    Do,
    Doer,
    Gate,
    Keeper,
    Oops,
    Quiet,
    Stubborn,
    Survivor,
    Teamster,
    dead,
    events,
    fail,
    runtime,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")


async def test_messages_are_handled_one_at_a_time_in_their_order() -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        gate = Gate()

        assert actor.tell(gate) is Delivery.ACCEPTED
        for number in range(3):
            actor.tell(number)
        await gate.entered.wait()
        await wait_all_tasks_blocked()
        assert seen == []
        gate.opened.set()
        await wait_all_tasks_blocked()

    assert seen == [0, 1, 2]


@pytest.mark.slow
async def test_a_now_message_is_handled_before_100_000_others() -> None:
    seen: list[Any] = []

    class Roomy(Quiet):
        from greenroom.mailbox import MailboxPolicy

        mailbox = MailboxPolicy(capacity=100_000)

    # The ring does not hold that many dead letters, so the record cannot be checked.
    async with runtime(is_checked=False) as opened:
        actor = await opened.spawn(Roomy, seen)
        gate = Gate()
        actor.tell(gate)
        await gate.entered.wait()
        for number in range(99_999):
            assert actor.tell(number) is Delivery.ACCEPTED
        assert actor.tell("one too many") is Delivery.FULL
        actor.tell("urgent", Lane.NOW)
        gate.opened.set()
        while not seen:
            await trio.lowlevel.checkpoint()

        assert seen[0] == "urgent"
        assert dead(opened) == {DeadReason.FULL: 1}
        actor.kill()


@pytest.mark.promise("I-4", "I-5", "I-6")
async def test_turns_are_numbered_from_one_and_end_before_their_actor() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        for number in range(3):
            actor.tell(number)
        await wait_all_tasks_blocked()
        actor.tell(Gate())
        await wait_all_tasks_blocked()
        actor.kill()
        await actor.wait_ended()

    assert [event.turn for event in events(opened, TurnBegan)] == [1, 2, 3, 4]
    ended = events(opened, TurnEnded)
    assert [(event.turn, event.state) for event in ended] == [
        (1, "completed"),
        (2, "completed"),
        (3, "completed"),
        (4, "killed"),
    ]
    assert [event.state for event in events(opened, ActorExited)] == ["killed", "completed"]


async def test_below_the_journal_a_turn_is_one_note_in_the_recorder() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Quiet)
        actor.tell("a")
        actor.tell(Gate())
        await wait_all_tasks_blocked()
        actor.abort_turn()
        await wait_all_tasks_blocked()

    assert [(event.turn, event.state) for event in events(opened, TurnNoted)] == [(1, "completed"), (2, "killed")]
    assert events(opened, TurnEnded) == []


async def test_the_answer_and_the_acknowledgement_are_committed_with_the_turn() -> None:
    """Until the handler has returned, the asker has no answer and the mailbox still has the message."""
    answers = []
    gate = Gate()

    async def reply_then_wait(ctx: Context) -> None:
        ctx.reply("early")
        await gate(ctx)

    async with runtime() as opened, trio.open_nursery() as nursery:
        actor = await opened.spawn(Doer)

        async def ask() -> None:
            answers.append(await actor.ask(Do(reply_then_wait)))

        nursery.start_soon(ask)
        await gate.entered.wait()
        await wait_all_tasks_blocked()
        assert answers == []
        assert actor.statistics().leased == 1
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert answers == ["early"]
        assert actor.statistics().leased == 0


async def test_an_answer_of_a_turn_that_fails_is_not_sent() -> None:
    async def reply_then_fail(ctx: Context) -> None:
        ctx.reply("never")
        raise Oops

    async with runtime() as opened:
        actor = await opened.spawn(Survivor)

        with pytest.raises(TurnFailed) as caught:
            await actor.ask(Do(reply_then_fail))

        assert isinstance(caught.value.__cause__, Oops)
        assert caught.value.actor == actor.id


async def test_a_reply_is_given_once_and_only_to_an_ask() -> None:
    errors: list[UsageError] = []

    async def reply_twice(ctx: Context) -> None:
        ctx.reply(1)
        with pytest.raises(UsageError) as caught:
            ctx.reply(2)
        errors.append(caught.value)

    async def reply_to_nobody(ctx: Context) -> None:
        with pytest.raises(UsageError) as caught:
            ctx.reply(1)
        errors.append(caught.value)

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        assert await actor.ask(Do(reply_twice)) == 1
        actor.tell(reply_to_nobody)
        await wait_all_tasks_blocked()

    assert len(errors) == 2


# --- messages whose turn did not finish -------------------------------------------------------------------------------


@pytest.mark.promise("I-12")
async def test_by_default_a_message_whose_turn_fails_or_is_aborted_is_a_dead_letter() -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer)
        gate = Gate()
        actor.tell(fail)
        actor.tell(gate)
        await gate.entered.wait()
        actor.abort_turn()
        await wait_all_tasks_blocked()

        assert dead(opened) == {DeadReason.FAILED: 1, DeadReason.ABORTED: 1}
        assert actor.statistics().acked == 0


async def test_a_requeued_message_is_tried_three_times_and_then_poison() -> None:
    attempts = 0

    async def fail_again(ctx: Context) -> None:
        nonlocal attempts
        attempts += 1
        raise Oops

    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Stubborn, seen)
        actor.tell(fail_again)
        actor.tell("behind")
        await wait_all_tasks_blocked()

        assert attempts == 3
        assert dead(opened) == {DeadReason.POISON: 1}
        assert seen == ["behind"]


@pytest.mark.parametrize(("failures", "is_poison"), [(2, False), (9, True)])
async def test_a_kept_message_comes_back_until_it_has_failed_three_times(failures: int, is_poison: bool) -> None:
    """Else one message that fails whoever takes it would end its actor, and then its supervisor."""
    attempts = 0

    async def fail_first(ctx: Context) -> None:
        nonlocal attempts
        attempts += 1
        if attempts <= failures:
            raise Oops

    async with runtime(SupervisorSpec(backoff=AT_ONCE, intensity=9)) as opened:
        actor = await opened.spawn(Keeper)
        actor.tell(fail_first)
        await wait_all_tasks_blocked()

        assert attempts == 3
        assert dead(opened) == ({DeadReason.POISON: 1} if is_poison else {})


async def test_aborts_are_not_held_against_a_kept_message() -> None:
    async def enter_another_state(ctx: Context) -> None:
        ctx.enter(object())

    async with runtime() as opened:
        actor = await opened.spawn(Keeper)
        actor.tell(Gate())
        for _ in range(5):
            await wait_all_tasks_blocked()
            assert actor.is_busy
            actor.abort_turn()
            await wait_all_tasks_blocked()
            actor.tell(enter_another_state)
        await wait_all_tasks_blocked()

        assert actor.is_busy
        assert dead(opened) == {}


async def test_an_ask_is_answered_with_the_error_and_never_run_again() -> None:
    runs = 0

    async def count_and_fail(ctx: Context) -> None:
        nonlocal runs
        runs += 1
        raise Oops

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Stubborn)
        with pytest.raises(TurnFailed):
            await actor.ask(Do(count_and_fail))
        await wait_all_tasks_blocked()

        assert runs == 1


async def test_an_acknowledged_message_is_not_seen_again_however_the_turn_ends() -> None:
    runs = 0

    async def acknowledge_and_fail(ctx: Context) -> None:
        nonlocal runs
        runs += 1
        ctx.acknowledge()
        ctx.acknowledge()
        raise Oops

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Stubborn)
        actor.tell(acknowledge_and_fail)
        await wait_all_tasks_blocked()

        assert runs == 1
        assert dead(opened) == {}
        assert actor.statistics().acked == 1


async def test_more_messages_may_be_drained_in_a_turn_and_go_back_if_it_crashes() -> None:
    batches: list[tuple[str, ...]] = []

    async def drain(ctx: Context) -> None:
        lease = ctx.drain(str, 9)
        batches.append(lease.messages)
        if len(batches) == 1:
            raise Oops
        lease.ack()

    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer, seen)
        for message in (drain, drain, "a", "b"):
            actor.tell(message)
        await wait_all_tasks_blocked()

    assert batches == [("a", "b"), ()]
    assert seen == ["a", "b"]


async def test_a_plan_picks_from_all_that_waits_and_what_it_took_goes_back_if_the_turn_crashes() -> None:
    plans: list[list[Any]] = []
    gate = Gate()

    async def pick(ctx: Context) -> None:
        if not plans:
            await gate(ctx)

        def plan(waiting: Sequence[Envelope[Any]]) -> list[Envelope[Any]]:
            plans.append([one.message for one in waiting])
            return [one for one in waiting if one.message in {"b", "c"}]

        lease = ctx.pick(plan)
        if len(plans) == 1:
            raise Oops
        lease.ack()

    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer, seen)
        actor.tell(pick)
        await gate.entered.wait()
        for message, lane in (("a", Lane.NEXT), ("b", Lane.NEXT), ("c", Lane.LATER), (pick, Lane.NOW)):
            actor.tell(message, lane)
        gate.opened.set()
        await wait_all_tasks_blocked()

    assert plans == [[pick, "a", "b", "c"], ["b", "a", "c"]], "to the front of their lanes"
    assert seen == ["a"]


async def test_what_was_told_can_be_taken_back_until_a_turn_has_it() -> None:
    gate = Gate()
    seen: list[Any] = []
    one, other, equal = ["one"], ["other"], ["one"]
    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        actor.tell(gate)
        await gate.entered.wait()
        actor.tell(one)
        actor.tell(other, Lane.LATER)

        assert actor.still_waiting([other, equal, one, gate]) == [other, one]
        assert not actor.withdraw(equal), "the very object, not one that is equal"
        assert not actor.withdraw(gate), "a turn has it"
        assert actor.withdraw(one)
        assert not actor.withdraw(one)
        assert actor.still_waiting([other, one]) == [other]
        gate.opened.set()
        await wait_all_tasks_blocked()
        assert dead(opened) == {DeadReason.WITHDRAWN: 1}

    assert seen == [other]


async def test_a_signal_is_not_drained_whatever_the_class() -> None:
    drained: list[Any] = []
    seen: list[Any] = []
    gate = Gate()

    async def watch_and_drain(ctx: Context) -> None:
        ctx.watch(watched)
        await gate(ctx)
        with ctx.drain(object, 9) as lease:
            drained.extend(lease.messages)

    async with runtime() as opened:
        watched = await opened.spawn(Doer)
        actor = await opened.spawn(Doer, seen)
        actor.tell(watch_and_drain)
        await gate.entered.wait()
        watched.kill()
        await watched.wait_ended()
        actor.tell("a")
        gate.opened.set()
        await wait_all_tasks_blocked()

    assert drained == ["a"]
    assert [type(one) for one in seen] == [Down]


async def test_an_actor_that_goes_on_after_failures_keeps_its_incarnation() -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Survivor, seen)
        actor.tell(fail)
        actor.tell("next")
        await wait_all_tasks_blocked()

        assert seen == ["next"]
        assert opened.tree().children[0].incarnation == 1
        assert dead(opened) == {DeadReason.FAILED: 1}


async def test_our_own_errors_crash_even_an_actor_that_goes_on_after_failures() -> None:
    from greenroom.core import InternalError

    async def break_promise(ctx: Context) -> None:
        raise InternalError("a promise does not hold")

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Survivor)
        actor.tell(break_promise)
        await wait_all_tasks_blocked()

        assert opened.tree().children[0].incarnation == 2


async def test_a_turn_can_wait_for_mail_and_leaves_it_where_it_is() -> None:
    seen: list[Any] = []

    async def wait(ctx: Context) -> None:
        seen.append(ctx.has_mail)
        await ctx.wait_mail()
        seen.append(ctx.has_mail)

    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        actor.tell(wait)
        await wait_all_tasks_blocked()
        assert actor.is_busy
        actor.tell(7)
        await wait_all_tasks_blocked()
        assert seen == [False, True, 7]

        actor.tell(wait)
        await wait_all_tasks_blocked()
        assert (await actor.abort_turn().wait_ended()).state == "killed"
        actor.tell(8)
        await wait_all_tasks_blocked()

    assert seen == [False, True, 7, False, 8]


async def test_mail_is_waited_for_in_a_turn_only() -> None:
    class Early(Doer):
        async def on_start(self, ctx: Context) -> None:
            with pytest.raises(UsageError):
                await ctx.wait_mail()

    async with runtime() as opened:
        actor = await opened.spawn(Early)
        assert not actor.is_busy


async def test_a_task_that_may_outlive_the_turn_does_not_wait_for_mail() -> None:
    """It would still wait when the actor itself does, and a mailbox has one consumer."""
    refused: list[UsageError] = []

    async def wait(ctx: Context) -> None:
        with pytest.raises(UsageError) as caught:
            await ctx.wait_mail()
        refused.append(caught.value)

    async def begin(ctx: Context) -> None:
        ctx.start_soon(wait, ctx)
        await wait_all_tasks_blocked()
        ctx.turn.start_soon(ctx.wait_mail)
        await wait_all_tasks_blocked()

    async with runtime() as opened:
        actor = await opened.spawn(Teamster)
        actor.tell(begin)
        await wait_all_tasks_blocked()

        assert len(refused) == 1
        assert opened.tree().children[0].incarnation == 1


async def test_a_context_kept_beyond_its_incarnation_touches_nothing_of_the_next_one() -> None:
    kept: list[Context] = []

    async def keep(ctx: Context) -> None:
        kept.append(ctx)
        raise Oops

    async def job(ctx: Context) -> None:
        await gate(ctx)
        ctx.reply("its own")

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(keep)
        await trio.sleep(10)
        gate = Gate()
        answers: list[Any] = []

        async def ask() -> None:
            answers.append(await actor.ask(Do(job)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await gate.entered.wait()
            actor.tell("waits")
            (old,) = kept
            for touch in (
                lambda: old.reply("a stranger's"),
                old.acknowledge,
                lambda: old.drain(str, 1),
                lambda: old.pick(list),
                lambda: old.watch(actor),
            ):
                with pytest.raises(UsageError, match="has ended"):
                    touch()
            gate.opened.set()

        assert answers == ["its own"]

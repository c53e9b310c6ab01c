"""Asks: each settles exactly once, with the answer or with the error that says why there is none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ASK_TIMEOUT_S, Context, Down
from greenroom.core import ActorEnded, AskTimedOut, TurnFailed, TurnKilled, Undelivered, UsageError
from greenroom.mailbox import BUDGET, DeadReason, Lane, MailboxPolicy
from greenroom.supervisor import ChildSpec, SupervisorSpec
from tests.actors.situations import AT_ONCE, Do, Doer, Gate, PlainDoer, Quiet, dead, fail, fail_plainly, runtime

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")


async def say_yes(ctx: Context) -> None:
    ctx.reply("yes")


async def say_nothing(ctx: Context) -> None:
    pass


def say_yes_plainly(ctx: Context) -> None:
    ctx.reply("yes")


def say_nothing_plainly(ctx: Context) -> None:
    pass


@pytest.mark.parametrize(("behavior", "job"), [(Doer, say_yes), (Quiet, say_yes), (PlainDoer, say_yes_plainly)])
async def test_an_ask_returns_what_was_replied(behavior: Any, job: Any) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(behavior)

        assert await actor.ask(Do(job)) == "yes"
        assert opened.statistics().open_timers == 0


@pytest.mark.parametrize(
    ("behavior", "job"), [(Doer, say_nothing), (Quiet, say_nothing), (PlainDoer, say_nothing_plainly)]
)
async def test_an_ask_that_is_not_answered_fails_at_once(behavior: Any, job: Any) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        with pytest.raises(TurnFailed):
            await actor.ask(Do(job))

        assert trio.current_time() == 0
        assert opened.tree().children[0].incarnation == 1


@pytest.mark.parametrize(("behavior", "job"), [(Doer, fail), (PlainDoer, fail_plainly)])
async def test_an_ask_whose_handler_raises_gets_the_error(behavior: Any, job: Any) -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(behavior)
        with pytest.raises(TurnFailed) as caught:
            await actor.ask(Do(job))

        assert type(caught.value.__cause__).__name__ == "Oops"
        assert dead(opened) == {DeadReason.FAILED: 1}


async def test_an_ask_whose_turn_is_aborted_hears_who_did_it_and_why() -> None:
    errors = []
    async with runtime() as opened, trio.open_nursery() as nursery:
        actor = await opened.spawn(Doer)

        async def ask() -> None:
            with pytest.raises(TurnKilled) as caught:
                await actor.ask(Do(Gate()))
            errors.append((caught.value.who, caught.value.why))

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        actor.abort_turn(why="enough")

    assert errors == [("host", "enough")]


@pytest.mark.promise("I-33")
@pytest.mark.parametrize("timeout_s", [0.0, 0.5, 30.0])
async def test_an_ask_that_takes_too_long_is_over_at_its_deadline(timeout_s: float) -> None:
    gate = Gate()
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        with pytest.raises(AskTimedOut) as caught:
            await actor.ask(Do(gate), timeout_s=timeout_s)

        assert timeout_s <= trio.current_time() <= timeout_s + 1 / 64
        assert (caught.value.actor, caught.value.timeout_s) == (actor.id, timeout_s)
        gate.opened.set()


async def test_by_default_an_ask_waits_thirty_seconds() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        with pytest.raises(AskTimedOut):
            await actor.ask(Do(Gate()))

        assert trio.current_time() == ASK_TIMEOUT_S == 30
        actor.abort_turn()


async def test_an_ask_without_a_limit_is_written_as_infinite() -> None:
    async def answer_late(ctx: Context) -> None:
        await trio.sleep(1_000)
        ctx.reply("at last")

    async with runtime() as opened:
        actor = await opened.spawn(Doer)

        assert await actor.ask(Do(answer_late), timeout_s=math.inf) == "at last"


@pytest.mark.parametrize("timeout_s", [-1.0, math.nan])
async def test_a_limit_that_makes_no_sense_is_refused_before_anything_is_sent(timeout_s: float) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        with pytest.raises(UsageError):
            await actor.ask(Do(say_yes), timeout_s=timeout_s)

        assert actor.statistics().accepted == 0


@pytest.mark.promise("I-33")
async def test_a_late_reply_is_a_dead_letter() -> None:
    async def answer_late(ctx: Context) -> None:
        await trio.sleep(2)
        ctx.reply("too late")

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        with pytest.raises(AskTimedOut):
            await actor.ask(Do(answer_late), timeout_s=1)
        await trio.sleep(5)

        assert dead(opened) == {DeadReason.LATE_REPLY: 1}
        assert opened.dead_letters.latest()[0].message == "too late"


@pytest.mark.promise("I-33")
@pytest.mark.parametrize("is_timeout", [True, False])
async def test_an_ask_that_nobody_waits_for_any_more_is_not_run(is_timeout: bool) -> None:
    runs = []

    async def job(ctx: Context) -> None:
        runs.append(1)

    gate = Gate()
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(gate)
        if is_timeout:
            with pytest.raises(AskTimedOut):
                await actor.ask(Do(job), timeout_s=1)
        else:
            with trio.move_on_after(1):
                await actor.ask(Do(job))
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert runs == []
        assert dead(opened) == {DeadReason.EXPIRED if is_timeout else DeadReason.WITHDRAWN: 1}
        assert opened.statistics().open_timers == 0


@pytest.mark.promise("I-14", "I-33")
@pytest.mark.parametrize("timeout_s", [30, math.inf])
async def test_a_cancelled_ask_is_taken_back_at_once_and_frees_its_place(timeout_s: float) -> None:
    """However many there are, they leave nothing behind in the mailbox of an actor that is busy."""

    class Small(Doer):
        mailbox = MailboxPolicy(capacity=3)

    gate = Gate()
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Small, seen)
        actor.tell(gate)
        actor.tell("before")
        for _ in range(100):
            with trio.move_on_after(1):
                await actor.ask(Do(say_yes), timeout_s=timeout_s)
        assert actor.statistics().next == 1
        assert len(actor.cell.mailbox.lanes.of(Lane.NEXT)) <= 20
        actor.tell("after")
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert seen == ["before", "after"]
        assert dead(opened) == {DeadReason.WITHDRAWN: 100}


@pytest.mark.promise("I-33")
async def test_a_cancelled_ask_that_was_postponed_is_taken_back_too() -> None:
    async def postpone(ctx: Context) -> None:
        ctx.postpone()

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        with trio.move_on_after(1):
            await actor.ask(Do(postpone))

        assert actor.statistics().postponed == 0
        assert dead(opened) == {DeadReason.WITHDRAWN: 1}


@pytest.mark.promise("I-22", "I-33")
@pytest.mark.parametrize("cascade", [True, False])
async def test_a_cancelled_ask_that_has_begun_aborts_its_turn_on_request(cascade: bool) -> None:
    gate = Gate()
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        with trio.move_on_after(1):
            await actor.ask(Do(gate), cascade=cascade)
        actor.tell("next")
        await wait_all_tasks_blocked()

        assert seen == (["next"] if cascade else [])
        assert actor.is_busy is not cascade
        gate.opened.set()


async def test_a_cancelled_ask_aborts_no_other_turn() -> None:
    gate = Gate()
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(gate)
        with trio.move_on_after(1):
            await actor.ask(Do(say_yes), cascade=True)

        assert actor.is_busy
        gate.opened.set()


@pytest.mark.promise("I-33")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_asking_an_actor_that_has_ended_fails_at_once(behavior: Any) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        actor.kill()
        await actor.wait_ended()
        with pytest.raises(ActorEnded) as caught:
            await actor.ask(Do(say_yes))

        assert (caught.value.actor, caught.value.state) == (actor.id, "killed")
        assert dead(opened) == {DeadReason.ENDED: 1}


@pytest.mark.promise("I-33")
async def test_a_queued_ask_fails_when_its_actor_ends_and_the_one_in_hand_too() -> None:
    errors: list[Exception] = []
    async with runtime() as opened, trio.open_nursery() as nursery:
        actor = await opened.spawn(Doer)

        async def ask(job: Any) -> None:
            with pytest.raises((ActorEnded, TurnKilled)) as caught:
                await actor.ask(Do(job))
            errors.append(caught.value)

        nursery.start_soon(ask, Gate())
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, say_yes)
        await wait_all_tasks_blocked()
        actor.kill("over")

    assert sorted(type(error).__name__ for error in errors) == ["ActorEnded", "TurnKilled"]


async def test_a_queued_ask_survives_a_restart() -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer)
        actor.tell(fail)

        assert await actor.ask(Do(say_yes)) == "yes"
        assert opened.tree().children[0].incarnation == 2


async def test_an_ask_that_does_not_fit_is_undelivered() -> None:
    class Small(Doer):
        mailbox = MailboxPolicy(capacity=1)

    async with runtime() as opened:
        actor = await opened.spawn(Small)
        gate = Gate()
        actor.tell(gate)
        await gate.entered.wait()
        with pytest.raises(Undelivered) as caught:
            await actor.ask(Do(say_yes))

        assert caught.value.delivery == "full"
        assert opened.statistics().open_timers == 0
        gate.opened.set()


@pytest.mark.promise("I-34")
async def test_an_asker_hears_the_answer_and_not_the_end_that_followed_it() -> None:
    order: list[Any] = []

    async def reply_and_die(ctx: Context) -> None:
        ctx.reply("last words")
        ctx.ref.kill()

    async with runtime() as opened:
        asked = await opened.spawn(Doer)

        async def ask(ctx: Context) -> None:
            ctx.watch(asked)
            order.append(await asked.ask(Do(reply_and_die)))

        asker = await opened.spawn(Doer, order)
        asker.tell(ask)
        await wait_all_tasks_blocked()

    assert order[0] == "last words"
    assert isinstance(order[1], Down)


@pytest.mark.promise("I-34")
async def test_an_asker_hears_the_answer_of_a_turn_that_was_let_finish() -> None:
    gate = Gate()

    async def reply_at_last(ctx: Context) -> None:
        await gate(ctx)
        ctx.reply("at last")

    async with runtime() as opened:
        asked = await opened.spawn(Doer)
        answers: list[Any] = []

        async def ask(ctx: Context) -> None:
            answers.append(await asked.ask(Do(reply_at_last)))

        asker = await opened.spawn(Doer)
        asker.tell(ask)
        await gate.entered.wait()
        asked.stop()
        gate.opened.set()
        await asked.wait_ended()
        await wait_all_tasks_blocked()

    assert answers == ["at last"]


async def test_many_asks_wait_side_by_side_and_each_gets_its_own_answer() -> None:
    answers: dict[int, int] = {}
    async with runtime() as opened:
        actor = await opened.spawn(Doer, spec=ChildSpec())

        async def ask(number: int) -> None:
            async def job(ctx: Context) -> None:
                await trio.lowlevel.checkpoint()
                ctx.reply(number * 10)

            answers[number] = await actor.ask(Do(job))

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(ask, number)

    assert answers == {number: number * 10 for number in range(20)}


@pytest.mark.parametrize(("behavior", "job"), [(Doer, say_yes), (PlainDoer, say_yes_plainly)])
async def test_a_pile_of_expired_asks_is_cleared_away_with_pauses(behavior: Any, job: Any) -> None:
    count = 5 * BUDGET
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        actor.suspend()

        async def ask() -> None:
            with pytest.raises(AskTimedOut):
                await actor.ask(Do(job), timeout_s=1)

        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(ask)
        actor.resume()
        seen = set()
        while (died := actor.statistics().died) < count:
            seen.add(died)
            await trio.lowlevel.checkpoint()

        assert seen - {0}  # somebody else ran in the middle of it
        assert dead(opened) == {DeadReason.EXPIRED: count}


@pytest.mark.parametrize("timeout_s", [math.inf, 1e308])
async def test_an_ask_may_wait_longer_than_any_clock_counts(timeout_s: float) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)

        assert await actor.ask(Do(say_yes), timeout_s=timeout_s) == "yes"

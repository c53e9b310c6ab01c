"""Draining: nothing new is taken, what waits is handled, then the actor ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import DrainRequested, Request, State
from greenroom.core import Closed, UsageError
from greenroom.mailbox import DeadReason, Delivery, Lane, Mailbox, MailboxPolicy
from greenroom.supervisor import Backoff, ChildSpec, Restart, Strategy, SupervisorSpec
from greenroom.testing import run_virtual
from tests.actors.situations import AT_ONCE, Deaf, Doer, Gate, PlainDoer, dead, events, fail, fail_plainly, runtime

if TYPE_CHECKING:
    from greenroom.actors import Context

virtually = pytest.mark.usefixtures("virtual_time")
KINDS = pytest.mark.parametrize("behavior", [Doer, PlainDoer])


@pytest.mark.promise("I-12", "I-17", "I-24")
@given(
    before=st.lists(st.tuples(st.sampled_from(["message", "fail"]), st.sampled_from(Lane)), max_size=40),
    is_plain=st.booleans(),
    restart=st.sampled_from([Restart.PERMANENT, Restart.TRANSIENT]),
    choices=st.lists(st.integers(0, 5), max_size=30),
)
def test_whatever_was_accepted_is_handled_and_nothing_else_is(
    before: list[tuple[str, Lane]], is_plain: bool, restart: Restart, choices: list[int]
) -> None:
    seen: list[Any] = []

    async def scenario() -> None:
        async with runtime(SupervisorSpec(intensity=100, backoff=AT_ONCE)) as opened:
            began = trio.current_time()
            actor: Any = await opened.spawn(PlainDoer if is_plain else Doer, seen, spec=ChildSpec(restart=restart))
            for number, (what, lane) in enumerate(before):
                job = fail_plainly if is_plain else fail
                assert actor.tell(number if what == "message" else job, lane) is Delivery.ACCEPTED
            actor.drain()
            assert [actor.tell("late", lane) for lane in Lane] == [Delivery.CLOSED] * 3
            down = await actor.wait_ended()

            assert trio.current_time() == began, "it waited for its grace"
            assert down.state is State.COMPLETED
            assert sorted(seen) == [number for number, (what, _) in enumerate(before) if what == "message"]
            failed = sum(what == "fail" for what, _ in before)
            assert dead(opened) == {DeadReason.ENDED: 3} | ({DeadReason.FAILED: failed} if failed else {})
            assert len(events(opened, DrainRequested)) == 1

    run_virtual(scenario, choices=choices)


@virtually
@KINDS
async def test_an_idle_actor_ends_at_once_and_does_not_come_back(behavior: Any) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(behavior, spec=ChildSpec(restart=Restart.PERMANENT))
        actor.drain()
        actor.drain()
        await wait_all_tasks_blocked()

        assert actor.is_gone
        actor.drain()


@virtually
async def test_asks_that_wait_are_answered() -> None:
    class Question(Request[int]):
        pass

    class Answers(Doer):
        async def on_message(self, message: Any, ctx: Context) -> None:
            if isinstance(message, Question):
                ctx.reply(42)
            else:
                await super().on_message(message, ctx)

    answers: list[int] = []
    async with runtime() as opened, trio.open_nursery() as nursery:
        actor = await opened.spawn(Answers)
        gate = Gate()
        actor.tell(gate)

        async def ask() -> None:
            answers.append(await actor.ask(Question()))

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        actor.drain()
        gate.opened.set()
        assert (await actor.wait_ended()).state is State.COMPLETED

    assert answers == [42]


@virtually
async def test_after_its_grace_it_is_stopped_and_what_still_waits_is_dead() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer, spec=ChildSpec(grace_s=1))
        for job in (Gate(), "waits"):
            actor.tell(job)
        actor.drain(grace_s=3)
        began = trio.current_time()
        down = await actor.wait_ended()

        assert (down.state, trio.current_time() - began) == (State.COMPLETED, 4)  # 3 s of grace, 1 s for the turn
        assert dead(opened) == {DeadReason.ABORTED: 1, DeadReason.ENDED: 1}


@virtually
async def test_signals_are_still_heard_and_a_suspended_actor_waits() -> None:
    heard: list[Any] = []

    class Hears(Doer):
        async def on_signal(self, signal: Any, ctx: Context) -> None:
            heard.append(signal.actor)

    async with runtime() as opened:
        other = await opened.spawn(Doer)

        async def look(ctx: Context) -> None:
            ctx.watch(other)

        actor = await opened.spawn(Hears)
        deaf = Deaf(1)
        for job in (look, deaf):
            actor.tell(job)
        await deaf.entered.wait()
        actor.suspend()
        actor.drain()
        other.stop()
        await trio.sleep(5)
        assert not actor.is_gone
        actor.resume()
        await wait_all_tasks_blocked()

        assert actor.is_gone
        assert heard == [other.id]


@virtually
@pytest.mark.parametrize("grace_s", [-1, float("inf"), float("nan")])
async def test_a_grace_is_a_number_of_seconds(grace_s: float) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        with pytest.raises(UsageError, match="number of seconds"):
            actor.drain(grace_s=grace_s)


@virtually
async def test_a_producer_that_waits_for_a_place_is_told() -> None:
    mailbox: Mailbox[str] = Mailbox("m", policy=MailboxPolicy(capacity=1))
    await mailbox.put("a")
    async with trio.open_nursery() as nursery:

        async def put() -> None:
            with pytest.raises(Closed):
                await mailbox.put("b")

        nursery.start_soon(put)
        await wait_all_tasks_blocked()
        mailbox.refuse_new("enough")
        mailbox.refuse_new("again")

    lease = await mailbox.get()
    lease.nack()
    assert (await mailbox.get()).message == "a"
    assert mailbox.is_draining
    mailbox.close("over")
    assert not mailbox.is_draining
    with pytest.raises(Closed, match="over"):
        await mailbox.get()


@virtually
@pytest.mark.promise("I-3", "I-12")
@KINDS
@pytest.mark.parametrize("first_s", [0.0, 2.0])
async def test_who_is_between_two_incarnations_takes_nothing_new_and_handles_the_rest(
    behavior: Any, first_s: float
) -> None:
    """It is held while its supervisor waits for the turn of a neighbour, or backs off."""
    seen: list[Any] = []
    job = fail_plainly if behavior is PlainDoer else fail
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=Backoff(first_s=first_s, jitter=0))
    async with runtime(spec) as opened:
        actor = await opened.spawn(behavior, seen)
        neighbour = await opened.spawn(Doer)
        deaf = Deaf(2)
        neighbour.tell(deaf)
        for message in (job, "waits"):
            actor.tell(message)
        await deaf.entered.wait()
        await wait_all_tasks_blocked()
        actor.drain()
        assert actor.tell("late") is Delivery.CLOSED
        assert seen == []
        began = trio.current_time()
        down = await actor.wait_ended()

        assert (seen, down.state) == (["waits"], State.COMPLETED)
        assert trio.current_time() - began <= 2 + first_s
        assert len(events(opened, DrainRequested)) == 1

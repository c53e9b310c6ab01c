"""States of an actor's own, and messages that wait for another one."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorEntered, Behavior, Context, Request, State, Unfinished
from greenroom.core import AskTimedOut, Level, StashFull, TurnFailed, UsageError
from greenroom.mailbox import DeadReason, Delivery, Lane, MailboxPolicy, MessagePostponed
from greenroom.supervisor import SupervisorSpec
from greenroom.testing import run_virtual
from tests.actors.situations import (
    AT_ONCE,
    Do,
    Doer,
    Gate,
    Keeper,
    Oops,
    PlainDoer,
    Survivor,
    dead,
    events,
    fail,
    runtime,
)

if TYPE_CHECKING:
    from collections.abc import Callable

virtual = pytest.mark.usefixtures("virtual_time")


class Door(Enum):
    SHUT = "shut"
    OPEN = "open"


# --- any order --------------------------------------------------------------------------------------------------------


@attrs.frozen
class Step:
    """Needs a state, or is postponed; then enters one, or fails, or is aborted after its wait."""

    number: int
    needs: int | None
    enters: int | None
    ends: str


class Stepper(Behavior[Step]):
    journal = Level.FULL
    on_failure = "continue"
    mailbox = MailboxPolicy(stash_capacity=3)

    def __init__(self, seen: list[tuple[int, Any]]) -> None:
        self.seen = seen

    async def on_message(self, message: Step, ctx: Context) -> None:
        step_through(self.seen, message, ctx)
        if message.ends == "abort":
            ctx.ref.abort_turn()
            await trio.lowlevel.checkpoint()


class PlainStepper(Stepper):
    def on_message(self, message: Step, ctx: Context) -> None:  # type: ignore[override]
        step_through(self.seen, message, ctx)
        if message.ends == "abort":
            raise Oops


def step_through(seen: list[tuple[int, Any]], message: Step, ctx: Context) -> None:
    seen.append((message.number, ctx.state))
    if message.enters is not None:
        ctx.enter(message.enters)
        assert ctx.state == message.enters
    if message.needs is not None and message.needs != seen[-1][1]:
        ctx.postpone()
    if message.ends == "fail":
        raise Oops


def expected(steps: list[Step]) -> tuple[list[tuple[int, Any]], list[int], list[tuple[int, str]]]:
    """Return what is seen, what stays postponed and what died, by the rule in a few lines."""
    seen: list[tuple[int, Any]] = []
    lane, stash, died = deque(steps), list[Step](), list[tuple[int, str]]()
    state = None
    while lane:
        one = lane.popleft()
        seen.append((one.number, state))
        is_postponed = one.needs is not None and one.needs != state
        if is_postponed and len(stash) == 3:
            died.append((one.number, "stash_overflow"))
            continue
        if one.ends:
            died.append((one.number, "failed"))
            continue
        if is_postponed:
            stash.append(one)
        if one.enters is not None and one.enters != state:
            state = one.enters
            lane.extendleft(sorted(stash, key=lambda one: -one.number))
            stash.clear()
    return seen, [one.number for one in stash], died


STATES = st.sampled_from([None, 1, 2])
PROGRAMS = st.lists(
    st.tuples(STATES, st.sampled_from([None, None, 1, 2]), st.sampled_from(["", "", "fail", "abort"])), max_size=12
)


@pytest.mark.promise("I-10", "I-12", "I-19")
@pytest.mark.parametrize("behavior", [Stepper, PlainStepper])
@given(program=PROGRAMS, seed=st.integers(0, 2))
def test_what_is_postponed_comes_back_with_another_state_in_order(
    behavior: Any, program: list[tuple[int | None, int | None, str]], seed: int
) -> None:
    steps = [Step(number, *rest) for number, rest in enumerate(program)]
    # A message that enters a state and is postponed forever would come back forever.
    steps = [attrs.evolve(step, enters=None) if step.needs is not None else step for step in steps]
    seen: list[tuple[int, Any]] = []
    postponed: list[int] = []
    died: list[tuple[int, str]] = []

    async def scenario() -> None:
        async with runtime() as opened:
            actor = await opened.spawn(behavior, seen)
            for step in steps:
                actor.tell(step)
            await wait_all_tasks_blocked()
            assert actor.statistics().postponed == len(expected(steps)[1])
            died.extend((letter.message.number, letter.reason.value) for letter in opened.dead_letters.latest())
        postponed.extend(
            letter.message.number for letter in opened.dead_letters.latest() if letter.reason is DeadReason.ENDED
        )

    run_virtual(scenario, choices=seed)

    is_plain = behavior is PlainStepper
    died = [(number, "failed" if why == "aborted" and not is_plain else why) for number, why in died]
    assert (seen, postponed, died) == expected(steps)


# --- states -----------------------------------------------------------------------------------------------------------


@virtual
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_a_state_is_entered_with_the_commit_and_on_record(behavior: Any) -> None:
    looks: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        for job in (look(looks), entering(Door.OPEN), look(looks), entering(Door.OPEN)):
            actor.tell(job if behavior is Doer else job.plain)
        await wait_all_tasks_blocked()

    assert looks == [None, Door.OPEN]
    assert [event.state for event in events(opened, ActorEntered)] == [repr(Door.OPEN)]


@virtual
@pytest.mark.parametrize("how", ["fail", "abort"])
async def test_a_turn_that_does_not_finish_changes_no_state(how: str) -> None:
    looks: list[Any] = []

    async def enter_in_vain(ctx: Context) -> None:
        ctx.enter(Door.OPEN)
        looks.append(ctx.state)
        if how == "fail":
            raise Oops
        ctx.ref.abort_turn()
        await trio.sleep(1)

    async with runtime() as opened:
        actor = await opened.spawn(Survivor)
        for job in (entering(Door.SHUT), enter_in_vain, look(looks)):
            actor.tell(job)
        await wait_all_tasks_blocked()

    assert looks == [Door.OPEN, Door.SHUT]
    assert len(events(opened, ActorEntered)) == 1


@virtual
async def test_every_incarnation_begins_without_a_state_and_may_enter_one_at_its_start() -> None:
    looks: list[Any] = []

    class Starter(Doer):
        async def on_start(self, ctx: Context) -> None:
            looks.append(ctx.state)
            ctx.enter(Door.SHUT)
            looks.append(ctx.state)

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Starter)
        for job in (entering(Door.OPEN), fail, look(looks)):
            actor.tell(job)
        await wait_all_tasks_blocked()

    assert looks == [None, Door.SHUT, None, Door.SHUT, Door.SHUT]


@virtual
async def test_a_state_without_a_hash_is_refused() -> None:
    async def enter_a_list(ctx: Context) -> None:
        with pytest.raises(UsageError, match="must be hashable"):
            ctx.enter([])  # type: ignore[arg-type]
        ctx.reply(ctx.state)

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        assert await actor.ask(Do(enter_a_list)) is None


# --- postponed messages -----------------------------------------------------------------------------------------------


@virtual
@pytest.mark.promise("I-17", "I-19")
async def test_a_restart_brings_back_in_front_what_was_postponed() -> None:
    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Picky, seen)
        for message in (1, 2):
            actor.tell(message)
        await wait_all_tasks_blocked()
        gate = Gate()
        actor.tell(gate)
        await gate.entered.wait()
        actor.tell(fail)
        actor.tell(3)
        gate.opened.set()
        await wait_all_tasks_blocked()
        assert seen == [1, 2, 1, 2, 3]
        assert actor.statistics().postponed == 3
        actor.tell(entering(Door.OPEN))
        await wait_all_tasks_blocked()

        assert seen == [1, 2, 1, 2, 3, 1, 2, 3]
        assert actor.statistics().acked == 5


@virtual
@pytest.mark.promise("I-14")
async def test_what_is_postponed_keeps_its_place_of_the_capacity() -> None:
    class Small(Picky):
        mailbox = MailboxPolicy(capacity=2)

    async with runtime() as opened:
        actor = await opened.spawn(Small)
        actor.tell(1)
        actor.tell(2)
        await wait_all_tasks_blocked()

        assert actor.statistics().postponed == 2
        assert actor.tell(3) is Delivery.FULL
        actor.tell(entering(Door.OPEN), Lane.NOW)
        await wait_all_tasks_blocked()
        assert actor.tell(3) is Delivery.ACCEPTED


@virtual
async def test_one_message_too_many_fails_its_turn_and_is_a_dead_letter() -> None:
    errors: list[StashFull] = []

    class Small(Picky):
        mailbox = MailboxPolicy(stash_capacity=1)
        on_failure = "continue"

    async def postpone_all_the_same(ctx: Context) -> None:
        with pytest.raises(StashFull) as caught:
            ctx.postpone()
        errors.append(caught.value)

    async with runtime() as opened:
        actor = await opened.spawn(Small)
        for message in (1, 2, postpone_all_the_same):
            actor.tell(message)
        await wait_all_tasks_blocked()

        assert dead(opened) == {DeadReason.STASH_OVERFLOW: 1}
        assert actor.statistics().acked == 1
        with pytest.raises(TurnFailed):
            await actor.ask(Ask(4))
    assert [(error.actor, error.postponed) for error in errors] == [(actor.id, 1)]


@virtual
@pytest.mark.promise("I-33")
async def test_an_ask_may_be_postponed_and_keeps_its_deadline() -> None:
    answers: list[Any] = []
    async with runtime() as opened, trio.open_nursery() as nursery:
        actor = await opened.spawn(Picky)

        async def ask(number: int, timeout_s: float) -> None:
            try:
                answers.append(await actor.ask(Ask(number), timeout_s=timeout_s))
            except AskTimedOut:
                answers.append("too late")

        nursery.start_soon(ask, 1, 5)
        nursery.start_soon(ask, 2, 1)
        await trio.sleep(2)
        assert answers == ["too late"]
        actor.tell(entering(Door.OPEN))
        await wait_all_tasks_blocked()

        assert answers == ["too late", 1]
        assert dead(opened) == {DeadReason.EXPIRED: 1}


@virtual
async def test_a_message_is_answered_acknowledged_or_postponed_and_only_one_of_them() -> None:
    async def postpone_last(ctx: Context) -> None:
        ctx.reply(1)
        with pytest.raises(UsageError, match="answered"):
            ctx.postpone()

    async def postpone_first(ctx: Context) -> None:
        if ctx.state is None:
            ctx.postpone()
            for let_go in (ctx.acknowledge, lambda: ctx.reply(1)):
                with pytest.raises(UsageError, match="postponed"):
                    let_go()
            ctx.enter(Door.OPEN)
        else:
            ctx.reply(2)

    async def acknowledge(ctx: Context) -> None:
        ctx.acknowledge()
        with pytest.raises(UsageError, match="acknowledged"):
            ctx.postpone()
        ctx.reply(3)

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        assert [await actor.ask(Do(job)) for job in (postpone_last, postpone_first, acknowledge)] == [1, 2, 3]


@virtual
async def test_nothing_is_postponed_outside_a_turn() -> None:
    errors: list[str] = []

    class Starter(Doer):
        async def on_start(self, ctx: Context) -> None:
            with pytest.raises(UsageError) as caught:
                ctx.postpone()
            errors.append(str(caught.value))

    async with runtime() as opened:
        await opened.spawn(Starter)
    assert len(errors) == 1


@virtual
async def test_what_was_pinned_to_an_incarnation_ends_with_it_although_it_is_postponed() -> None:
    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Picky, seen)
        actor.pinned().tell(1)
        actor.tell(2)
        await wait_all_tasks_blocked()
        actor.tell(fail)
        await wait_all_tasks_blocked()

        assert seen == [1, 2, 2]
        assert dead(opened) == {DeadReason.FAILED: 1, DeadReason.ENDED: 1}


@virtual
async def test_what_a_policy_keeps_is_postponed() -> None:
    runs = 0

    async def fail_once(ctx: Context) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise Oops

    class Patient(Keeper):
        on_failure = "continue"

    async with runtime() as opened:
        actor = await opened.spawn(Patient)
        actor.tell(fail_once)
        await wait_all_tasks_blocked()
        assert (runs, actor.statistics().postponed) == (1, 1)
        assert len(events(opened, MessagePostponed)) == 1
        actor.tell(entering(Door.OPEN))
        await wait_all_tasks_blocked()

        assert (runs, actor.statistics().acked) == (2, 2)


@virtual
async def test_more_than_a_policy_may_keep_is_a_dead_letter() -> None:
    class Small(Keeper):
        mailbox = MailboxPolicy(stash_capacity=1)
        on_failure = "continue"
        unfinished = Unfinished.KEEP

    async with runtime() as opened:
        actor = await opened.spawn(Small)
        actor.tell(fail)
        actor.tell(fail)
        await wait_all_tasks_blocked()

        assert dead(opened) == {DeadReason.STASH_OVERFLOW: 1}


# --- what these tests share -------------------------------------------------------------------------------------------


class Job:
    """A job for both kinds of behavior."""

    def __init__(self, plain: Callable[[Context], None]) -> None:
        self.plain = plain

    async def __call__(self, ctx: Context) -> None:
        self.plain(ctx)


def look(looks: list[Any]) -> Job:
    return Job(lambda ctx: looks.append(ctx.state))


def entering(state: Door) -> Job:
    return Job(lambda ctx: ctx.enter(state))


@attrs.frozen
class Ask(Request[int]):
    number: int


class Picky(Doer):
    """Takes numbers only while its door is open; jobs always."""

    async def on_message(self, message: Any, ctx: Context) -> None:
        if isinstance(message, int):
            self.seen.append(message)
        if isinstance(message, int | Ask) and ctx.state is not Door.OPEN:
            ctx.postpone()
        elif isinstance(message, Ask):
            ctx.reply(message.number)
        elif not isinstance(message, int):
            await super().on_message(message, ctx)


class NoRepr:
    def __repr__(self) -> str:
        raise Oops


class NoEq:
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise Oops


@virtual
@pytest.mark.promise("I-12", "I-38")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
@pytest.mark.parametrize("state", [NoRepr, NoEq])
async def test_a_state_that_raises_fails_the_turn_that_enters_it_and_nothing_else(behavior: Any, state: Any) -> None:
    """Its own code runs at the call: in the commit it would leave half of it undone, and take the dispatcher along."""
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(behavior)
        neighbour = await opened.spawn(PlainDoer)

        def enter(ctx: Context) -> None:
            ctx.tell_on_commit(neighbour, "never")
            ctx.enter(state())

        async def enter_and_wait(ctx: Context) -> None:
            enter(ctx)

        actor.tell(enter if behavior is PlainDoer else enter_and_wait)
        await wait_all_tasks_blocked()

        assert (actor.state, neighbour.state) == (State.RUNNING, State.RUNNING)
        assert dead(opened) == {DeadReason.FAILED: 1}
        assert neighbour.statistics().reserved == 0

"""Failures that go up: a supervisor below that gives up, and what nobody may lose on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import assert_checkpoints, wait_all_tasks_blocked

from greenroom.actors import AbortStatus, ActorCreated, ActorExited, Behavior, Context, State
from greenroom.core import ActorEnded, RuntimeFailed, SupervisorFailed, TurnFailed
from greenroom.mailbox import DeadReason, Lane, MailboxPolicy
from greenroom.supervisor import (
    ChildSpec,
    Restart,
    StopOrder,
    Strategy,
    SupervisorEscalated,
    SupervisorSpec,
    open_runtime,
)
from greenroom.testing import virtual_ports
from tests.actors.invariants import violations
from tests.actors.situations import (
    AT_ONCE,
    Do,
    Doer,
    Gate,
    Oops,
    PlainDoer,
    Teamster,
    dead,
    events,
    fail,
    fail_plainly,
    runtime,
)

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")

NEVER = SupervisorSpec(intensity=0)


@pytest.mark.promise("I-39", "I-44")
async def test_a_supervisor_that_gives_up_ends_its_children_in_reverse_order_and_lets_turns_finish() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", NEVER, escalates=False)
        first, fragile, last = [await team.spawn(Doer) for _ in range(3)]
        gates = [Gate(), Gate()]
        for actor, gate in zip((first, last), gates, strict=True):
            actor.tell(gate)
            await gate.entered.wait()
        fragile.tell(fail)
        await wait_all_tasks_blocked()
        assert not first.is_gone
        for gate in gates:
            gate.opened.set()
        down = await team.join()

        ends = [event.actor for event in events(opened, ActorExited)]
        assert ends == [fragile.id, last.id, first.id, team.id]
        assert [gate.is_through for gate in gates] == [True, True]
        assert down.state is State.FAILED


@pytest.mark.promise("I-44")
@pytest.mark.parametrize(("behavior", "job"), [(Doer, fail), (PlainDoer, fail_plainly)])
async def test_a_supervisor_that_gives_up_is_a_failure_of_those_above_up_to_the_runtime(
    behavior: Any, job: Any
) -> None:
    with pytest.raises(RuntimeFailed) as caught:
        async with open_runtime(ports=virtual_ports()) as opened:
            upper = await opened.spawn_supervisor("upper")
            lower = await upper.spawn_supervisor("lower", NEVER)
            neighbour = await upper.spawn(behavior)
            actor = await lower.spawn(behavior)
            actor.tell(job)
            await trio.sleep_forever()

    gave_up = caught.value.__cause__
    assert isinstance(gave_up, SupervisorFailed)
    assert gave_up.child == "upper"
    assert neighbour.is_gone
    assert [event.actor for event in events(opened, SupervisorEscalated)] == [lower.id, upper.id, opened.root.id]
    assert violations(opened.recorder.latest()) == []


async def test_a_supervisor_below_may_be_told_to_fail_alone() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", NEVER, escalates=False)
        mate = await team.spawn(Doer)
        mate.tell(fail)
        down = await team.ref.wait_ended()

        assert down.state is State.FAILED
        assert opened.failure is None


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_supervisor_that_is_asked_to_end_is_no_failure(how: str) -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        await team.spawn(Doer)
        getattr(team.ref, how)()
        await team.ref.wait_ended()

        assert opened.failure is None


@pytest.mark.promise("I-36", "I-38")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
@pytest.mark.parametrize("strategy", [Strategy.ONE_FOR_ALL, Strategy.REST_FOR_ONE])
async def test_a_temporary_neighbour_is_stopped_with_the_others_and_does_not_come_back(
    strategy: Strategy, behavior: Any
) -> None:
    async with runtime(SupervisorSpec(strategy=strategy, backoff=AT_ONCE)) as opened:
        fragile = await opened.spawn(Doer)
        temporary = await opened.spawn(behavior, spec=ChildSpec(restart=Restart.TEMPORARY))
        team = await opened.spawn_supervisor("team")
        mate = await team.spawn(Doer)
        lasting = await opened.spawn(behavior)
        fragile.tell(fail)
        await wait_all_tasks_blocked()

        assert temporary.is_gone
        assert team.ref.is_gone
        assert mate.is_gone
        assert opened.root.children() == [fragile, lasting]
        assert [node.incarnation for node in opened.tree().children] == [2, 2]
        assert opened.failure is None


async def test_the_failure_of_a_runtime_leaves_with_the_error_of_its_body() -> None:
    """The ask fails in the step in which the supervisor gives up."""
    with pytest.raises(TurnFailed) as caught:
        async with open_runtime(ports=virtual_ports(), spec=NEVER) as opened:
            actor = await opened.spawn(Doer)
            await actor.ask(Do(fail))

    assert isinstance(opened.failure, SupervisorFailed)
    assert caught.value.__context__ is opened.failure
    assert "the runtime failed as well" in caught.value.__notes__[0]


async def test_the_failure_of_a_runtime_is_not_hidden_by_a_group_of_cancels() -> None:
    with pytest.raises(RuntimeFailed), trio.CancelScope() as outer:
        async with open_runtime(ports=virtual_ports(), spec=NEVER) as opened, trio.open_nursery() as nursery:
            actor = await opened.spawn(Doer)
            nursery.start_soon(trio.sleep_forever)
            actor.tell(fail)
            outer.cancel()
            await trio.sleep_forever()


@pytest.mark.parametrize("lane", [Lane.NOW, Lane.NEXT])
async def test_a_letter_to_a_supervisor_is_a_dead_letter_and_no_failure(lane: Lane) -> None:
    async with runtime() as opened:
        opened.root.ref.tell("hello", lane)
        await wait_all_tasks_blocked()

        assert opened.failure is None
        assert dead(opened) == {DeadReason.UNHANDLED: 1}
        assert opened.dead_letters.latest()[0].lane is lane


@pytest.mark.slow
async def test_a_plain_actor_that_fails_again_and_again_does_not_nest() -> None:
    made = 0

    class Broken(PlainDoer):
        def __init__(self) -> None:
            nonlocal made
            made += 1
            if made > 1:
                raise Oops
            super().__init__()

    spec = SupervisorSpec(intensity=2_000, period_s=1e9, backoff=AT_ONCE)
    with pytest.raises(RuntimeFailed) as caught:
        async with open_runtime(ports=virtual_ports(), spec=spec) as opened:
            actor = await opened.spawn(Broken)
            actor.tell(fail_plainly)
            await actor.wait_ended()
            await trio.sleep_forever()

    assert isinstance(caught.value.__cause__, SupervisorFailed)
    assert made == 2_001


@pytest.mark.parametrize("error", [SystemExit("clean-up"), Oops("clean-up")])
async def test_an_error_of_the_clean_up_is_not_lost_behind_that_of_the_handler(error: BaseException) -> None:
    class Careless(Doer):
        async def on_stop(self, ctx: Context) -> None:
            raise error

    expected: Any = SystemExit if isinstance(error, SystemExit) else ValueError
    with pytest.raises(expected):
        async with open_runtime(ports=virtual_ports()) as opened:
            actor = await opened.spawn(Careless, spec=ChildSpec(restart=Restart.TEMPORARY))
            actor.tell(fail)
            down = await actor.wait_ended()
            assert isinstance(down.error, BaseExceptionGroup)
            assert [type(exception) for exception in down.error.exceptions] == [Oops, type(error)]
            raise ValueError


async def test_what_an_inner_runtime_does_is_no_consequence_of_the_outer_ones_events() -> None:
    async def open_another(ctx: Context) -> None:
        async with runtime() as inner:  # checks that every parent is an earlier event of the same recorder
            actor = await inner.spawn(Doer)
            other = await inner.spawn_supervisor("team")
            actor.tell("hello")
            actor.kill()
            down = await actor.wait_ended()
            assert down.cause is not None
            ctx.reply((down.cause.who, inner.tree().children[0].path, other.path))

    async with runtime() as outer:
        actor = await outer.spawn(Doer)
        for _ in range(50):
            actor.tell("filler")

        assert await actor.ask(Do(open_another)) == ("host", "team", "team")


async def test_a_signal_turn_may_start_tasks() -> None:
    class Busy(Doer):
        turn_tasks = True

        async def on_signal(self, signal: Any, ctx: Context) -> None:
            async def note() -> None:
                self.seen.append("noted")

            ctx.turn.start_soon(note)
            await trio.sleep(1)

    seen: list[Any] = []
    async with runtime() as opened:
        watched = await opened.spawn(Doer)
        busy = await opened.spawn(Busy, seen)

        async def watch(ctx: Context) -> None:
            ctx.watch(watched)

        busy.tell(watch)
        await wait_all_tasks_blocked()
        watched.kill()
        await trio.sleep(2)

        assert seen == ["noted"]
        assert busy.state is State.RUNNING


async def test_spawning_and_waiting_are_checkpoints_even_with_nothing_to_wait_for() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(PlainDoer)
        actor.kill()
        await actor.wait_ended()

        with assert_checkpoints():
            await opened.spawn(PlainDoer)
        with assert_checkpoints():
            await actor.wait_ended()
        with assert_checkpoints(), pytest.raises(ActorEnded):
            await actor.ask(Do(fail_plainly))


async def test_the_record_says_how_much_an_actor_holds_and_when_it_comes_back() -> None:
    class Small(Behavior[object]):
        mailbox = MailboxPolicy(capacity=7)

    async with runtime() as opened:
        small = await opened.spawn(Small, spec=ChildSpec(restart=Restart.PERMANENT))
        team = await opened.spawn_supervisor("team")

    said = {event.actor: (event.capacity, event.restart) for event in events(opened, ActorCreated)}
    assert said == {opened.root.id: (1_000, ""), small.id: (7, "permanent"), team.id: (1_000, "temporary")}


@pytest.mark.promise("I-44")
@pytest.mark.parametrize("order", StopOrder)
async def test_a_supervisor_that_gives_up_does_so_although_its_turn_is_aborted(order: StopOrder) -> None:
    """Children that are stopped together are waited for in several tasks, and these leave as a group."""
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=0, stop_order=order), escalates=False)
        busy, second, fragile = [await team.spawn(Doer) for _ in range(3)]
        gate = Gate()
        for actor in (busy, second):
            actor.tell(gate)
            await gate.entered.wait()
        fragile.tell(fail)
        await wait_all_tasks_blocked()
        for _ in range(2):
            assert team.ref.abort_turn().status is AbortStatus.ABORTED
            await wait_all_tasks_blocked()
        assert not busy.is_gone
        gate.opened.set()
        down = await team.join()

        assert (down.state, type(down.error)) == (State.FAILED, SupervisorFailed)
        assert gate.is_through


@pytest.mark.promise("I-39")
async def test_a_supervisor_gives_up_on_a_child_that_never_had_an_error() -> None:
    async def end(ctx: Context) -> None:
        assert ctx.nursery is not None
        ctx.nursery.cancel_scope.cancel()

    with pytest.raises(RuntimeFailed) as caught:
        async with runtime(NEVER) as opened:
            actor = await opened.spawn(Teamster, spec=ChildSpec(restart=Restart.PERMANENT))
            actor.tell(end)
            await trio.sleep_forever()

    assert isinstance(caught.value.__cause__, SupervisorFailed)
    assert caught.value.__cause__.__cause__ is None

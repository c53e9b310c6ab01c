"""The runtime as a block: what leaves it, what it leaves behind, and that every end of it reaches every actor."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorExited, Context, State
from greenroom.core import RuntimeFailed, Stopping, SupervisorFailed, UsageError
from greenroom.supervisor import (
    Backoff,
    ChildSpec,
    Runtime,
    Supervisor,
    SupervisorEscalated,
    SupervisorSpec,
    open_runtime,
)
from greenroom.testing import virtual_ports
from tests.actors.invariants import violations
from tests.actors.situations import (
    AT_ONCE,
    Deaf,
    Do,
    Doer,
    Gate,
    Oops,
    PlainDoer,
    dead,
    events,
    fail,
    fail_plainly,
    runtime,
)

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")


def remains(opened: Runtime) -> list[str]:
    """Return what is left of a closed runtime that should not be."""
    return violations(opened.recorder.latest())


# --- what leaves the block --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [Oops("mine"), KeyboardInterrupt(), SystemExit(3), StopAsyncIteration(), RuntimeError()]
)
async def test_what_the_body_raises_leaves_bare(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        async with open_runtime(ports=virtual_ports()) as opened:
            await opened.spawn(Doer)
            raise error

    assert caught.value is error
    assert remains(opened) == []


async def test_a_group_that_the_body_raises_leaves_as_it_is() -> None:
    group = ExceptionGroup("mine", [Oops()])
    with pytest.RaisesGroup(Oops) as caught:
        async with open_runtime(ports=virtual_ports()):
            raise group

    assert caught.value is group


async def test_a_cancel_from_outside_leaves_as_a_cancel_after_an_orderly_stop() -> None:
    gate = Gate()
    with trio.move_on_after(1) as scope:
        async with open_runtime(ports=virtual_ports()) as opened:
            actor = await opened.spawn(Doer, spec=ChildSpec(grace_s=3))
            actor.tell(gate)
            await trio.sleep_forever()

    assert scope.cancelled_caught
    assert trio.current_time() == 4
    assert remains(opened) == []


async def test_a_cancel_that_was_there_before_opens_and_closes_nothing() -> None:
    is_entered = False
    with trio.CancelScope() as scope:
        scope.cancel()
        async with open_runtime(ports=virtual_ports()) as opened:
            is_entered = True
            await opened.spawn(Doer)

    assert scope.cancelled_caught
    assert trio.current_time() == 0
    assert not is_entered


async def test_a_block_that_ends_normally_stops_everything_and_leaves_nothing() -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    async with runtime() as opened:
        for _ in range(3):
            await opened.spawn(Doer)
            await opened.spawn(PlainDoer)
        team = await opened.spawn_supervisor("team")
        await team.spawn(Doer, name="mate")

    assert trio.lowlevel.current_statistics().tasks_living == before
    assert opened.find("team/mate") is None
    assert opened.statistics().open_timers == 0
    assert opened.tree().state is State.COMPLETED


@pytest.mark.promise("I-37")
@pytest.mark.parametrize(("behavior", "job"), [(Doer, fail), (PlainDoer, fail_plainly)])
async def test_a_root_that_gives_up_cancels_the_body_and_leaves_as_one_error_with_its_causes(
    behavior: Any, job: Any
) -> None:
    is_cancelled = False
    with pytest.raises(RuntimeFailed) as caught:
        async with open_runtime(ports=virtual_ports(), spec=SupervisorSpec(intensity=2, backoff=AT_ONCE)) as opened:
            actor = await opened.spawn(behavior)
            for _ in range(5):
                actor.tell(job)
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                is_cancelled = True
                raise

    assert is_cancelled
    gave_up = caught.value.__cause__
    assert isinstance(gave_up, SupervisorFailed)
    assert (gave_up.child, gave_up.restarts) == (actor.path, 2)
    causes = gave_up.__cause__
    assert isinstance(causes, BaseExceptionGroup)
    assert [type(error) for error in causes.exceptions] == [Oops] * 3
    assert [event.restarts for event in events(opened, SupervisorEscalated)] == [2]
    assert remains(opened) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("is_plain", [False, True])
async def test_an_interrupt_that_an_actor_raises_leaves_bare(error: type[BaseException], is_plain: bool) -> None:
    async def raise_it(ctx: Context) -> None:
        raise error

    def raise_it_plainly(ctx: Context) -> None:
        raise error

    with pytest.raises(error):
        async with open_runtime(ports=virtual_ports()) as opened:
            await opened.spawn(Doer)
            actor = await opened.spawn(PlainDoer if is_plain else Doer)
            actor.tell(raise_it_plainly if is_plain else raise_it)
            await trio.sleep_forever()

    assert remains(opened) == []


async def test_the_error_of_the_body_wins_over_what_happens_during_the_stop() -> None:
    class Messy(Doer):
        async def on_stop(self, ctx: Context) -> None:
            raise Oops

    with pytest.raises(ZeroDivisionError):
        async with open_runtime(ports=virtual_ports()) as opened:
            await opened.spawn(Messy)
            raise ZeroDivisionError


# --- the stop ---------------------------------------------------------------------------------------------------------


async def test_nothing_is_spawned_during_a_stop() -> None:
    errors: list[Stopping] = []
    async with runtime() as opened:

        class Late(Doer):
            async def on_stop(self, ctx: Context) -> None:
                with pytest.raises(Stopping) as caught:
                    await opened.spawn(Doer)
                errors.append(caught.value)

        await opened.spawn(Late)

    assert len(errors) == 1
    with pytest.raises(Stopping):
        await opened.spawn(Doer)


async def test_after_its_root_was_stopped_the_body_goes_on_and_nothing_can_be_spawned() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        opened.root.ref.stop()
        await actor.wait_ended()

        with pytest.raises(Stopping):
            await opened.spawn(Doer)


async def test_the_stop_of_a_runtime_ends_within_its_budget_and_then_everybody_is_killed_together() -> None:
    """RC-51."""
    deaf = [Deaf(25) for _ in range(5)]
    async with runtime(SupervisorSpec(stop_budget_s=10)) as opened:
        for one in deaf:
            actor = await opened.spawn(Doer, spec=ChildSpec(grace_s=3, kill_grace_s=2))
            actor.tell(one)
        await wait_all_tasks_blocked()

    # One by one it would have been 5 x 25 s.
    assert trio.current_time() == 25


@pytest.mark.promise("I-44")
@pytest.mark.parametrize("is_stop_broken", [False, True])
async def test_a_supervisor_whose_loop_crashes_still_ends_all_its_children(
    monkeypatch: pytest.MonkeyPatch, is_stop_broken: bool
) -> None:
    async def crash(self: Supervisor, *_: object) -> None:
        raise Oops

    monkeypatch.setattr(Supervisor, "carry_out", crash)
    if is_stop_broken:
        monkeypatch.setattr(Supervisor, "stop_children", crash)
    with pytest.raises(RuntimeFailed):
        spec = SupervisorSpec(strategy="one_for_all", backoff=AT_ONCE)
        async with open_runtime(ports=virtual_ports(), spec=spec) as opened:
            fragile = await opened.spawn(Doer)
            plain = await opened.spawn(PlainDoer)
            busy = await opened.spawn(Doer)
            busy.tell(Gate())
            fragile.tell(fail)
            await trio.sleep_forever()

    assert trio.current_time() == 0
    assert all(ref.is_gone for ref in (fragile, plain, busy))
    assert remains(opened) == []


@pytest.mark.promise("I-44")
async def test_a_stop_routine_that_crashes_still_ends_all_children(monkeypatch: pytest.MonkeyPatch) -> None:
    async def crash(self: Supervisor) -> None:
        raise Oops

    monkeypatch.setattr(Supervisor, "stop_children", crash)
    with pytest.raises(RuntimeFailed):
        async with open_runtime(ports=virtual_ports()) as opened:
            actors = [await opened.spawn(behavior) for behavior in (Doer, PlainDoer, Doer)]
            actors[0].tell(Gate())
            await wait_all_tasks_blocked()

    assert trio.current_time() == 0
    assert all(ref.is_gone for ref in actors)
    assert remains(opened) == []


@pytest.mark.promise("I-44")
async def test_a_stop_of_the_root_that_crashes_still_ends_all_children(monkeypatch: pytest.MonkeyPatch) -> None:
    async def crash(self: Runtime) -> None:
        raise Oops

    monkeypatch.setattr(Runtime, "stop_root", crash)
    with pytest.raises((Oops, RuntimeFailed)):
        async with open_runtime(ports=virtual_ports()) as opened:
            actors = [await opened.spawn(behavior) for behavior in (Doer, PlainDoer, Doer)]
            actors[0].tell(Gate())
            await wait_all_tasks_blocked()

    assert all(ref.is_gone for ref in actors)
    assert remains(opened) == []


@pytest.mark.promise("I-44")
async def test_a_supervisor_that_is_killed_takes_all_its_children_along() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        mates = [await team.spawn(behavior) for behavior in (Doer, PlainDoer, Doer)]
        mates[0].tell(Gate())
        await wait_all_tasks_blocked()
        team.ref.kill()
        await team.ref.wait_ended()

        assert [mate.state for mate in mates] == [State.KILLED] * 3
        assert trio.current_time() == 0


# --- looking ----------------------------------------------------------------------------------------------------------


async def test_the_tree_shows_every_actor_as_it_is_now() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        mate = await team.spawn(Doer, name="mate")
        await opened.spawn(PlainDoer, name="plain")
        mate.tell(Gate())
        mate.tell("next")
        await wait_all_tasks_blocked()

        tree = opened.tree()

        assert [node.path for node in tree.children] == ["team", "plain"]
        (busy,) = tree.children[0].children
        assert (busy.path, busy.state, busy.is_busy, busy.turn, busy.mailbox.next) == (
            "team/mate",
            State.RUNNING,
            True,
            1,
            1,
        )
        assert opened.find("team/mate") == mate
        assert opened.find("team/nobody") is None
        assert repr(mate) == "<Ref 'team/mate'>"


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="none")


@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_context_variables_of_whoever_spawns_are_not_inherited(behavior: Any) -> None:
    def look_plainly(ctx: Context) -> None:
        ctx.reply(VARIABLE.get())

    async def look(ctx: Context) -> None:
        look_plainly(ctx)

    async with runtime() as opened:
        VARIABLE.set("host")
        actor = await opened.spawn(behavior)

        assert await actor.ask(Do(look_plainly if behavior is PlainDoer else look)) == "none"


async def test_a_plain_actor_does_not_see_the_context_of_whoever_opened_the_runtime() -> None:
    VARIABLE.set("host")

    def look(ctx: Context) -> None:
        ctx.reply(VARIABLE.get())

    async with runtime() as opened:
        actor = await opened.spawn(PlainDoer)

        assert await actor.ask(Do(look)) == "none"


async def test_what_one_plain_actor_sets_is_not_seen_by_another() -> None:
    def set_it(ctx: Context) -> None:
        VARIABLE.set("mine")

    def look(ctx: Context) -> None:
        ctx.reply(VARIABLE.get())

    async with runtime() as opened:
        one, other = await opened.spawn(PlainDoer), await opened.spawn(PlainDoer)
        one.tell(set_it)

        assert await other.ask(Do(look)) == "none"


async def test_who_asked_for_an_actor_is_on_record_as_its_descent() -> None:
    from greenroom.actors import ActorCreated

    async with runtime() as opened:
        parent = await opened.spawn(Doer)

        async def spawn(ctx: Context) -> None:
            ctx.reply(await opened.spawn(Doer))

        child = await parent.ask(Do(spawn))
        parent.kill()
        await parent.wait_ended()
        assert child.state is State.RUNNING  # supervision says who may stop whom, descent does not

    created = {event.actor: event for event in events(opened, ActorCreated)}
    assert created[child.id].descent == parent.id
    assert created[child.id].supervisor == opened.root.id
    assert created[parent.id].descent == ""
    assert [event.state for event in events(opened, ActorExited) if event.actor == parent.id] == ["killed"]
    assert dead(opened) == {}


async def test_specs_refuse_what_cannot_work() -> None:
    for make in (
        lambda: ChildSpec(grace_s=float("inf")),
        lambda: ChildSpec(kill_grace_s=-1),
        lambda: ChildSpec(start_timeout_s=0),
        lambda: SupervisorSpec(intensity=-1),
        lambda: SupervisorSpec(period_s=0),
        lambda: SupervisorSpec(stop_budget_s=float("inf")),
        lambda: Backoff(first_s=-1),
    ):
        with pytest.raises(UsageError):
            make()


@pytest.mark.usefixtures("virtual_time")
async def test_everything_that_queues_is_counted() -> None:
    async with open_runtime(ports=virtual_ports()) as runtime:
        actors = [await runtime.spawn(PlainDoer) for _ in range(3)]
        for actor in actors:
            actor.tell("something")
        counted = runtime.statistics()
        await wait_all_tasks_blocked()

        assert (counted.ready_plain, runtime.statistics().ready_plain) == (3, 0)
        assert (counted.open_timers, counted.dead_letters) == (0, 0)

"""Spawning: record, scope and nursery entry in one step; ready, failed or taken along by whoever was waiting."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorBegan, Behavior, Context, NameRegistered, NameReleased, State
from greenroom.core import NameTaken, RuntimeFailed, StartFailed, SupervisorFailed, TurnKilled, UsageError
from greenroom.supervisor import ChildSpec, Restart, SupervisorSpec, open_runtime
from greenroom.testing import virtual_ports
from tests.actors.invariants import violations
from tests.actors.situations import AT_ONCE, Do, Doer, Oops, PlainDoer, events, fail, runtime

pytestmark = pytest.mark.usefixtures("virtual_time")


class Slow(Doer):
    """Takes a while to get ready."""

    def __init__(self, seconds: float, log: list[str] | None = None) -> None:
        super().__init__()
        self.seconds = seconds
        self.log = log if log is not None else []

    async def on_start(self, ctx: Context) -> None:
        self.log.append("starting")
        await trio.sleep(self.seconds)
        self.log.append("ready")

    async def on_stop(self, ctx: Context) -> None:
        self.log.append("stopped")


async def test_spawn_returns_when_the_actor_is_ready() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Slow, 3)

        assert trio.current_time() == 3
        assert actor.state is State.RUNNING


async def test_mail_that_comes_before_the_actor_is_ready_waits() -> None:
    """CL-16."""
    seen: list[Any] = []

    class Early(Doer):
        async def on_start(self, ctx: Context) -> None:
            ctx.ref.tell("early")
            await trio.sleep(1)
            seen.append("ready")

    async with runtime() as opened:
        await opened.spawn(Early, seen)
        await wait_all_tasks_blocked()

    assert seen == ["ready", "early"]


@pytest.mark.parametrize("is_plain", [False, True])
async def test_what_a_factory_raises_is_the_cause_of_a_failed_start(is_plain: bool) -> None:
    class Broken(PlainDoer if is_plain else Doer):  # type: ignore[misc] # both are behaviors
        def __init__(self) -> None:
            raise Oops

    async with runtime() as opened:
        with pytest.raises(StartFailed) as caught:
            await opened.spawn(Broken, name="broken")

        assert isinstance(caught.value.__cause__, Oops)
        assert opened.root.children() == []
        assert opened.find("broken") is None


async def test_what_on_start_raises_is_the_cause_of_a_failed_start() -> None:
    class Broken(Doer):
        async def on_start(self, ctx: Context) -> None:
            raise Oops

    async with runtime() as opened:
        with pytest.raises(StartFailed) as caught:
            await opened.spawn(Broken)

        assert isinstance(caught.value.__cause__, Oops)
        assert opened.root.children() == []


async def test_a_start_that_takes_too_long_fails() -> None:
    log: list[str] = []
    async with runtime() as opened:
        with pytest.raises(StartFailed):
            await opened.spawn(Slow, 100, log, spec=ChildSpec(start_timeout_s=7))

        assert trio.current_time() == 7
        assert log == ["starting", "stopped"]


@pytest.mark.parametrize("delay_s", [0.5, 1])
async def test_a_spawn_that_is_cancelled_takes_the_child_along(delay_s: float) -> None:
    log: list[str] = []
    async with runtime() as opened:
        with trio.move_on_after(delay_s) as scope:
            await opened.spawn(Slow, 100, log, name="slow")
        assert scope.cancelled_caught
        await wait_all_tasks_blocked()

        assert opened.root.children() == []
        assert opened.find("slow") is None
        assert trio.current_time() == delay_s
        assert log == ["starting", "stopped"]


@pytest.mark.promise("I-7")
async def test_a_spawn_under_a_cancelled_scope_runs_no_user_code() -> None:
    log: list[str] = []
    async with runtime() as opened:
        with trio.CancelScope() as scope:
            scope.cancel()
            await opened.spawn(Slow, 1, log)
        await wait_all_tasks_blocked()

        assert opened.root.children() == []
        assert log == []

    assert [event.actor for event in events(opened, ActorBegan)] == [opened.root.id]


async def test_a_spawn_in_a_turn_that_is_aborted_takes_the_child_along() -> None:
    log: list[str] = []
    async with runtime() as opened, trio.open_nursery() as nursery:
        parent = await opened.spawn(Doer)

        async def spawn(ctx: Context) -> None:
            await opened.spawn(Slow, 100, log)

        async def ask() -> None:
            with pytest.raises(TurnKilled):
                await parent.ask(Do(spawn))

        nursery.start_soon(ask)
        await trio.sleep(1)
        parent.abort_turn()
        await wait_all_tasks_blocked()

        assert log == ["starting", "stopped"]
        assert opened.root.children() == [parent]


async def test_an_actor_that_is_stopped_while_it_starts_ends() -> None:
    async with runtime() as opened, trio.open_nursery() as nursery:

        async def spawn() -> None:
            with pytest.raises(StartFailed):
                await opened.spawn(Slow, 100, name="slow", spec=ChildSpec(grace_s=1, kill_grace_s=1))

        nursery.start_soon(spawn)
        await wait_all_tasks_blocked()
        slow = opened.find("slow")
        assert slow is not None
        slow.stop()
        await slow.wait_ended()

        assert trio.current_time() == 2


# --- names and ids ----------------------------------------------------------------------------------------------------


@pytest.mark.promise("I-42")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_a_name_is_taken_by_one_and_free_again_when_that_one_is_gone(behavior: Any) -> None:
    async with runtime() as opened:
        first = await opened.spawn(behavior, name="name")
        seq = opened.recorder.seq
        with pytest.raises(NameTaken) as caught:
            await opened.spawn(behavior, name="name")

        assert caught.value.name == "name"
        assert opened.recorder.seq == seq
        first.kill()
        await first.wait_ended()
        second = await opened.spawn(behavior, name="name")
        assert opened.find("name") == second != first

    assert [event.name for event in events(opened, NameRegistered)] == ["name"] * 2
    assert len(events(opened, NameReleased)) == 2


@pytest.mark.promise("I-42")
async def test_a_name_stays_with_its_actor_across_restarts() -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer, name="name")
        actor.tell(fail)
        await wait_all_tasks_blocked()

        assert opened.find("name") == actor
        with pytest.raises(NameTaken):
            await opened.spawn(Doer, name="name")

    assert len(events(opened, NameRegistered)) == 1


async def test_the_same_name_may_be_used_below_different_supervisors() -> None:
    async with runtime() as opened:
        for team in ("red", "blue"):
            supervisor = await opened.spawn_supervisor(team)
            mate = await supervisor.spawn(Doer, name="mate")
            assert mate.path == f"{team}/mate"


@pytest.mark.parametrize("name", ["", "a/b"])
async def test_a_name_that_is_no_name_is_refused(name: str) -> None:
    async with runtime() as opened:
        with pytest.raises(UsageError):
            await opened.spawn(Doer, name=name)


@pytest.mark.promise("I-43")
async def test_no_id_is_given_twice() -> None:
    async with runtime() as opened:
        ids = []
        for number in range(50):
            actor = await opened.spawn(PlainDoer, name=str(number % 5))
            ids.append(actor.id)
            actor.kill()

    assert len(set(ids)) == 50


def make_doer() -> Doer:
    return Doer()


async def test_a_factory_has_to_say_what_it_makes() -> None:
    def make_quietly():  # type: ignore[no-untyped-def] # noqa: ANN202 - that is the mistake
        return Doer()

    async with runtime() as opened:
        for factory in (make_quietly, "nonsense", 3):
            with pytest.raises(UsageError):
                await opened.spawn(factory)  # type: ignore[arg-type]
        assert opened.root.children() == []

        await opened.spawn(make_doer)
        await opened.spawn(functools.partial(Doer, []))
        assert len(opened.root.children()) == 2


# --- supervisors below supervisors ------------------------------------------------------------------------------------


async def test_a_supervisor_that_gives_up_ends_its_children_and_nobody_elses() -> None:
    async with runtime() as opened:
        neighbour = await opened.spawn(Doer)
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=0), escalates=False)
        mates = [await team.spawn(Doer), await team.spawn(PlainDoer)]
        mates[0].tell(fail)
        down = await team.ref.wait_ended()

        assert down.state is State.FAILED
        assert all(mate.is_gone for mate in mates)
        assert neighbour.state is State.RUNNING
        assert opened.root.children() == [neighbour]


async def test_stopping_a_supervisor_stops_its_children_first() -> None:
    order: list[str] = []
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        mate = await team.spawn(Doer)
        mate.watch(lambda _: order.append("mate"))
        team.ref.watch(lambda _: order.append("team"))
        team.ref.stop()
        await team.ref.wait_ended()

    assert order == ["mate", "team"]


async def test_a_temporary_child_is_not_restarted_and_leaves_its_supervisor_alone() -> None:
    async with runtime(SupervisorSpec(intensity=0)) as opened:
        actor = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.TEMPORARY))
        actor.tell(fail)
        down = await actor.wait_ended()

        assert down.state is State.FAILED
        await opened.spawn(Doer)


async def test_a_supervisor_that_gives_up_takes_those_above_it_along_unless_told_otherwise() -> None:
    with pytest.raises(RuntimeFailed) as caught:
        async with open_runtime(ports=virtual_ports()) as opened:
            neighbour = await opened.spawn(Doer)
            team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=0))
            mate = await team.spawn(Doer)
            mate.tell(fail)
            await trio.sleep_forever()

    assert isinstance(caught.value.__cause__, SupervisorFailed)
    assert neighbour.is_gone
    assert violations(opened.recorder.latest()) == []


async def test_a_supervisor_that_was_asked_to_end_is_no_failure_of_those_above_it() -> None:
    async with runtime() as opened:
        neighbour = await opened.spawn(Doer)
        for how in ("stop", "kill"):
            team = await opened.spawn_supervisor(how)
            await team.spawn(Doer)
            getattr(team.ref, how)()
            await team.ref.wait_ended()

        assert opened.root.children() == [neighbour]


@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_two_living_actors_never_have_one_id(behavior: Any) -> None:
    spec = ChildSpec(as_id="earlier")
    async with runtime() as opened:
        below = await opened.spawn_supervisor("below")
        first = await opened.spawn(behavior, name="first", spec=spec)
        for supervisor in (opened.root, below):
            with pytest.raises(UsageError, match="first"):
                await supervisor.spawn(behavior, name="second", spec=spec)

        assert (first.id, [child.id for child in opened.root.children()]) == ("earlier", [below.id, "earlier"])
        assert below.children() == []


class Plain(Behavior[Any]):
    """Is handled without a task."""

    def on_message(self, message: Any, ctx: Context) -> Any: ...


class Waits(Plain):
    async def on_message(self, message: Any, ctx: Context) -> None: ...


def make_plainly() -> Plain:
    return Waits()


def make_idle() -> Doer:
    return Slow(0)


@pytest.mark.parametrize("factory", [make_plainly, make_idle])
async def test_a_factory_that_makes_something_that_needs_more_than_it_says_is_refused(factory: Any) -> None:
    """Else its handler could not wait, or its `on_stop` would be passed over when it is ended while it is idle."""
    async with runtime() as opened:
        with pytest.raises(StartFailed, match="annotate it") as caught:
            await opened.spawn(factory)

    assert isinstance(caught.value.__cause__, UsageError)

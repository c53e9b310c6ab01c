"""Starting: in which order, what a failed start leaves behind, and which names are taken."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Context, State
from greenroom.core import NameTaken, StartFailed, Stopping, UsageError
from greenroom.supervisor import Backoff, ChildSpec, Strategy, SupervisorSpec
from tests.actors.situations import AT_ONCE, Doer, Oops, fail, runtime
from tests.otp.scenario import GEN_SERVER, PRINCIPLES, SUPERVISOR, Logged, Patient, differs, finish, not_offered, same

if TYPE_CHECKING:
    from typing import Any


class Broken(Doer):
    async def on_start(self, ctx: Context) -> None:
        raise Oops


@same(
    "OTP-1",
    f"{SUPERVISOR}: Supervision Principles",
    "Children are started one after another, from left to right.",
)
async def each_child_is_ready_before_the_next_one_is_started() -> None:
    log: list[str] = []
    async with runtime() as opened:
        for name in "abc":
            await opened.spawn(Logged, log, name, 1.0, name=name)

        assert log == ["+a", "+b", "+c"]
        assert trio.current_time() == 3
        assert [child.path for child in opened.root.children()] == ["a", "b", "c"]


@differs(
    "OTP-2",
    f"{SUPERVISOR}: start_link/3",
    "A supervisor gets a list of child specifications, and has started when all of these children have.",
    "Children need refs and other objects that only code can create, so code spawns them, one line each.",
)
async def a_supervisor_begins_without_children() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")

        assert team.children() == []


@differs(
    "OTP-3",
    f"{SUPERVISOR}: start_link/3",
    "If one child of the list fails to start, those before it are terminated and the supervisor fails to start.",
    "The spawner can handle a failed start, so it is notified first; if it does nothing, OTP's rule applies.",
)
async def a_failed_start_ends_those_before_it_in_reverse_order_unless_it_is_caught() -> None:
    log: list[str] = []
    with pytest.raises(StartFailed):
        async with runtime() as opened:
            await opened.spawn(Logged, log, "a")
            await opened.spawn(Logged, log, "b")
            with pytest.raises(StartFailed):
                await opened.spawn(Broken)
            assert log == ["+a", "+b"]
            await opened.spawn(Broken)

    assert log == ["+a", "+b", "-b", "-a"]


@same(
    "OTP-4",
    f"{SUPERVISOR}: start_child/2",
    "If a child that is added fails to start, the caller gets the error and the specification is discarded.",
)
async def a_failed_start_raises_in_the_spawner_and_leaves_nothing() -> None:
    async with runtime(SupervisorSpec(intensity=0)) as opened:
        neighbour = await opened.spawn(Doer)
        with pytest.raises(StartFailed) as caught:
            await opened.spawn(Broken, name="child")

        assert isinstance(caught.value.__cause__, Oops)
        assert opened.root.children() == [neighbour]
        await opened.spawn(Doer, name="child")


@same(
    "OTP-5",
    f"{PRINCIPLES}: Simplified one_for_one Supervisors",
    "Starting a child is synchronous: the call returns when its initialization has.",
)
async def spawn_returns_when_the_child_is_ready() -> None:
    log: list[str] = []
    async with runtime() as opened:
        await opened.spawn(Logged, log, "a", 7.0)

        assert log == ["+a"]
        assert trio.current_time() == 7


@differs(
    "OTP-6",
    f"{PRINCIPLES}: Simplified one_for_one Supervisors",
    "While a supervisor starts a child it does nothing else, so starts have to be short.",
    "Starting an agent may open a connection; no child should have to wait for the connection of another.",
)
async def children_may_start_side_by_side() -> None:
    log: list[str] = []
    async with runtime() as opened:
        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(functools.partial(opened.spawn, Logged, log, name, 10.0))

        assert sorted(log) == ["+a", "+b", "+c"]
        assert trio.current_time() == 10


@differs(
    "OTP-7",
    f"{GEN_SERVER}: start_link/3,4",
    "A child may take as long as it likes to initialize, unless its start function sets a time-out.",
    "Nothing here waits forever unless it says so: a start that hangs is a failed start.",
)
async def a_start_has_a_limit_of_30_seconds_by_default() -> None:
    log: list[str] = []
    async with runtime() as opened:
        with pytest.raises(StartFailed):
            await opened.spawn(Logged, log, "a", 1_000.0)
        assert trio.current_time() == 30

        await opened.spawn(Logged, log, "b", 1_000.0, spec=ChildSpec(start_timeout_s=1_001))
        assert "+b" in log


@differs(
    "OTP-8",
    f"{SUPERVISOR}: start_child/2",
    "A start function may return `ignore`: the call succeeds, and the specification is kept without a process.",
    "For an optional child, the spawner uses an `if`, or the child stops itself at once; an actor that does not exist has no record.",
)
async def a_child_that_stops_itself_while_it_starts_has_ended_normally_and_is_forgotten() -> None:
    class Needless(Doer):
        async def on_start(self, ctx: Context) -> None:
            ctx.ref.stop(why="not needed")

    async with runtime(SupervisorSpec(intensity=0)) as opened:
        child = await opened.spawn(Needless, name="child")
        down = await child.wait_ended()

        assert down.state is State.COMPLETED
        assert opened.root.children() == []


@not_offered(
    "OTP-9",
    f"{SUPERVISOR}: Module:init/1",
    "A supervisor's own callback runs before its children and may return `ignore` or fail.",
    "A supervisor here is made from a frozen, validated value; it runs no user code.",
)
async def a_supervisor_is_configured_by_its_spec_alone() -> None:
    spec = SupervisorSpec(strategy=Strategy.REST_FOR_ONE)
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", spec)

        assert team.spec is spec


@same(
    "OTP-10",
    f"{SUPERVISOR}: start_child/2",
    "A second child with the id of one that runs is refused, and the first is left alone.",
)
async def the_name_of_a_living_child_is_taken() -> None:
    async with runtime() as opened:
        first = await opened.spawn(Doer, name="child")
        with pytest.raises(NameTaken):
            await opened.spawn(Doer, name="child")

        assert first.state is State.RUNNING
        assert opened.root.children() == [first]


@same(
    "OTP-11",
    f"{SUPERVISOR}: start_child/2",
    "The id of a child that is about to be restarted stays taken.",
)
async def a_name_stays_taken_during_a_back_off() -> None:
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=10, jitter=0))) as opened:
        child = await opened.spawn(Doer, name="child")
        child.tell(fail)
        await wait_all_tasks_blocked()
        assert child.state is State.PENDING

        with pytest.raises(NameTaken):
            await opened.spawn(Doer, name="child")


@differs(
    "OTP-12",
    f"{SUPERVISOR}: start_child/2",
    "The id of a child that has ended and is not temporary stays taken until its specification is deleted.",
    "A supervisor that keeps every finished agent grows for as long as it runs; a child that is needed again is spawned again.",
)
async def the_name_of_a_child_that_has_ended_is_free() -> None:
    async with runtime() as opened:
        first = await opened.spawn(Doer, name="child")
        first.tell(finish)
        await first.wait_ended()
        second = await opened.spawn(Doer, name="child")

        assert second.id != first.id


@same(
    "OTP-13",
    f"{SUPERVISOR}: Child specification",
    "An id names a child within its supervisor; other supervisors may use it too.",
)
async def a_name_may_be_used_below_each_supervisor() -> None:
    async with runtime() as opened:
        for team in ("red", "blue"):
            supervisor = await opened.spawn_supervisor(team)
            assert (await supervisor.spawn(Doer, name="mate")).path == f"{team}/mate"


@same(
    "OTP-14",
    f"{SUPERVISOR}: start_link/3",
    "A supervisor whose name is registered already is not started.",
)
async def a_second_supervisor_with_the_same_name_is_refused() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        mate = await team.spawn(Doer)
        with pytest.raises(NameTaken):
            await opened.spawn_supervisor("team")

        assert mate.state is State.RUNNING


@same(
    "OTP-15",
    f"{SUPERVISOR}: Description",
    "A child may itself be a supervisor, so supervisors form a tree.",
)
async def supervisors_stand_below_supervisors() -> None:
    async with runtime() as opened:
        upper = await opened.spawn_supervisor("upper")
        lower = await upper.spawn_supervisor("lower")
        await lower.spawn(Doer, name="leaf")

        (above,) = opened.tree().children
        (below,) = above.children
        assert [node.path for node in below.children] == ["upper/lower/leaf"]


@same(
    "OTP-16",
    f"{PRINCIPLES}: Adding a Child Process",
    "A child that was added later is treated as the others are; it is the last one in the start order.",
)
async def a_child_that_was_spawned_later_is_the_last_one_in_the_order() -> None:
    log: list[str] = []
    async with runtime(SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=AT_ONCE)) as opened:
        first = await opened.spawn(Logged, log, "a")
        await trio.sleep(100)
        await opened.spawn(Logged, log, "b")
        first.tell(fail)
        await wait_all_tasks_blocked()

        assert log == ["+a", "+b", "-a", "-b", "+a", "+b"]


@same(
    "OTP-17",
    f"{SUPERVISOR}: Description",
    "A call to a supervisor that ends or has ended fails.",
)
async def a_supervisor_that_is_ending_starts_nothing() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        mate = await team.spawn(Doer, spec=ChildSpec(grace_s=3))
        mate.tell(Patient())
        await wait_all_tasks_blocked()
        team.ref.stop()
        with pytest.raises(Stopping):
            await team.spawn(Doer)
        await team.ref.wait_ended()
        with pytest.raises(Stopping):
            await team.spawn(Doer)


@same(
    "OTP-18",
    f"{SUPERVISOR}: check_childspecs/1",
    "Specifications are checked before anything is started with them.",
)
async def a_spec_that_cannot_work_is_never_made() -> None:
    for make in (
        lambda: ChildSpec(grace_s=-1),
        lambda: ChildSpec(kill_grace_s=-1),
        lambda: ChildSpec(start_timeout_s=0),
        lambda: SupervisorSpec(intensity=-1),
        lambda: SupervisorSpec(period_s=0),
        lambda: SupervisorSpec(stop_budget_s=-1),
    ):
        with pytest.raises(UsageError):
            make()


@same(
    "OTP-19",
    f"{SUPERVISOR}: check_childspecs/1",
    "A restart type or a strategy that does not exist is refused as an error of the specification.",
)
async def an_unknown_restart_type_or_strategy_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        ChildSpec(restart="sometimes")
    with pytest.raises(UsageError):
        SupervisorSpec(strategy="one_for_two")


@same(
    "OTP-20",
    f"{SUPERVISOR}: start_child/2",
    "Where all children are of one kind, the arguments of a call are appended to those of the template.",
)
async def the_arguments_of_a_spawn_are_appended_to_those_of_its_factory() -> None:
    log: list[str] = []
    template: Any = functools.partial(Logged, log)
    async with runtime() as opened:
        for name in "abc":
            await opened.spawn(template, name)

    assert log == ["+a", "+b", "+c", "-c", "-b", "-a"]

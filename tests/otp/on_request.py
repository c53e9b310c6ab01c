"""On request: one child is stopped or restarted by hand; and pools, whose children are all of one kind."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import State
from greenroom.core import UsageError
from greenroom.patterns import PoolFull, open_pool
from greenroom.supervisor import Backoff, ChildRestarted, ChildSpec, Strategy, SupervisorSpec
from tests.actors.situations import AT_ONCE, Doer, events, fail, runtime
from tests.otp.scenario import SOURCE, SUPERVISOR, Logged, Patient, differs, finish, not_offered, same

if TYPE_CHECKING:
    from typing import Any

SIMPLE = f"{SUPERVISOR}: Restart Strategies, simple_one_for_one"


@same("OTP-105", f"{SUPERVISOR}: terminate_child/2", "The call that stops a child returns when the child has ended.")
async def stop_returns_when_the_child_has_ended() -> None:
    async with runtime() as opened:
        child = await opened.root.spawn(Doer, spec=ChildSpec(grace_s=3))
        child.tell(Patient())
        await wait_all_tasks_blocked()
        down = await opened.root.stop(child)

        assert down.state is State.COMPLETED
        assert trio.current_time() == 3


@same("OTP-106", f"{SUPERVISOR}: terminate_child/2", "To stop a child that the supervisor does not have is an error.")
async def a_supervisor_stops_only_its_own_children() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        foreign = await opened.spawn(Doer, name="foreign")
        for unknown in ("nobody", foreign):
            with pytest.raises(UsageError):
                await team.stop(unknown)

        assert foreign.state is State.RUNNING


@differs(
    "OTP-107",
    f"{SUPERVISOR}: terminate_child/2",
    "The specification of a child that was stopped with `terminate_child` is kept, unless the child is temporary.",
    "To pause an agent without ending it, use `suspend`.",
)
async def a_child_that_was_stopped_is_forgotten() -> None:
    async with runtime() as opened:
        await opened.spawn(Doer, name="child", spec=ChildSpec(restart="permanent"))
        await opened.root.stop("child")

        assert opened.root.children() == []
        assert opened.tree().children == ()


@differs(
    "OTP-108",
    f"{SUPERVISOR}: restart_child/2",
    "A child that was stopped by hand is started again by its id, with its old specification.",
    "It would begin without the mail and the refs of the first one, so it is a different actor and is spawned as one.",
)
async def a_child_that_has_ended_is_spawned_anew() -> None:
    async with runtime() as opened:
        first = await opened.spawn(Doer, name="child")
        await opened.root.stop("child")
        with pytest.raises(UsageError):
            await opened.root.restart("child")

        assert (await opened.spawn(Doer, name="child")).id != first.id


@differs(
    "OTP-109",
    f"{SUPERVISOR}: restart_child/2",
    "To restart a child that runs is an error; it has to be stopped first.",
    "Two calls would lose the mail in between. One call stops the child in order, and its next incarnation continues with the mail.",
)
async def a_child_that_runs_is_restarted_in_one_call() -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        child = await opened.spawn(Doer, seen)
        child.tell(Patient())
        child.tell("waits")
        await wait_all_tasks_blocked()
        await opened.root.restart(child)
        await wait_all_tasks_blocked()

        assert seen == ["waits"]
        assert opened.tree().children[0].incarnation == 2


@differs(
    "OTP-110",
    f"{SUPERVISOR}: restart_child/2",
    "To restart a child that is about to be restarted is an error.",
    "A caller that requests a restart expects it to work now, so the rest of the back-off is skipped.",
)
async def a_restart_on_request_cuts_a_back_off_short() -> None:
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=10, jitter=0))) as opened:
        child = await opened.spawn(Doer)
        child.tell(fail)
        await wait_all_tasks_blocked()
        assert child.state is State.PENDING
        await opened.root.restart(child)

        (node,) = opened.tree().children
        assert node.state is State.RUNNING
        assert trio.current_time() == 0


@same("OTP-111", f"{SUPERVISOR}: restart_child/2", "To restart a child that the supervisor does not have is an error.")
async def a_supervisor_restarts_only_its_own_children() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        foreign = await opened.spawn(Doer, name="foreign")
        for unknown in ("nobody", foreign):
            with pytest.raises(UsageError):
                await team.restart(unknown)

        assert opened.tree().children[-1].incarnation == 1


@same(
    "OTP-112",
    f"{SOURCE}: handle_call/3, restart_child",
    "A restart that somebody asked for does not count against the intensity.",
)
async def a_restart_on_request_is_not_charged() -> None:
    async with runtime(SupervisorSpec(intensity=0)) as opened:
        child = await opened.spawn(Doer)
        for _ in range(5):
            await opened.root.restart(child)

        assert child.state is State.RUNNING
        assert [event.is_requested for event in events(opened, ChildRestarted)] == [True] * 5


@differs(
    "OTP-113",
    f"{SUPERVISOR}: restart_child/2",
    "If a child is stopped and started by hand, the others are not restarted, whatever the strategy.",
    "The strategy says which children depend on each other, and this also holds for a requested restart.",
)
async def a_restart_on_request_follows_the_strategy() -> None:
    log: list[str] = []
    async with runtime(SupervisorSpec(strategy=Strategy.REST_FOR_ONE)) as opened:
        for name in "abc":
            await opened.spawn(Logged, log, name, name=name)
        log.clear()
        await opened.root.restart("b")
        await wait_all_tasks_blocked()

        assert log == ["-c", "-b", "+b", "+c"]


@not_offered(
    "OTP-114",
    f"{SUPERVISOR}: delete_child/2",
    "The specification of a child that does not run is deleted by a call of its own.",
    "No specification is kept without its child, so there is nothing to delete.",
)
async def no_specification_outlives_its_child() -> None:
    async with runtime() as opened:
        for end in (finish, None):
            child = await opened.spawn(Doer, name="child")
            if end is None:
                await opened.root.stop(child)
            else:
                child.tell(end)
                await child.wait_ended()
            assert opened.root.children() == []
            assert opened.find("child") is None


@same(
    "OTP-115",
    f"{SUPERVISOR}: Module:init/1",
    "simple_one_for_one: the supervisor is given one template, and starts no child by itself.",
)
async def a_pool_is_given_a_factory_and_begins_empty() -> None:
    log: list[str] = []
    async with runtime() as opened:
        pool = await open_pool(opened, "pool", functools.partial(Logged, log), size=9)
        assert pool.children() == []
        for name in "abc":
            await pool.spawn(name)

        assert log == ["+a", "+b", "+c"]
        assert len(pool.children()) == 3


@same(
    "OTP-116",
    f"{SOURCE}: restart/3, simple_one_for_one",
    "simple_one_for_one: a child is restarted alone, with the arguments that it was added with.",
)
async def a_child_of_a_pool_is_restarted_with_its_own_arguments() -> None:
    log: list[str] = []
    async with runtime() as opened:
        spec = SupervisorSpec(backoff=AT_ONCE)
        pool = await open_pool(opened, "pool", functools.partial(Logged, log), size=9, spec=spec)
        children = [await pool.spawn(name) for name in "abc"]
        log.clear()
        children[1].tell(fail)
        await wait_all_tasks_blocked()

        assert log == ["-b", "+b"]


@same("OTP-117", f"{SUPERVISOR}: terminate_child/2", "simple_one_for_one: a child is stopped by its pid.")
async def a_child_of_a_pool_is_stopped_by_its_ref() -> None:
    async with runtime() as opened:
        pool = await open_pool(opened, "pool", Doer, size=9)
        children = [await pool.spawn() for _ in range(3)]
        await pool.supervisor.stop(children[1])

        assert pool.children() == [children[0], children[2]]


@differs(
    "OTP-118",
    SIMPLE,
    "simple_one_for_one: children cannot be restarted by hand.",
    "A child of a pool is a child like any other.",
)
async def a_child_of_a_pool_may_be_restarted_on_request() -> None:
    async with runtime() as opened:
        pool = await open_pool(opened, "pool", Doer, size=9)
        child = await pool.spawn()
        await pool.supervisor.restart(child)

        assert child.state is State.RUNNING
        assert pool.children() == [child]


@differs(
    "OTP-119",
    SIMPLE,
    "simple_one_for_one: there may be any number of children.",
    "Agents cost money and connections, so a pool has a size; if no limit is needed, use a supervisor.",
)
async def a_pool_has_a_fixed_number_of_places() -> None:
    async with runtime() as opened:
        pool = await open_pool(opened, "pool", Doer, size=2, when_full="refuse")
        first, _ = await pool.spawn(), await pool.spawn()
        with pytest.raises(PoolFull):
            await pool.spawn()
        await pool.supervisor.stop(first)

        assert (await pool.spawn()).state is State.RUNNING


@same(
    "OTP-120",
    SIMPLE,
    "simple_one_for_one: at the end of the supervisor all children end side by side.",
)
async def a_pool_closes_side_by_side() -> None:
    log: list[str] = []
    async with runtime() as opened:
        pool = await open_pool(opened, "pool", functools.partial(Logged, log), size=9)
        for name in "abc":
            await pool.spawn(name, 0.0, 1.0)
        await pool.close()

        assert trio.current_time() == 1
        assert sorted(log[3:]) == ["-a", "-b", "-c"]

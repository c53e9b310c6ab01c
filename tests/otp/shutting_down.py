"""Shutdown: in which order children end, how long each may take, and what a supervisor does meanwhile."""

from __future__ import annotations

import math

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorUnresponsive, Context, State
from greenroom.core import UsageError
from greenroom.supervisor import ChildRestarted, ChildSpec, Restart, StopOrder, SupervisorSpec
from tests.actors.situations import AT_ONCE, Deaf, Doer, Gate, Oops, events, fail, runtime
from tests.otp.scenario import GEN_SERVER, PRINCIPLES, SOURCE, SUPERVISOR, Logged, Patient, differs, not_offered, same

SHUTDOWN = f"{SUPERVISOR}: Child specification, shutdown"


class Worker(Logged):
    """Its job takes two seconds."""

    async def on_message(self, message: object, ctx: Context) -> None:
        await trio.sleep(2)
        self.log.append(f"{self.name} is through")


@same(
    "OTP-66",
    f"{SUPERVISOR}: Supervision Principles",
    "A supervisor that ends terminates its children in the reverse order of their start, and then itself.",
)
async def children_are_stopped_in_reverse_order_and_their_supervisor_after_them() -> None:
    log: list[str] = []
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        for name in "abc":
            await team.spawn(Logged, log, name, 0.0, 1.0)
        team.ref.watch(lambda _: log.append("-team"))
        log.clear()
        team.ref.stop()
        await team.ref.wait_ended()

        assert log == ["-c", "-b", "-a", "-team"]
        assert trio.current_time() == 3


@same(
    "OTP-67",
    f"{PRINCIPLES}: Stopping",
    "A whole tree ends from the leaves up, the latest branch first.",
)
async def a_tree_is_stopped_from_the_leaves_up() -> None:
    log: list[str] = []
    async with runtime() as opened:
        for team in "xy":
            supervisor = await opened.spawn_supervisor(team)
            supervisor.ref.watch(lambda _, team=team: log.append(f"-{team}"))  # type: ignore[misc] # bound now
            for name in "ab":
                await supervisor.spawn(Logged, log, team + name)
        log.clear()

    assert log == ["-yb", "-ya", "-y", "-xb", "-xa", "-x"]


@same("OTP-68", SHUTDOWN, "A child that ends within its shutdown time ends in its own way.")
async def a_turn_that_ends_within_the_grace_is_finished() -> None:
    log: list[str] = []
    async with runtime() as opened:
        child = await opened.spawn(Worker, log, "a", spec=ChildSpec(grace_s=2.5))
        child.tell("job")
        await wait_all_tasks_blocked()
        child.stop()
        down = await child.wait_ended()

        assert down.state is State.COMPLETED
        assert log == ["+a", "a is through", "-a"]


@same("OTP-69", SHUTDOWN, "The shutdown time of a worker is 5 seconds by default.")
async def a_turn_has_5_seconds_to_finish_by_default() -> None:
    async with runtime() as opened:
        child = await opened.spawn(Doer)
        child.tell(Patient())
        await wait_all_tasks_blocked()
        child.stop()
        await trio.sleep(4.9)
        assert child.is_busy
        await trio.sleep(0.2)
        assert child.is_gone


@differs(
    "OTP-70",
    SHUTDOWN,
    "A child that outlasts its shutdown time is killed on the spot, without any clean-up.",
    "A coroutine can be cancelled and unwinds, so it has `kill_grace_s` to close its files and connections.",
)
async def a_child_that_outlasts_its_grace_is_aborted_and_may_clean_up() -> None:
    log: list[str] = []
    async with runtime() as opened:
        child = await opened.spawn(Logged, log, "a", 0.0, 1.5, spec=ChildSpec(grace_s=3, kill_grace_s=2))
        child.tell(Patient())
        await wait_all_tasks_blocked()
        child.stop()
        await child.wait_ended()

        assert log == ["+a", "-a"]
        assert trio.current_time() == 4.5


@same("OTP-71", SHUTDOWN, "`brutal_kill` ends a child at once, whatever it is doing.")
async def a_grace_of_0_gives_a_turn_no_time() -> None:
    async with runtime() as opened:
        gate = Gate()
        child = await opened.spawn(Doer, spec=ChildSpec(grace_s=0))
        child.tell(gate)
        await wait_all_tasks_blocked()
        child.stop()
        await child.wait_ended()

        assert trio.current_time() == 0
        assert not gate.is_through


@same(
    "OTP-72",
    SHUTDOWN,
    "`brutal_kill` gives a child no time to clean up either, and nothing happens to it after its end.",
)
async def a_kill_grace_of_0_gives_a_clean_up_no_time_and_leaves_a_clean_record() -> None:
    log: list[str] = []
    async with runtime() as opened:
        child = await opened.spawn(Logged, log, "a", 0.0, 1.0, spec=ChildSpec(grace_s=0, kill_grace_s=0))
        child.tell(Patient())
        await wait_all_tasks_blocked()
        child.stop()
        await child.wait_ended()
        await wait_all_tasks_blocked()

        assert trio.current_time() == 0
        assert log == ["+a"]
        assert events(opened, ActorUnresponsive) == []


@not_offered(
    "OTP-73",
    SHUTDOWN,
    "The shutdown time of a worker may be `infinity`.",
    "An actor that never ends would hold up its supervisor forever; a large number of seconds says what is meant.",
)
async def an_infinite_grace_is_refused() -> None:
    with pytest.raises(UsageError):
        ChildSpec(grace_s=math.inf)
    with pytest.raises(UsageError):
        ChildSpec(kill_grace_s=math.inf)
    assert ChildSpec(grace_s=1e6).grace_s == 1e6


@differs(
    "OTP-74",
    SHUTDOWN,
    "A supervisor below another one has `infinity` to shut down by default.",
    "A session must end within a known time: after its budget, all remaining actors are killed together.",
)
async def a_supervisor_has_30_seconds_for_its_children_by_default() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        for _ in range(10):
            child = await team.spawn(Doer)
            child.tell(Patient())
        await wait_all_tasks_blocked()
        team.ref.stop()
        await team.ref.wait_ended()

        assert trio.current_time() == 30  # each had 5 s in turn


@differs(
    "OTP-75",
    f"{GEN_SERVER}: Module:terminate/2",
    "A child that does not trap exits is ended by `shutdown` wherever it is, and its clean-up is not called.",
    "Half a turn is lost work, so a stop is only a request, and the clean-up always runs.",
)
async def a_stop_lets_the_turn_finish_and_always_calls_the_clean_up() -> None:
    log: list[str] = []
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        child = await team.spawn(Worker, log, "a")
        child.tell("job")
        await wait_all_tasks_blocked()
        team.ref.stop()
        await team.ref.wait_ended()

        assert log == ["+a", "a is through", "-a"]


@differs(
    "OTP-76",
    SHUTDOWN,
    "A kill cannot be trapped: the child ends, whatever it is doing.",
    "Trio cannot remove a task; a task that shields itself or blocks is abandoned, and recorded as unresponsive.",
)
async def an_unresponsive_child_is_recorded_and_no_longer_waited_for() -> None:
    async with runtime() as opened:
        deaf = await opened.spawn(Doer, spec=ChildSpec(grace_s=1, kill_grace_s=1))
        deaf.tell(Deaf(9))
        await wait_all_tasks_blocked()
        deaf.stop()
        await trio.sleep(4.1)
        assert [event.actor for event in events(opened, ActorUnresponsive)] == [deaf.id]
        await deaf.wait_ended()

        assert trio.current_time() == 9


@same(
    "OTP-77",
    f"{SUPERVISOR}: Restart Strategies, simple_one_for_one",
    "A supervisor of many children of one kind shuts them down side by side.",
)
async def children_are_stopped_together_where_the_spec_says_so() -> None:
    async with runtime() as opened:
        pool = await opened.spawn_supervisor("pool", SupervisorSpec(stop_order=StopOrder.TOGETHER))
        for _ in range(20):
            child = await pool.spawn(Doer, spec=ChildSpec(grace_s=3))
            child.tell(Patient())
        await wait_all_tasks_blocked()
        pool.ref.stop()
        await pool.ref.wait_ended()

        assert trio.current_time() == 3


@same(
    "OTP-78",
    f"{PRINCIPLES}: Stopping a Child Process",
    "Any child may be stopped alone, as its shutdown specification says, and the others stay.",
)
async def a_child_may_be_stopped_alone() -> None:
    async with runtime(SupervisorSpec(strategy="one_for_all", backoff=AT_ONCE)) as opened:
        first, child, last = [await opened.spawn(Doer, spec=ChildSpec(grace_s=3)) for _ in range(3)]
        child.tell(Patient())
        await wait_all_tasks_blocked()
        child.stop()
        await child.wait_ended()

        assert trio.current_time() == 3
        assert opened.root.children() == [first, last]


@same(
    "OTP-79",
    f"{PRINCIPLES}: Stopping a Child Process",
    "A child that was stopped on purpose is not restarted, not even a permanent one.",
)
async def a_child_that_was_asked_to_end_is_not_restarted() -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        for restart in Restart:
            child = await opened.spawn(Doer, spec=ChildSpec(restart=restart))
            child.stop()
            await child.wait_ended()

        assert events(opened, ChildRestarted) == []


@differs(
    "OTP-80",
    f"{PRINCIPLES}: Manual stopping versus Automatic Shutdown",
    "While a supervisor stops a child, it handles no other requests.",
    "A turn of an agent may take minutes to finish, and others must be able to start meanwhile.",
)
async def children_are_spawned_while_another_one_is_being_stopped() -> None:
    async with runtime() as opened:
        child = await opened.spawn(Doer)
        child.tell(Patient())
        await wait_all_tasks_blocked()
        child.stop()
        await opened.spawn(Doer)

        assert trio.current_time() == 0
        assert child.is_busy


@differs(
    "OTP-81",
    f"{PRINCIPLES}: Manual stopping versus Automatic Shutdown",
    "A child that stops its own supervisor deadlocks until its shutdown time is over, because each waits for the other to end.",
    "`stop` only asks, so a turn may ask for the end of everything above it and return.",
)
async def a_child_may_stop_its_own_supervisor() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        child = await team.spawn(Doer)

        async def stop_all(ctx: Context) -> None:
            team.ref.stop()

        child.tell(stop_all)
        down = await team.ref.wait_ended()

        assert down.state is State.COMPLETED
        assert child.state is State.COMPLETED
        assert trio.current_time() == 0


@same(
    "OTP-82",
    f"{SOURCE}: terminate/2",
    "A child that crashes while its supervisor shuts down is not restarted and delays nothing.",
)
async def a_child_that_fails_while_all_are_stopped_is_not_restarted() -> None:
    class Careless(Logged):
        async def on_stop(self, ctx: Context) -> None:
            await super().on_stop(ctx)
            raise Oops

    log: list[str] = []
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(backoff=AT_ONCE))
        await team.spawn(Logged, log, "a")
        await team.spawn(Careless, log, "b", spec=ChildSpec(restart=Restart.PERMANENT))
        failing = await team.spawn(Logged, log, "c", spec=ChildSpec(restart=Restart.PERMANENT))
        await team.spawn(Logged, log, "d", 0.0, 1.0)
        log.clear()
        team.ref.stop()
        await wait_all_tasks_blocked()
        failing.tell(fail)
        down = await team.ref.wait_ended()

        assert log == ["-c", "-d", "-b", "-a"]
        assert down.state is State.COMPLETED
        assert events(opened, ChildRestarted) == []


@same(
    "OTP-83",
    f"{SUPERVISOR}: Child specification, start",
    "Children are linked to their supervisor: when it is killed, they do not outlive it.",
)
async def nobody_outlives_a_supervisor_that_is_killed() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        lower = await team.spawn_supervisor("lower")
        busy, leaf = await team.spawn(Doer), await lower.spawn(Doer)
        busy.tell(Patient())
        await wait_all_tasks_blocked()
        team.ref.kill()
        await team.ref.wait_ended()

        assert trio.current_time() == 0
        assert all(ref.is_gone for ref in (busy, leaf, lower.ref))


@same(
    "OTP-84",
    f"{PRINCIPLES}: Stopping",
    "The end of the topmost supervisor ends everything in order.",
)
async def leaving_the_block_stops_everything_in_order() -> None:
    log: list[str] = []
    async with runtime() as opened:
        for name in "abc":
            await opened.spawn(Logged, log, name, 0.0, 1.0)
        log.clear()

    assert log == ["-c", "-b", "-a"]
    assert trio.current_time() == 3

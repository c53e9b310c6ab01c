"""Restarting: which children are restarted, with what, and how soon."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Context, State
from greenroom.mailbox import DeadReason, Delivery
from greenroom.supervisor import Backoff, ChildRestarted, ChildSpec, Restart, SupervisorSpec
from tests.actors.situations import AT_ONCE, Doer, Oops, dead, events, fail, runtime
from tests.otp.scenario import PRINCIPLES, SOURCE, SUPERVISOR, Logged, differs, finish, same

if TYPE_CHECKING:
    from typing import Any

SOON = SupervisorSpec(backoff=AT_ONCE)


@same("OTP-21", f"{SUPERVISOR}: Child specification, restart", "A permanent child that crashes is restarted.")
async def a_permanent_child_that_fails_comes_back() -> None:
    async with runtime(SOON) as opened:
        child = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.PERMANENT))
        child.tell(fail)
        await wait_all_tasks_blocked()

        assert child.state is State.RUNNING
        assert opened.tree().children[0].incarnation == 2


@differs(
    "OTP-22",
    f"{SUPERVISOR}: Child specification, restart",
    "A permanent child that ends normally is restarted too.",
    "The only normal end of an actor is a stop that was requested, and a stopped actor is not restarted.",
)
async def a_permanent_child_that_stops_itself_stays_ended() -> None:
    async with runtime(SOON) as opened:
        child = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.PERMANENT))
        child.tell(finish)
        down = await child.wait_ended()

        assert down.state is State.COMPLETED
        assert opened.root.children() == []


@same("OTP-23", f"{SUPERVISOR}: Child specification, restart", "A transient child that crashes is restarted.")
async def a_transient_child_that_fails_comes_back() -> None:
    async with runtime(SOON) as opened:
        child = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.TRANSIENT))
        child.tell(fail)
        await wait_all_tasks_blocked()

        assert child.state is State.RUNNING
        assert opened.tree().children[0].incarnation == 2


@same("OTP-24", f"{SUPERVISOR}: Child specification, restart", "A transient child that ends normally is not restarted.")
async def a_transient_child_that_finishes_stays_ended() -> None:
    async with runtime(SOON) as opened:
        child = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.TRANSIENT))
        child.tell(finish)
        await child.wait_ended()

        assert events(opened, ChildRestarted) == []


@same(
    "OTP-25",
    f"{SUPERVISOR}: Child specification, restart",
    "A transient child that ends with `shutdown` or `{shutdown, _}` is not restarted.",
)
async def a_transient_child_that_somebody_stops_stays_ended() -> None:
    async with runtime(SOON) as opened:
        child = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.TRANSIENT))
        child.stop()
        await child.wait_ended()

        assert events(opened, ChildRestarted) == []


@same("OTP-26", f"{SUPERVISOR}: Child specification, restart", "A temporary child is never restarted.")
async def a_temporary_child_that_fails_stays_ended() -> None:
    async with runtime(SOON) as opened:
        child = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.TEMPORARY))
        child.tell(fail)
        down = await child.wait_ended()

        assert down.state is State.FAILED
        assert events(opened, ChildRestarted) == []


@same(
    "OTP-27",
    f"{SUPERVISOR}: restart_child/2",
    "The specification of a temporary child is deleted when it ends.",
)
async def a_temporary_child_is_forgotten_when_it_ends() -> None:
    async with runtime() as opened:
        child = await opened.spawn(Doer, name="child", spec=ChildSpec(restart=Restart.TEMPORARY))
        child.tell(fail)
        await child.wait_ended()

        assert opened.root.children() == []
        await opened.spawn(Doer, name="child")


@differs(
    "OTP-28",
    f"{SUPERVISOR}: Child specification, restart",
    "A permanent or transient child that somebody kills has ended abnormally, and is restarted.",
    "Here, actors are killed only on request, and a person who kills an agent does not want it back.",
)
async def a_child_that_somebody_kills_stays_ended() -> None:
    async with runtime(SOON) as opened:
        for restart in Restart:
            child = await opened.spawn(Doer, spec=ChildSpec(restart=restart))
            child.kill()
            down = await child.wait_ended()
            assert down.state is State.KILLED

        assert events(opened, ChildRestarted) == []


@differs(
    "OTP-29",
    f"{SUPERVISOR}: Child specification, restart",
    "A child is permanent unless its specification says otherwise.",
    "A finished agent should not start again; a service sets `permanent`.",
)
async def a_child_is_transient_by_default() -> None:
    async with runtime(SOON) as opened:
        finished, failed = await opened.spawn(Doer), await opened.spawn(Doer)
        finished.tell(finish)
        failed.tell(fail)
        await wait_all_tasks_blocked()

        assert opened.root.children() == [failed]
        assert ChildSpec().restart is Restart.TRANSIENT


@same(
    "OTP-30",
    f"{SUPERVISOR}: Child specification, start",
    "A restart calls the start function again, with the arguments of the first time; no state is carried over.",
)
async def a_restart_makes_a_new_behavior_from_the_same_arguments() -> None:
    made: list[Counter] = []

    class Counter(Doer):
        def __init__(self, first: int) -> None:
            super().__init__()
            self.number = first
            made.append(self)

    async def count(ctx: Context) -> None:
        made[-1].number += 1

    async with runtime(SOON) as opened:
        child = await opened.spawn(Counter, 7)
        for job in (count, count, fail):
            child.tell(job)
        await wait_all_tasks_blocked()

    assert [one.number for one in made] == [9, 7]


@differs(
    "OTP-31",
    f"{SUPERVISOR}: Child specification",
    "A restarted child is another process with another pid; messages to the old pid reach nobody.",
    "Agents pass refs on to each other, so nobody could distribute new ones; a pinned ref behaves like a pid.",
)
async def a_ref_follows_restarts_unless_it_is_pinned() -> None:
    async with runtime(SOON) as opened:
        child = await opened.spawn(Doer)
        pinned = child.pinned()
        child.tell(fail)
        await wait_all_tasks_blocked()

        assert child.tell("hello") is Delivery.ACCEPTED
        assert pinned.tell("hello") is Delivery.CLOSED


@differs(
    "OTP-32",
    "Reference Manual, Processes: Process Termination",
    "The mailbox of a process is lost with it, so a restarted child begins with an empty one.",
    "An agent must not forget what it was told because a provider failed; the message in hand is dropped by default.",
)
async def queued_mail_survives_a_restart() -> None:
    seen: list[Any] = []
    async with runtime(SOON) as opened:
        child = await opened.spawn(Doer, seen)
        for message in (fail, "first", "second"):
            child.tell(message)
        await wait_all_tasks_blocked()

        assert seen == ["first", "second"]
        assert dead(opened) == {DeadReason.FAILED: 1}


@differs(
    "OTP-33",
    f"{SUPERVISOR}: Supervision Principles",
    "A child that is to be restarted is started again at once.",
    "Most crashes of agents come from outside, and an immediate retry meets the same failure; `first_s=0` restarts at once.",
)
async def a_restart_waits_for_a_back_off_that_doubles() -> None:
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=1, jitter=0))) as opened:
        child = await opened.spawn(Doer)
        for _ in range(3):
            child.tell(fail)
        await trio.sleep(100)

        assert [event.delay_s for event in events(opened, ChildRestarted)] == [1, 2, 4]
        assert Backoff().first_s > 0


@same(
    "OTP-34",
    f"{SUPERVISOR}: Supervision Principles",
    "The crash of a child does not crash its supervisor, which is only notified.",
)
async def a_supervisor_survives_the_failure_of_a_child() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SOON)
        child = await team.spawn(Doer)
        child.tell(fail)
        await wait_all_tasks_blocked()

        assert team.ref.state is State.RUNNING
        assert (await team.spawn(Doer)).state is State.RUNNING


@same(
    "OTP-35",
    f"{SOURCE}: handle_cast/2, try_again_restart",
    "If the start of a restarted child fails, it is tried again, and each attempt counts against the intensity.",
)
async def a_restart_that_fails_to_start_is_tried_again_and_counts() -> None:
    tries: list[float] = []

    class Fragile(Doer):
        async def on_start(self, ctx: Context) -> None:
            tries.append(trio.current_time())
            if len(tries) > 1:
                raise Oops

    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=3, backoff=AT_ONCE), escalates=False)
        child = await team.spawn(Fragile)
        child.tell(fail)
        down = await team.ref.wait_ended()

        assert down.state is State.FAILED
        assert len(tries) == 1 + 3


@same(
    "OTP-36",
    f"{SOURCE}: handle_cast/2, try_again_restart",
    "Between two attempts to restart a child, its supervisor handles other requests.",
)
async def a_supervisor_starts_others_while_a_child_waits_for_its_restart() -> None:
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=20, jitter=0))) as opened:
        child = await opened.spawn(Doer)
        child.tell(fail)
        await wait_all_tasks_blocked()
        await opened.spawn(Doer)

        assert trio.current_time() == 0
        assert child.state is State.PENDING


@same(
    "OTP-37",
    "SASL User's Guide, SASL Error Logging: Supervisor Report",
    "The unexpected end of a child is logged, with the child and the reason.",
)
async def a_failure_is_logged_with_its_actor_and_its_error() -> None:
    records: list[logging.LogRecord] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    log, keeper = logging.getLogger("greenroom"), Keeper()
    log.addHandler(keeper)
    try:
        async with runtime(SOON) as opened:
            child = await opened.spawn(Doer, name="child")
            child.tell(fail)
            await wait_all_tasks_blocked()
    finally:
        log.removeHandler(keeper)

    (record,) = records
    assert "child" in record.getMessage()
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], Oops)


@same(
    "OTP-38",
    f"{PRINCIPLES}: Restart Strategy",
    "A child that ended and is not to be restarted affects none of the others, whatever the strategy.",
)
async def the_end_of_a_child_that_is_not_restarted_affects_no_other() -> None:
    log: list[str] = []
    async with runtime(SupervisorSpec(strategy="one_for_all", backoff=AT_ONCE)) as opened:
        await opened.spawn(Logged, log, "a")
        finished = await opened.spawn(Doer)
        temporary = await opened.spawn(Doer, spec=ChildSpec(restart=Restart.TEMPORARY))
        await opened.spawn(Logged, log, "b")
        finished.tell(finish)
        temporary.tell(fail)
        await wait_all_tasks_blocked()

        assert log == ["+a", "+b"]
        assert len(opened.root.children()) == 2

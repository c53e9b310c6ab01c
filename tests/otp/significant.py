"""Significant children: when the end of a child also ends its supervisor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import State
from greenroom.core import Stopping, UsageError
from greenroom.supervisor import ChildSpec, EndsWith, Restart, Strategy, SupervisorFinished, SupervisorSpec
from tests.actors.situations import AT_ONCE, Doer, events, fail, runtime
from tests.otp.scenario import PRINCIPLES, SUPERVISOR, Logged, differs, finish, same

if TYPE_CHECKING:
    from greenroom.actors import Ref
    from greenroom.supervisor import Runtime, Supervisor

AUTO = f"{SUPERVISOR}: Automatic Shutdown"
MAIN = ChildSpec(is_significant=True)
ONCE = ChildSpec(is_significant=True, restart=Restart.TEMPORARY)


async def team_of(opened: Runtime, ends_with: EndsWith, *specs: ChildSpec) -> tuple[Supervisor, list[Ref[object]]]:
    """Start a supervisor with one child for each spec."""
    team = await opened.spawn_supervisor("team", SupervisorSpec(ends_with=ends_with, backoff=AT_ONCE))
    return team, [await team.spawn(Doer, spec=spec) for spec in specs]


@same("OTP-85", AUTO, "By default no end of a child ends its supervisor.")
async def a_supervisor_continues_without_its_children_by_default() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        children = [await team.spawn(Doer, spec=spec) for spec in (ChildSpec(), MAIN, ONCE)]
        for child in children:
            child.tell(finish)
            await child.wait_ended()
        await wait_all_tasks_blocked()

        assert team.ref.state is State.RUNNING


@differs(
    "OTP-86",
    AUTO,
    "Significant children are refused where automatic shutdown is off.",
    "The same specs can be used with and without automatic shutdown; `significant` alone does nothing.",
)
async def significant_children_change_nothing_without_automatic_shutdown() -> None:
    async with runtime() as opened:
        team, (child,) = await team_of(opened, EndsWith.NONE, MAIN)
        child.tell(finish)
        await child.wait_ended()
        await wait_all_tasks_blocked()

        assert team.ref.state is State.RUNNING


@same("OTP-87", f"{SUPERVISOR}: Child specification, significant", "A permanent child cannot be significant.")
async def a_permanent_child_cannot_be_significant() -> None:
    with pytest.raises(UsageError):
        ChildSpec(restart=Restart.PERMANENT, is_significant=True)


@same("OTP-88", AUTO, "any_significant: the normal end of the first significant child ends the supervisor.")
async def with_any_the_first_significant_child_that_finishes_ends_the_team() -> None:
    async with runtime() as opened:
        team, (first, second, _) = await team_of(opened, EndsWith.ANY, MAIN, MAIN, ChildSpec())
        second.tell(finish)
        down = await team.ref.wait_ended()

        assert down.state is State.COMPLETED
        assert first.is_gone
        assert [event.child for event in events(opened, SupervisorFinished)] == [second.id]


@same("OTP-89", AUTO, "any_significant: the crash of a temporary significant child does so too.")
async def with_any_a_temporary_significant_child_that_fails_ends_the_team() -> None:
    async with runtime() as opened:
        team, (child, _) = await team_of(opened, EndsWith.ANY, ONCE, ChildSpec())
        child.tell(fail)
        down = await team.ref.wait_ended()

        assert down.state is State.COMPLETED


@same("OTP-90", AUTO, "A transient significant child that crashes is restarted, and the supervisor goes on.")
async def a_transient_significant_child_that_fails_comes_back() -> None:
    for ends_with in (EndsWith.ANY, EndsWith.ALL):
        async with runtime() as opened:
            team, (child,) = await team_of(opened, ends_with, MAIN)
            child.tell(fail)
            await wait_all_tasks_blocked()

            assert child.state is State.RUNNING
            assert team.ref.state is State.RUNNING


@same("OTP-91", AUTO, "all_significant: the supervisor ends with the last of its significant children.")
async def with_all_the_last_significant_child_ends_the_team() -> None:
    async with runtime() as opened:
        team, children = await team_of(opened, EndsWith.ALL, MAIN, ONCE, MAIN, ChildSpec())
        for child, job in zip(children[:3], (finish, fail, finish), strict=True):
            assert team.ref.state is State.RUNNING
            child.tell(job)
            await wait_all_tasks_blocked()

        assert team.ref.state is State.COMPLETED


@same("OTP-92", AUTO, "The end of a child that is not significant never ends the supervisor.")
async def a_child_that_is_not_significant_ends_nobody() -> None:
    for ends_with in (EndsWith.ANY, EndsWith.ALL):
        async with runtime() as opened:
            team, (_, helper) = await team_of(opened, ends_with, MAIN, ChildSpec())
            helper.tell(finish)
            await helper.wait_ended()
            await wait_all_tasks_blocked()

            assert team.ref.state is State.RUNNING


@same(
    "OTP-93",
    f"{PRINCIPLES}: Automatic Shutdown",
    "A significant child that somebody stops by hand does not end the supervisor.",
)
async def a_significant_child_that_is_stopped_or_killed_ends_nobody() -> None:
    for ends_with in (EndsWith.ANY, EndsWith.ALL):
        async with runtime() as opened:
            team, (first, second) = await team_of(opened, ends_with, MAIN, MAIN)
            first.stop()
            second.kill()
            await wait_all_tasks_blocked()

            assert team.children() == []
            assert team.ref.state is State.RUNNING


@same(
    "OTP-94",
    f"{PRINCIPLES}: Automatic Shutdown",
    "A significant child that is terminated because of a sibling does not end the supervisor.",
)
async def a_significant_child_that_ends_with_a_sibling_ends_nobody() -> None:
    for strategy in (Strategy.ONE_FOR_ALL, Strategy.REST_FOR_ONE):
        async with runtime() as opened:
            spec = SupervisorSpec(strategy=strategy, ends_with=EndsWith.ANY, backoff=AT_ONCE)
            team = await opened.spawn_supervisor("team", spec)
            failing = await team.spawn(Doer)
            significant = await team.spawn(Doer, spec=ONCE)
            failing.tell(fail)
            await wait_all_tasks_blocked()

            assert significant.is_gone
            assert team.ref.state is State.RUNNING


@same(
    "OTP-95",
    f"{PRINCIPLES}: Automatic Shutdown",
    "The remaining children are terminated in the reverse order of their start.",
)
async def a_team_that_has_finished_is_stopped_in_reverse_order() -> None:
    log: list[str] = []
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(ends_with=EndsWith.ANY))
        await team.spawn(Logged, log, "a", 0.0, 1.0)
        main = await team.spawn(Logged, log, "b", spec=MAIN)
        await team.spawn(Logged, log, "c", 0.0, 1.0)
        team.ref.watch(lambda _: log.append("-team"))
        log.clear()
        main.tell(finish)
        await team.ref.wait_ended()

        assert log == ["-b", "-c", "-a", "-team"]


@same(
    "OTP-96",
    AUTO,
    "A supervisor that shut itself down ends with `shutdown`, which the supervisor above does not count as a crash.",
)
async def a_team_that_has_finished_does_not_count_as_a_crash_above() -> None:
    async with runtime(SupervisorSpec(intensity=0)) as opened:
        neighbour = await opened.spawn(Doer)
        team, (child,) = await team_of(opened, EndsWith.ALL, MAIN)
        child.tell(finish)
        down = await team.ref.wait_ended()

        assert down.state is State.COMPLETED
        assert opened.failure is None
        assert opened.root.children() == [neighbour]


@same(
    "OTP-97",
    AUTO,
    "all_significant looks at those that are still active: one that was stopped by hand is waited for no longer.",
)
async def with_all_one_that_was_stopped_by_hand_is_not_waited_for() -> None:
    async with runtime() as opened:
        team, (first, second) = await team_of(opened, EndsWith.ALL, MAIN, MAIN)
        first.stop()
        await first.wait_ended()
        second.tell(finish)
        down = await team.ref.wait_ended()

        assert down.state is State.COMPLETED


@differs(
    "OTP-98",
    f"{PRINCIPLES}: Automatic Shutdown",
    "When the topmost supervisor shuts itself down, the application ends.",
    "The body of `open_runtime` is the host's code, which may still have work to do; it can no longer start actors.",
)
async def a_root_that_has_finished_does_not_cancel_the_body() -> None:
    async with runtime(SupervisorSpec(ends_with=EndsWith.ANY)) as opened:
        helper = await opened.spawn(Doer)
        main = await opened.spawn(Doer, spec=MAIN)
        main.tell(finish)
        down = await opened.root.ref.wait_ended()

        assert down.state is State.COMPLETED
        assert helper.state is State.COMPLETED
        assert opened.failure is None
        with pytest.raises(Stopping):
            await opened.spawn(Doer)

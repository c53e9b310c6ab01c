"""Intensity: how often children are restarted, and what becomes of a supervisor that gives up."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import State
from greenroom.core import RuntimeFailed, SupervisorFailed
from greenroom.supervisor import ChildRestarted, ChildSpec, Restart, SupervisorSpec, open_runtime
from greenroom.testing import virtual_ports
from tests.actors.situations import AT_ONCE, Doer, Gate, Oops, events, fail, runtime
from tests.otp.scenario import PRINCIPLES, SUPERVISOR, Logged, differs, finish, same

INTENSITY = f"{SUPERVISOR}: Restart intensity and period"


@same(
    "OTP-54", INTENSITY, "If there are more restarts within the period than the intensity allows, the supervisor ends."
)
async def one_failure_too_many_within_the_period_makes_the_supervisor_give_up() -> None:
    async with runtime() as opened:
        spec = SupervisorSpec(intensity=2, period_s=10, backoff=AT_ONCE)
        team = await opened.spawn_supervisor("team", spec, escalates=False)
        child = await team.spawn(Doer)
        for _ in range(3):
            assert team.ref.state is State.RUNNING
            child.tell(fail)
            await trio.sleep(4.9)

        assert team.ref.is_gone
        assert len(events(opened, ChildRestarted)) == 2


@same("OTP-55", INTENSITY, "Restarts that are further apart never make a supervisor give up.")
async def restarts_that_have_left_the_period_do_not_count() -> None:
    async with runtime(SupervisorSpec(intensity=2, period_s=10, backoff=AT_ONCE)) as opened:
        child = await opened.spawn(Doer)
        for _ in range(8):
            child.tell(fail)
            await trio.sleep(5.1)

        assert opened.tree().children[0].incarnation == 9


@same("OTP-56", INTENSITY, "With an intensity of 0 nothing is restarted: the first crash ends the supervisor.")
async def an_intensity_of_0_restarts_nobody() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=0), escalates=False)
        child = await team.spawn(Doer, spec=ChildSpec(restart=Restart.PERMANENT))
        child.tell(fail)
        await team.ref.wait_ended()

        assert events(opened, ChildRestarted) == []


@same("OTP-57", INTENSITY, "The restarts of all children of a supervisor count together.")
async def the_budget_belongs_to_the_supervisor_and_not_to_a_child() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=2, backoff=AT_ONCE), escalates=False)
        for _ in range(3):
            child = await team.spawn(Doer)
            child.tell(fail)
            await wait_all_tasks_blocked()

        assert team.ref.is_gone


@same("OTP-58", INTENSITY, "Only restarts count; the end of a child that is not to be restarted does not.")
async def an_end_without_a_restart_does_not_count() -> None:
    async with runtime(SupervisorSpec(intensity=0)) as opened:
        for job, restart in ((finish, Restart.TRANSIENT), (fail, Restart.TEMPORARY)):
            child = await opened.spawn(Doer, spec=ChildSpec(restart=restart))
            child.tell(job)
            await child.wait_ended()

        assert (await opened.spawn(Doer)).state is State.RUNNING


@same(
    "OTP-59",
    INTENSITY,
    "A supervisor that gives up terminates its children according to their shutdown specifications, the latest first, and then itself.",
)
async def a_supervisor_that_gives_up_ends_its_children_in_reverse_order_each_with_its_grace() -> None:
    log: list[str] = []
    async with runtime() as opened:
        neighbour = await opened.spawn(Doer)
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=0), escalates=False)
        actors = [await team.spawn(Logged, log, name) for name in "abcd"]
        gate = Gate()
        actors[3].tell(gate)
        team.ref.watch(lambda _: log.append("-team"))
        log.clear()
        actors[1].tell(fail)
        await wait_all_tasks_blocked()
        gate.opened.set()
        await team.ref.wait_ended()

        assert log == ["-b", "-d", "-c", "-a", "-team"]
        assert gate.is_through
        assert neighbour.state is State.RUNNING


@differs(
    "OTP-60",
    INTENSITY,
    "A supervisor that gives up ends with `shutdown`, like one that was asked to stop; only the log has the reason.",
    "The supervisor above should see what went wrong without a log.",
)
async def a_supervisor_that_gives_up_has_failed_with_the_last_errors() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=1, backoff=AT_ONCE), escalates=False)
        child = await team.spawn(Doer)
        for _ in range(2):
            child.tell(fail)
        down = await team.ref.wait_ended()

        assert down.state is State.FAILED
        assert isinstance(down.error, SupervisorFailed)
        assert isinstance(down.error.__cause__, BaseExceptionGroup)
        assert [type(error) for error in down.error.__cause__.exceptions] == [Oops, Oops]


@differs(
    "OTP-61",
    INTENSITY,
    "The intensity is 1 restart in 5 seconds by default.",
    "A back-off spreads restarts out: a second restart within 5 s is usually a provider's hiccup, a fourth within a minute is a fault.",
)
async def three_restarts_in_a_minute_are_allowed_by_default() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(backoff=AT_ONCE), escalates=False)
        child = await team.spawn(Doer)
        for expected in (False, False, False, True):
            child.tell(fail)
            await trio.sleep(15)
            assert team.ref.is_gone is expected


@differs(
    "OTP-62",
    f"{PRINCIPLES}: Maximum Restart Intensity",
    "When a supervisor has given up, the one above restarts it or ends as well.",
    "Its children were spawned by code, so nobody could start them again. Therefore the supervisor above ends too, unless `escalates` is false.",
)
async def the_failure_of_a_supervisor_escalates_by_default() -> None:
    for escalates in (True, False):
        async with runtime() as opened:
            upper = await opened.spawn_supervisor("upper", escalates=False)
            neighbour = await upper.spawn(Doer)
            lower = await upper.spawn_supervisor("lower", SupervisorSpec(intensity=0), escalates=escalates)
            child = await lower.spawn(Doer)
            child.tell(fail)
            await trio.sleep(1)

            assert lower.ref.state is State.FAILED
            assert upper.ref.state is (State.FAILED if escalates else State.RUNNING)
            assert neighbour.is_gone is escalates


@differs(
    "OTP-63",
    f"{PRINCIPLES}: Tuning the intensity and period",
    "Before a whole tree gives up, a child is restarted as often as the product of all intensities above it.",
    "Supervisors are not restarted, so the number in one spec is the number of attempts.",
)
async def only_the_intensity_of_the_nearest_supervisor_counts() -> None:
    with pytest.raises(RuntimeFailed):
        async with open_runtime(ports=virtual_ports(), spec=SupervisorSpec(intensity=10)) as opened:
            upper = await opened.spawn_supervisor("upper", SupervisorSpec(intensity=10))
            lower = await upper.spawn_supervisor("lower", SupervisorSpec(intensity=2, backoff=AT_ONCE))
            child = await lower.spawn(Doer)
            for _ in range(10):
                child.tell(fail)
            await trio.sleep_forever()

    assert len(events(opened, ChildRestarted)) == 2


@same(
    "OTP-64",
    f"{PRINCIPLES}: Maximum Restart Intensity",
    "When the topmost supervisor gives up, the application ends.",
)
async def the_failure_of_the_root_ends_the_block_around_the_runtime() -> None:
    with pytest.raises(RuntimeFailed) as caught:
        async with open_runtime(ports=virtual_ports(), spec=SupervisorSpec(intensity=0)) as opened:
            child = await opened.spawn(Doer)
            child.tell(fail)
            await trio.sleep_forever()

    assert isinstance(caught.value.__cause__, SupervisorFailed)
    assert child.is_gone


@same(
    "OTP-65",
    f"{PRINCIPLES}: Adding a Child Process",
    "A supervisor that ends also ends its children, and children that were added later are lost.",
)
async def no_child_of_a_supervisor_that_gave_up_is_restarted() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=0), escalates=False)
        mates = [await team.spawn(Doer, name=name) for name in "ab"]
        mates[0].tell(fail)
        await team.ref.wait_ended()
        again = await opened.spawn_supervisor("team")

        assert all(mate.is_gone for mate in mates)
        assert again.children() == []

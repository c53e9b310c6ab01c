"""Inspecting a supervisor: its children, their states and specs, and what exists only for upgrades."""

from __future__ import annotations

import attrs
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorCreated, State
from greenroom.mailbox import DeadReason
from greenroom.supervisor import Backoff, ChildSpec, SupervisorOpened, SupervisorSpec
from tests.actors.situations import Doer, dead, events, fail, runtime
from tests.otp.scenario import SOURCE, SUPERVISOR, Patient, differs, not_offered, same


@same(
    "OTP-99",
    f"{SUPERVISOR}: which_children/1",
    "A supervisor lists its children, and says of each whether it runs or is about to be restarted.",
)
async def the_tree_shows_who_runs_and_who_waits_for_a_restart() -> None:
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=10, jitter=0))) as opened:
        await opened.spawn(Doer, name="a")
        failing = await opened.spawn(Doer, name="b")
        failing.tell(fail)
        await wait_all_tasks_blocked()

        states = {node.path: node.state for node in opened.tree().children}
        assert states == {"a": State.RUNNING, "b": State.PENDING}


@differs(
    "OTP-100",
    f"{SUPERVISOR}: which_children/1",
    "The list is the reply to a call, which a busy supervisor answers later.",
    "The tree is needed most when something in it hangs.",
)
async def the_tree_is_read_at_once_even_while_everybody_is_busy() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        mate = await team.spawn(Doer)
        mate.tell(Patient())
        await wait_all_tasks_blocked()
        team.ref.stop()

        (node,) = opened.tree().children
        assert [child.is_busy for child in node.children] == [True]


@differs(
    "OTP-101",
    f"{SUPERVISOR}: count_children/1",
    "A supervisor counts its specifications, active children, supervisors and workers.",
    "The tree is plain data, read in one step, so any count is one line; specifications without a child are not kept.",
)
async def children_are_counted_in_the_tree() -> None:
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=10, jitter=0))) as opened:
        await opened.spawn_supervisor("team")
        failing, _ = await opened.spawn(Doer), await opened.spawn(Doer)
        failing.tell(fail)
        await wait_all_tasks_blocked()

        nodes = opened.tree().children
        assert len(nodes) == len(opened.root.children()) == 3
        assert sum(node.state is State.RUNNING for node in nodes) == 2
        assert sum(opened.root.supervisor_below(node.id) is not None for node in nodes) == 1


@not_offered(
    "OTP-102",
    f"{SUPERVISOR}: get_childspec/2",
    "The specification of a child can be read back from its supervisor.",
    "The spawner of a child wrote its specification; for everybody else the record contains the important parts.",
)
async def the_record_has_the_restart_type_of_a_child_and_the_spec_of_its_supervisor() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(intensity=7))
        child = await team.spawn(Doer, spec=ChildSpec(restart="permanent"))

        assert [event.restart for event in events(opened, ActorCreated) if event.actor == child.id] == ["permanent"]
        assert [event.intensity for event in events(opened, SupervisorOpened) if event.actor == team.id] == [7]


@same(
    "OTP-103",
    f"{SOURCE}: handle_info/2",
    "A message that a supervisor does not expect is reported and changes nothing.",
)
async def a_message_to_a_supervisor_is_a_dead_letter() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        team.ref.tell("hello")
        await wait_all_tasks_blocked()

        assert team.ref.state is State.RUNNING
        assert dead(opened) == {DeadReason.UNHANDLED: 1}


@not_offered(
    "OTP-104",
    f"{SUPERVISOR}: Child specification, modules",
    "A specification names the modules of a child, so that the release handler can replace code while it runs.",
    "Python cannot replace the code of a running coroutine; a new version is a new process that resumes the session.",
)
async def a_spec_knows_nothing_of_code() -> None:
    assert not {"modules", "start", "type"} & attrs.fields_dict(ChildSpec).keys()

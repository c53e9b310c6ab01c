"""The end of an actor that does nothing: one step, whoever asks, and its task finds that it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import AbortStatus, ActorExited, ActorGone, Context, State
from greenroom.core import StartFailed
from greenroom.mailbox import DeadReason, Delivery
from greenroom.supervisor import ChildSpec, Strategy, SupervisorSpec
from tests.actors.situations import AT_ONCE, Doer, Gate, dead, events, fail, runtime

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")


@pytest.mark.promise("I-2", "I-39")
@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_an_idle_actor_is_gone_when_the_request_returns(how: str) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        heard: list[State] = []
        actor.watch(lambda down: heard.append(down.state))

        getattr(actor, how)(why="enough")

        expected = State.COMPLETED if how == "stop" else State.KILLED
        assert actor.is_gone
        assert (actor.state, heard) == (expected, [expected])
        assert actor.tell("later") is Delivery.CLOSED
        await wait_all_tasks_blocked()
        assert [event.state for event in events(opened, ActorExited) if event.actor == actor.id] == [expected]
        assert len([event for event in events(opened, ActorGone) if event.actor == actor.id]) == 1


async def test_what_was_put_in_the_same_step_is_a_dead_letter() -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)
        actor.tell("unread")
        actor.stop()
        await wait_all_tasks_blocked()

        assert seen == []
        assert dead(opened) == {DeadReason.ENDED: 1}


class Cleaner(Doer):
    """It has something to do at its end."""

    async def on_stop(self, ctx: Context) -> None:
        self.seen.append("cleaned")


async def test_a_clean_up_is_not_skipped() -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Cleaner, seen)
        actor.stop()
        assert not actor.is_gone
        await actor.wait_ended()

    assert seen == ["cleaned"]


@pytest.mark.promise("I-35", "I-38")
async def test_idle_neighbours_of_a_restart_serve_on_and_read_each_message_once() -> None:
    spec = SupervisorSpec(strategy=Strategy.ONE_FOR_ALL, backoff=AT_ONCE, intensity=5)
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", spec)
        seen: list[list[Any]] = [[], [], []]
        actors = [await team.spawn(Doer, one, spec=ChildSpec()) for one in seen]
        for number in range(3):
            actors[0].tell(fail)
            await wait_all_tasks_blocked()
            for actor in actors:
                actor.tell(number)
            await wait_all_tasks_blocked()

        assert [one for one in seen if one != [0, 1, 2]] == []
        assert all(actor.state is State.RUNNING for actor in actors)


class SlowStarter(Doer):
    """It takes its time to start."""

    def __init__(self, gate: Gate, *, hides_cancels: bool = False) -> None:
        super().__init__()
        self.gate = gate
        self.hides_cancels = hides_cancels

    async def on_start(self, ctx: Context) -> None:
        try:
            await self.gate(ctx)
        except trio.Cancelled:  # noqa: ASYNC103 - hiding it is the fault that the kernel has to see
            if not self.hides_cancels:
                raise


class StubbornStarter(SlowStarter):
    """And it does not let itself be hurried."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(gate, hides_cancels=True)


@pytest.mark.parametrize("behavior", [SlowStarter, StubbornStarter])
async def test_a_start_that_takes_too_long_fails_also_when_it_hides_the_cancel(behavior: type[SlowStarter]) -> None:
    async with runtime() as opened:
        began = trio.current_time()
        with pytest.raises(StartFailed, match="timed out after 3 s"):
            await opened.spawn(behavior, Gate(), spec=ChildSpec(start_timeout_s=3))
        assert 3 <= trio.current_time() - began <= 3.1


async def test_nobody_aborts_a_start() -> None:
    async with runtime() as opened:
        gate = Gate()
        refs: list[Any] = []

        async def spawn() -> None:
            refs.append(
                await opened.spawn(SlowStarter, gate, name="slow", spec=ChildSpec(start_timeout_s=float("inf")))
            )

        async with trio.open_nursery() as nursery:
            nursery.start_soon(spawn)
            await gate.entered.wait()
            found = opened.find("slow")
            assert found is not None
            assert found.abort_turn().status is AbortStatus.IDLE
            gate.opened.set()
        assert refs[0].state is State.RUNNING

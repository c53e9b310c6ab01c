"""The order and the time in which a supervisor ends its children."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Context, State
from greenroom.supervisor import ChildSpec, Restart, StopOrder, SupervisorSpec
from tests.actors.situations import Deaf, Doer, PlainDoer, runtime

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")


class Half:
    """A job that takes half a second."""

    async def __call__(self, ctx: Context) -> None:
        await trio.sleep(0.5)


@pytest.mark.promise("I-27", "I-39")
async def test_children_are_stopped_in_reverse_order_each_with_its_grace() -> None:
    """A, B (deaf), C; a stop at 1.0."""
    ends: list[tuple[str, State, float]] = []
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        deaf = Deaf(9)
        for name, job in (("a", Half()), ("b", deaf), ("c", Half())):
            actor = await team.spawn(Doer, name=name, spec=ChildSpec(grace_s=1, kill_grace_s=1))
            actor.watch(lambda down, name=name: ends.append((name, down.state, trio.current_time())))  # type: ignore[misc]
            if name == "b":
                actor.tell(job)
        await trio.sleep(1)
        for name in ("a", "c"):
            actor_of = opened.find(f"team/{name}")
            assert actor_of is not None
            actor_of.tell(Half())
        await wait_all_tasks_blocked()
        team.ref.stop()
        await team.ref.wait_ended()

    # b hears nothing for nine seconds; it is given up on after 1 + 1 + 2, and ends when it can.
    assert [(name, state) for name, state, _ in ends] == [
        ("c", State.COMPLETED),
        ("a", State.COMPLETED),
        ("b", State.KILLED),
    ]
    assert [at for _, _, at in ends] == [1.5, 5.5, 9.0]


@pytest.mark.promise("I-39")
@pytest.mark.parametrize("behaviors", [[Doer] * 4, [PlainDoer] * 4, [PlainDoer, Doer, PlainDoer, Doer]])
async def test_the_latest_ends_first(behaviors: list[Any]) -> None:
    order: list[str] = []
    async with runtime() as opened:
        for name, behavior in zip("abcd", behaviors, strict=True):
            actor = await opened.spawn(behavior, name=name)
            actor.watch(lambda _, name=name: order.append(name))  # type: ignore[misc]

    assert order == ["d", "c", "b", "a"]


async def test_a_pool_is_stopped_side_by_side() -> None:
    async with runtime() as opened:
        pool = await opened.spawn_supervisor("pool", SupervisorSpec(stop_order=StopOrder.TOGETHER))
        for _ in range(50):
            actor = await pool.spawn(Doer, spec=ChildSpec(grace_s=3, kill_grace_s=2))
            actor.tell(Deaf(6))
        await wait_all_tasks_blocked()
        pool.ref.stop()
        await pool.ref.wait_ended()

        assert trio.current_time() == 6


@pytest.mark.promise("R7-stop")
async def test_a_permanent_child_outlives_turns_of_its_siblings() -> None:
    """A board is used by teammates until their last turn has ended."""
    ends: list[tuple[str, float]] = []
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(stop_order=StopOrder.TOGETHER))
        for name, restart in (("board", Restart.PERMANENT), ("mate", Restart.TRANSIENT), ("other", Restart.TRANSIENT)):
            actor = await team.spawn(Doer, name=name, spec=ChildSpec(restart=restart, grace_s=5))
            actor.watch(lambda _, name=name: ends.append((name, trio.current_time())))  # type: ignore[misc]
            if name == "mate":
                actor.tell(Half())
        await wait_all_tasks_blocked()
        team.ref.stop()
        await team.ref.wait_ended()

    assert ends == [("other", 0.0), ("mate", 0.5), ("board", 0.5)]


async def test_a_whole_stop_has_a_budget() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team", SupervisorSpec(stop_budget_s=4))
        mates = []
        for _ in range(10):
            actor = await team.spawn(Doer, spec=ChildSpec(grace_s=3))
            gate = _Patient()
            actor.tell(gate)
            mates.append(actor)
        await wait_all_tasks_blocked()
        team.ref.stop()
        await team.ref.wait_ended()

        # One had its grace of 3 s, the second 1 s of its own; then the rest was killed together.
        assert trio.current_time() == 4
        assert [mate.state for mate in mates] == [State.KILLED] * 9 + [State.COMPLETED]


class _Patient:
    async def __call__(self, ctx: Context) -> None:
        await trio.sleep_forever()


async def test_a_child_may_end_while_the_others_are_being_stopped() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        first = await team.spawn(Doer)
        last = await team.spawn(Doer)

        async def kill_first(ctx: Context) -> None:
            await trio.sleep(1)
            first.kill()

        last.tell(kill_first)
        await wait_all_tasks_blocked()
        team.ref.stop()
        down = await team.ref.wait_ended()

        assert down.state is State.COMPLETED
        assert first.state is State.KILLED
        assert last.state is State.COMPLETED

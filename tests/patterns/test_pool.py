"""Pools: never more children than places, places in order, and none left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.core import NameTaken, StartFailed, Stopping, UsageError
from greenroom.patterns import Pool, PoolFull, open_pool
from greenroom.supervisor import ChildSpec, SupervisorSpec
from greenroom.testing import run_virtual
from tests.actors.situations import AT_ONCE, Deaf, Doer, PlainDoer, fail, fail_plainly, runtime

if TYPE_CHECKING:
    from greenroom.actors import Ref

virtually = pytest.mark.usefixtures("virtual_time")


@pytest.mark.promise("I-20")
@given(
    size=st.integers(1, 3),
    is_plain=st.booleans(),
    actions=st.lists(st.sampled_from(["spawn", "spawn", "spawn", "stop", "kill", "crash", "cancel"]), max_size=25),
    choices=st.lists(st.integers(0, 5), max_size=30),
)
def test_there_are_never_more_children_than_places_and_whoever_waits_gets_one_in_order(
    size: int, is_plain: bool, actions: list[str], choices: list[int]
) -> None:
    async def scenario() -> None:
        got: list[int] = []
        asked: dict[int, trio.CancelScope] = {}
        async with runtime(SupervisorSpec(intensity=100, backoff=AT_ONCE)) as opened, trio.open_nursery() as nursery:
            pool: Pool[Any] = await open_pool(
                opened,
                "pool",
                PlainDoer if is_plain else Doer,
                size=size,
                spec=SupervisorSpec(intensity=100, backoff=AT_ONCE),
            )

            async def spawn(number: int) -> None:
                with asked.setdefault(number, trio.CancelScope()):
                    await pool.spawn(name=f"n{number}")
                    got.append(number)

            for number, action in enumerate(actions):
                living: list[Ref[Any]] = pool.children()
                waiting = [request for request in asked if request not in got and not asked[request].cancel_called]
                match action:
                    case "spawn":
                        nursery.start_soon(spawn, number)
                    case "cancel" if waiting:
                        asked[waiting[0]].cancel()
                    case "stop" if living:
                        living[0].stop()
                    case "kill" if living:
                        living[-1].kill()
                    case "crash" if living:
                        living[0].tell(fail_plainly if is_plain else fail)
                await wait_all_tasks_blocked()
                waiting = [request for request in asked if request not in got and not asked[request].cancel_called]
                assert len(pool.children()) == len(pool) <= size
                assert not waiting or len(pool) == size
                assert pool.statistics().waiting == len(waiting)
                assert got == sorted(got)
            nursery.cancel_scope.cancel()

    run_virtual(scenario, choices=choices)


@virtually
async def test_a_pool_that_refuses_says_how_full_it_is() -> None:
    async with runtime() as opened:
        pool = await open_pool(opened, "pool", Doer, size=1, when_full="refuse")
        await pool.spawn()
        with pytest.raises(PoolFull, match="all places of pool 'pool' are taken \\(1 of 1\\)"):
            await pool.spawn()

        assert pool.statistics().refused == 1
        assert pool.statistics().started == 1


@virtually
async def test_only_so_many_may_wait() -> None:
    async with runtime() as opened, trio.open_nursery() as nursery:
        pool = await open_pool(opened, "pool", Doer, size=1, max_waiting=1)
        first = await pool.spawn()
        nursery.start_soon(pool.spawn)
        await wait_all_tasks_blocked()
        with pytest.raises(PoolFull, match="1 more waiting"):
            await pool.spawn()
        first.kill()
        await wait_all_tasks_blocked()

        assert (len(pool), pool.statistics().waiting) == (1, 0)


@virtually
async def test_a_start_that_fails_takes_no_place() -> None:
    class Fragile(Doer):
        async def on_start(self, ctx: Any) -> None:
            raise RuntimeError("no")

    async with runtime() as opened:
        pool = await open_pool(opened, "pool", Fragile, size=1)
        for _ in range(3):
            with pytest.raises(StartFailed, match="no"):
                await pool.spawn()
        taken = await open_pool(opened, "taken", Doer, size=2)
        await taken.spawn(name="a")
        with pytest.raises(NameTaken):
            await taken.spawn(name="a")

        assert (len(pool), len(taken)) == (0, 1)


@virtually
async def test_closing_ends_deaf_children_side_by_side_and_sends_away_who_waits() -> None:
    async with runtime() as opened, trio.open_nursery() as nursery:
        pool = await open_pool(opened, "pool", Doer, size=20, child=ChildSpec(grace_s=60))
        for _ in range(20):
            deaf = Deaf(2)
            (await pool.spawn()).tell(deaf)
            await deaf.entered.wait()

        async def wait_in_vain() -> None:
            with pytest.raises(Stopping):
                await pool.spawn()

        nursery.start_soon(wait_in_vain)
        await wait_all_tasks_blocked()
        began = trio.current_time()
        await pool.close()

        assert trio.current_time() - began == 2
        assert pool.children() == []


@virtually
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be"),
        ({"size": 1.5}, "size must be"),
        ({"size": 1, "max_waiting": -1}, "max_waiting must be"),
        ({"size": 1, "when_full": "drop"}, "when_full must be 'wait' or 'refuse', got 'drop'"),
    ],
)
async def test_nonsense_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    async with runtime() as opened:
        with pytest.raises(UsageError, match=message):
            await open_pool(opened, "pool", Doer, **options)


@virtually
@pytest.mark.parametrize("size", [0, -1, 2.0, float("inf"), float("nan"), True, "2"])
async def test_a_size_is_a_whole_number(size: Any) -> None:
    async with runtime() as opened:
        with pytest.raises(UsageError, match="size must be a whole number"):
            await open_pool(opened, "pool", Doer, size=size)

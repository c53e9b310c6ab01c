"""An ask that could never be answered is refused at once, and only such an ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import AskRefused, Context, Ref
from greenroom.core import ActorEnded, AskCycle, TurnKilled
from greenroom.testing import run_virtual
from tests.actors.situations import Do, Doer, Teamster, events, runtime

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

pytestmark = pytest.mark.timeout(30)
virtually = pytest.mark.usefixtures("virtual_time")

LONG_S = 1_000.0


class Asker(Teamster):
    """Each turn asks whom it is told to, side by side, and waits for all of them."""


def asking(target: Ref[Any], job: Callable[[Context], Any], answers: list[Any]) -> Callable[[Context], Any]:
    """Return a job that asks another actor to do a job."""

    async def ask(ctx: Context) -> None:
        try:
            answers.append(await target.ask(Do(job), timeout_s=LONG_S))
        except AskCycle as error:
            answers.append(error.path)

    return ask


async def say_yes(ctx: Context) -> None:
    ctx.reply("yes")


@virtually
@pytest.mark.promise("I-45")
async def test_two_that_ask_each_other_are_told_at_once_and_the_first_gets_its_answer() -> None:
    answers: list[Any] = []
    async with runtime() as opened:
        left = await opened.spawn(Doer, name="left")
        right = await opened.spawn(Doer, name="right")

        async def ask_back(ctx: Context) -> None:
            await asking(left, say_yes, answers)(ctx)
            ctx.reply("done all the same")

        began = trio.current_time()
        left.tell(asking(right, ask_back, answers))
        await wait_all_tasks_blocked()

        assert answers == [("right", "left", "right"), "done all the same"]
        assert trio.current_time() == began
        assert left.statistics().accepted == 1  # nothing was sent
        assert [one.path for one in events(opened, AskRefused)] == [(right.id, left.id, right.id)]
        # No edge stays: the other way round is fine now.
        right.tell(asking(left, say_yes, answers))
        await wait_all_tasks_blocked()
        assert answers[2:] == ["yes"]


@virtually
@pytest.mark.promise("I-45")
async def test_nobody_asks_itself_or_waits_for_its_own_end() -> None:
    answers: list[Any] = []
    async with runtime() as opened:
        lone = await opened.spawn(Doer, name="lone")
        lone.tell(asking(lone, say_yes, answers))

        async def wait_for_myself(ctx: Context) -> None:
            with pytest.raises(AskCycle, match="lone -> lone"):
                await ctx.ref.wait_ended()

        lone.tell(wait_for_myself)
        await wait_all_tasks_blocked()

        assert answers == [("lone", "lone")]
        assert lone.statistics().acked == 2


@virtually
async def test_a_task_of_a_life_may_ask_whoever_asks_its_actor() -> None:
    answers: list[Any] = []
    async with runtime() as opened:
        host = await opened.spawn(Teamster, name="host")
        guest = await opened.spawn(Doer, name="guest")

        async def start(ctx: Context) -> None:
            ctx.start_soon(asking(guest, ask_back, answers), ctx)

        async def ask_back(ctx: Context) -> None:
            await asking(host, say_yes, answers)(ctx)
            ctx.reply("and this is from guest")

        host.tell(start)
        await wait_all_tasks_blocked()

        assert answers == ["yes", "and this is from guest"]


@virtually
async def test_an_asker_that_is_aborted_waits_for_nobody_any_more() -> None:
    answers: list[Any] = []
    async with runtime() as opened:
        left = await opened.spawn(Doer, name="left")
        right = await opened.spawn(Doer, name="right")

        async def never(ctx: Context) -> None:
            await trio.sleep_forever()

        left.tell(asking(right, never, answers))
        await wait_all_tasks_blocked()
        left.abort_turn()
        await wait_all_tasks_blocked()
        right.abort_turn()
        right.tell(asking(left, say_yes, answers))
        await wait_all_tasks_blocked()

        assert answers == ["yes"]


def has_path(edges: list[tuple[int, int]], start: int, goal: int) -> bool:
    """Whether one can walk from one to the other."""
    seen, frontier = {start}, [start]
    while frontier:
        here = frontier.pop()
        if here == goal:
            return True
        for one, there in edges:
            if one == here and there not in seen:
                seen.add(there)
                frontier.append(there)
    return False


@pytest.mark.promise("I-45")
@given(asks=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
def test_an_ask_is_refused_exactly_when_it_would_close_a_circle(asks: list[tuple[int, int]]) -> None:
    async def scenario() -> None:
        refused: list[bool] = []
        async with runtime() as opened:
            actors = [await opened.spawn(Asker) for _ in range(5)]
            orders = [trio.open_memory_channel[int](100) for _ in actors]

            def work(number: int) -> Callable[[Context], Any]:
                async def on_orders(ctx: Context) -> None:
                    async for target in orders[number][1]:
                        ctx.turn.start_soon(ask, target)
                        await trio.lowlevel.checkpoint()

                async def ask(target: int) -> None:
                    try:
                        await actors[target].ask(Do(say_yes), timeout_s=LONG_S)
                    except AskCycle:
                        refused.append(True)
                    except (ActorEnded, TurnKilled):
                        pass

                return on_orders

            for number, actor in enumerate(actors):
                actor.tell(work(number))
            edges: list[tuple[int, int]] = []
            for asker, target in asks:
                refused.clear()
                orders[asker][0].send_nowait(target)
                await wait_all_tasks_blocked()
                expected = has_path(edges, target, asker)
                assert refused == ([True] if expected else []), (edges, asker, target)
                if not expected:
                    edges.append((asker, target))
            for actor in actors:
                actor.kill()

    run_virtual(scenario)

"""The wait graph: an ask that would close a circle is refused before it is queued, and no other is (I-45)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Behavior, Context, Request
from greenroom.actors._events import AskRefused
from greenroom.core import AskCycle, Level, TurnFailed, UsageError
from greenroom.mailbox import Lane
from greenroom.testing import run_virtual
from tests.actors.situations import Do, Doer, Gate, Survivor, Teamster, events, runtime

if TYPE_CHECKING:
    from greenroom.actors import Ref


async def say_yes(ctx: Context) -> None:
    ctx.reply("yes")


def asking(target: Ref[Any], job: Any, **options: Any) -> Any:
    """Return a job that asks somebody to do a job, and hands the answer on."""

    async def ask(ctx: Context) -> None:
        ctx.reply(await target.ask(Do(job), **options))

    return ask


# --- a model: who waits for whom ------------------------------------------------------------------------------------


@attrs.frozen
class Visit(Request[int]):
    """Asks the first of a route, which asks the rest in its turn; returns how many were asked below."""

    route: tuple[int, ...]


class Visitor(Behavior[Visit]):
    on_failure = "continue"
    journal = Level.FULL

    def __init__(self, actors: list[Ref[Visit]], number: int, log: list[tuple[str, int, int]]) -> None:
        self._actors = actors
        self._number = number
        self._log = log

    async def on_message(self, message: Visit, ctx: Context) -> None:
        answer = 0
        if message.route:
            first, *rest = message.route
            await trio.lowlevel.checkpoint()
            try:
                self._log.append(("asks", self._number, first))
                answer = 1 + await self._actors[first].ask(Visit(tuple(rest)), timeout_s=math.inf)
            except AskCycle:
                self._log.append(("refused", self._number, first))
            finally:
                self._log.append(("over", self._number, first))
        ctx.reply(answer)


@pytest.mark.promise("I-45")
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=4),
    st.lists(st.integers(0, 7), max_size=60),
)
def test_whatever_the_routes_nobody_waits_forever_and_only_circles_are_refused(
    routes: list[list[int]], choices: list[int]
) -> None:
    """The asks have no limit, so the run ends only because each circle was refused."""

    async def scenario() -> tuple[list[tuple[str, int, int]], list[AskRefused]]:
        log: list[tuple[str, int, int]] = []
        async with runtime() as opened:
            actors: list[Ref[Visit]] = []
            for number in range(4):
                actors.append(await opened.spawn(Visitor, actors, number, log))
            with trio.fail_after(1_000):
                async with trio.open_nursery() as nursery:
                    for first, *rest in routes:
                        nursery.start_soon(actors[first].ask, Visit(tuple(rest)))
            return log, events(opened, AskRefused)

    log, refused = run_virtual(scenario, choices=choices).result

    waiting: list[tuple[int, int]] = []
    closes = False
    for what, asker, asked in log:
        if what == "asks":
            closes = leads(waiting, asked, asker)
            waiting.append((asker, asked))
        elif what == "over":
            waiting.remove((asker, asked))
        else:
            assert closes, (asker, asked, waiting)
    assert len(refused) == sum(what == "refused" for what, _, _ in log)


def leads(edges: list[tuple[int, int]], start: int, end: int) -> bool:
    reached = {start}
    for _ in edges:
        reached |= {to for came_from, to in edges if came_from in reached}
    return end in reached


# --- examples -------------------------------------------------------------------------------------------------------


@pytest.mark.promise("I-45")
@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("size", [1, 2, 3, 5])
async def test_an_ask_that_closes_a_circle_is_refused_at_once_and_names_the_way(size: int) -> None:
    """RC-59."""
    caught: list[AskCycle] = []
    async with runtime() as opened:
        actors = [await opened.spawn(Survivor, name=f"n{number}") for number in range(size)]

        async def close(ctx: Context) -> None:
            try:
                await actors[0].ask(Do(say_yes), timeout_s=math.inf)
            except AskCycle as error:
                caught.append(error)
                ctx.reply("refused")

        job: Any = close
        for target in reversed(actors[1:]):
            job = asking(target, job, timeout_s=math.inf)

        assert await actors[0].ask(Do(job)) == "refused"
        assert trio.current_time() == 0
        assert [actor.statistics().accepted for actor in actors] == [1] * size

    names = [actor.path for actor in actors]
    ids = [actor.id for actor in actors]
    assert caught[0].path == (*names[-1:], *names)
    assert " -> ".join(caught[0].path) in str(caught[0])
    assert isinstance(caught[0], UsageError)
    refused = events(opened, AskRefused)
    assert [(refusal.actor, refusal.target, refusal.ring) for refusal in refused] == [
        (ids[-1], ids[0], (*ids[-1:], *ids))
    ]
    assert opened.statistics().refused_cycles == 1


@pytest.mark.usefixtures("virtual_time")
async def test_a_refused_ask_that_nobody_catches_fails_its_turn_and_is_answered_as_such() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Survivor, name="n")
        with pytest.raises(TurnFailed) as caught:
            await actor.ask(Do(asking(actor, say_yes)))

    assert isinstance(caught.value.__cause__, AskCycle)


@pytest.mark.promise("I-45")
@pytest.mark.usefixtures("virtual_time")
async def test_an_answered_ask_is_no_edge_although_the_asker_has_not_run_yet() -> None:
    """b answers a and asks it in its next turn, before the task of a has moved."""
    async with runtime() as opened:
        a = await opened.spawn(Doer, name="a")
        b = await opened.spawn(Doer, name="b")
        answers: list[Any] = []
        gate = Gate()

        async def ask_back(ctx: Context) -> None:
            answers.append(await a.ask(Do(say_yes)))

        async def ask(ctx: Context) -> None:
            b.tell(gate)
            b.tell(ask_back, Lane.LATER)
            answers.append(await b.ask(Do(say_yes)))

        a.tell(ask)
        await gate.entered.wait()
        gate.opened.set()  # then b runs two turns in one step
        await wait_all_tasks_blocked()

        assert answers == ["yes", "yes"]


@pytest.mark.promise("I-45")
@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("ends", ["timeout", "cancel"])
async def test_an_ask_that_is_over_is_no_edge(ends: str) -> None:
    async with runtime() as opened:
        a = await opened.spawn(Doer, name="a")
        b = await opened.spawn(Doer, name="b")
        gate = Gate()
        answers: list[Any] = []

        async def ask(ctx: Context) -> None:
            with trio.move_on_after(1 if ends == "cancel" else math.inf):
                try:
                    await b.ask(Do(gate), timeout_s=1 if ends == "timeout" else math.inf)
                except Exception as error:  # noqa: BLE001 - the test looks at what the other one gets
                    answers.append(type(error).__name__)

        async def ask_back(ctx: Context) -> None:
            answers.append(await a.ask(Do(say_yes)))

        a.tell(ask)
        await trio.sleep(2)
        b.tell(ask_back)
        gate.opened.set()
        await trio.sleep(1)

        assert answers == [*(["AskTimedOut"] if ends == "timeout" else []), "yes"]


@pytest.mark.promise("I-45")
@pytest.mark.usefixtures("virtual_time")
async def test_of_several_waits_of_one_turn_each_is_an_edge() -> None:
    async with runtime() as opened:
        a = await opened.spawn(Teamster, name="a")
        others = [await opened.spawn(Survivor, name=f"n{number}") for number in range(3)]
        errors: list[AskCycle] = []

        async def ask_back(ctx: Context) -> None:
            try:
                await a.ask(Do(say_yes), timeout_s=math.inf)
            except AskCycle as error:
                errors.append(error)
            ctx.reply("done")

        async def ask_all(ctx: Context) -> None:
            async with trio.open_nursery() as nursery:
                for other in others:
                    nursery.start_soon(other.ask, Do(ask_back))
            ctx.reply("all done")

        assert await a.ask(Do(ask_all)) == "all done"

    assert sorted(error.path for error in errors) == [(f"n{number}", "a", f"n{number}") for number in range(3)]


@pytest.mark.promise("I-45")
@pytest.mark.usefixtures("virtual_time")
async def test_what_an_actors_own_task_and_the_host_ask_is_no_edge() -> None:
    async with runtime() as opened:
        a = await opened.spawn(Teamster, name="a")
        b = await opened.spawn(Doer, name="b")
        answers: list[Any] = []

        async def in_the_background() -> None:
            answers.append(await b.ask(Do(asking(a, say_yes))))

        async def start(ctx: Context) -> None:
            ctx.start_soon(in_the_background)

        a.tell(start)
        await wait_all_tasks_blocked()

        assert answers == ["yes"]


@pytest.mark.promise("I-45")
@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("waits_for", ["end", "turn"])
async def test_waiting_for_an_end_is_an_edge_too(waits_for: str) -> None:
    async with runtime() as opened:
        a = await opened.spawn(Survivor, name="a")
        b = await opened.spawn(Survivor, name="b")
        gate = Gate()
        errors: list[AskCycle] = []

        async def wait(ctx: Context) -> None:
            if waits_for == "end":
                await b.wait_ended()
            else:
                await b.abort_turn().wait_ended()

        async def ask_back(ctx: Context) -> None:
            with trio.CancelScope(shield=True):
                await gate(ctx)
                try:
                    await a.ask(Do(say_yes))
                except AskCycle as error:
                    errors.append(error)

        b.tell(ask_back)
        await gate.entered.wait()
        a.tell(wait)
        await wait_all_tasks_blocked()
        gate.opened.set()
        await wait_all_tasks_blocked()
        b.kill()
        await wait_all_tasks_blocked()
        assert not a.is_busy

    assert [error.path for error in errors] == [("b", "a", "b")]


@pytest.mark.usefixtures("virtual_time")
async def test_a_wait_for_an_end_is_not_refused_because_a_ladder_may_lead_to_it() -> None:
    async with runtime() as opened:
        a = await opened.spawn(Doer, name="a")
        b = await opened.spawn(Doer, name="b")

        async def stop_and_wait(ctx: Context) -> None:
            a.stop(grace_s=3)
            ctx.reply((await a.wait_ended()).state)

        a.tell(asking(b, stop_and_wait, timeout_s=math.inf))
        await a.wait_ended()

        assert trio.current_time() == 3


@pytest.mark.promise("I-45")
@pytest.mark.usefixtures("virtual_time")
async def test_an_ask_of_the_start_is_an_edge() -> None:
    class Starter(Survivor):
        async def on_start(self, ctx: Context) -> None:
            assert await helper.ask(Do(ask_back)) == "refused"

    async def ask_back(ctx: Context) -> None:
        starter = opened.find("starter")
        assert starter is not None
        with pytest.raises(AskCycle):
            await starter.ask(Do(say_yes), timeout_s=math.inf)
        ctx.reply("refused")

    async with runtime() as opened:
        helper = await opened.spawn(Doer, name="helper")
        await opened.spawn(Starter, name="starter")

        assert trio.current_time() == 0


@pytest.mark.usefixtures("virtual_time")
async def test_nothing_is_left_of_a_wait_when_it_is_over() -> None:
    async with runtime() as opened:
        a = await opened.spawn(Doer, name="a")
        b = await opened.spawn(Doer, name="b")
        await a.ask(Do(asking(b, say_yes)))

        assert all(not child.cell.turn.waits for child in opened.root.children())


@pytest.mark.usefixtures("virtual_time")
async def test_the_tree_says_who_waits_for_whom() -> None:
    gate = Gate()
    async with runtime() as opened:
        slow = await opened.spawn(Doer, name="slow")

        async def answer(ctx: Context) -> None:
            await gate(ctx)
            ctx.reply("yes")

        async def ask(ctx: Context) -> None:
            await slow.ask(Do(answer))

        asks = await opened.spawn(Doer, name="asks")
        asks.tell(ask)
        await gate.entered.wait()
        waits = {node.path: node.waits_for for node in opened.tree().children}
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert waits == {"slow": (), "asks": ("slow",)}
        assert all(not node.waits_for for node in opened.tree().children)

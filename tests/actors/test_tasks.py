"""Bare Trio tasks of an actor: those of a turn end with it, those of an incarnation live as long as that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Context, State, TurnEnded
from greenroom.core import TurnFailed, UsageError
from greenroom.supervisor import SupervisorSpec
from tests.actors.situations import AT_ONCE, Do, Doer, Gate, Oops, Teamster, events, fail, runtime

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("virtual_time")


class Log:
    """A task that says when it begins and how it ends."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    async def run(self) -> None:
        self.entries.append("begin")
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            self.entries.append("cancelled")
            raise


async def test_a_task_that_was_not_declared_is_refused() -> None:
    errors: list[UsageError] = []

    async def start(ctx: Context) -> None:
        for start_soon in (ctx.turn.start_soon, ctx.start_soon):
            with pytest.raises(UsageError) as caught:
                start_soon(trio.sleep, 1)
            errors.append(caught.value)

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(start)
        await wait_all_tasks_blocked()

    assert len(errors) == 2


@pytest.mark.promise("I-23")
async def test_tasks_of_a_turn_are_cancelled_when_the_handler_returns() -> None:
    log = Log()

    async def start(ctx: Context) -> None:
        ctx.turn.start_soon(log.run)
        await trio.sleep(1)
        ctx.reply("done")

    async with runtime() as opened:
        actor = await opened.spawn(Teamster)

        assert await actor.ask(Do(start)) == "done"
        assert log.entries == ["begin", "cancelled"]
        assert actor.state is State.RUNNING


@pytest.mark.promise("I-23")
async def test_tasks_of_a_turn_have_ended_before_the_turn_has() -> None:
    at_end: list[float] = []

    async def linger(ctx: Context) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(3)
            at_end.append(trio.current_time())

    async def start(ctx: Context) -> None:
        ctx.turn.start_soon(linger, ctx)
        await Gate()(ctx)

    async with runtime() as opened:
        actor = await opened.spawn(Teamster)
        actor.tell(start)
        await wait_all_tasks_blocked()
        outcome = await actor.abort_turn().wait_ended()

        assert outcome.state is State.KILLED
        assert at_end == [3] == [trio.current_time()]
        assert actor.state is State.RUNNING


async def test_a_task_of_a_turn_that_fails_fails_the_turn_with_its_own_error() -> None:
    async def start(ctx: Context) -> None:
        ctx.turn.start_soon(fail, ctx)
        await trio.sleep_forever()

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Teamster)
        with pytest.raises(TurnFailed) as caught:
            await actor.ask(Do(start))

        assert isinstance(caught.value.__cause__, Oops)
        await wait_all_tasks_blocked()
        assert opened.tree().children[0].incarnation == 2

    assert [event.error for event in events(opened, TurnEnded)] == ["Oops"]


async def test_tasks_of_an_actor_outlive_its_turns_and_end_with_the_incarnation() -> None:
    log = Log()

    async def start(ctx: Context) -> None:
        ctx.start_soon(log.run)

    async with runtime() as opened:
        actor = await opened.spawn(Teamster)
        actor.tell(start)
        actor.tell("next")
        await wait_all_tasks_blocked()
        assert log.entries == ["begin"]
        actor.stop()
        down = await actor.wait_ended()

        assert down.state is State.COMPLETED
        assert log.entries == ["begin", "cancelled"]


async def test_a_task_of_an_actor_that_fails_fails_the_actor() -> None:
    async def start(ctx: Context) -> None:
        ctx.start_soon(fail, ctx)

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Teamster)
        first = actor.pinned()
        downs: list[Any] = []
        first.watch(downs.append)
        actor.tell(start)
        await wait_all_tasks_blocked()

        assert [type(down.error) for down in downs] == [Oops]
        assert opened.tree().children[0].incarnation == 2


async def test_a_task_of_an_actor_that_fails_in_mid_turn_ends_that_turn() -> None:
    async def start(ctx: Context) -> None:
        async def fail_later() -> None:
            await trio.sleep(1)
            raise Oops

        ctx.start_soon(fail_later)
        await trio.sleep_forever()

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Teamster)
        actor.tell(start)
        await trio.sleep(2)

        assert opened.tree().children[0].incarnation == 2

    assert [event.state for event in events(opened, TurnEnded)] == ["killed"]


async def test_an_abort_of_a_turn_leaves_the_tasks_of_the_actor_alone() -> None:
    log = Log()

    async def start(ctx: Context) -> None:
        ctx.start_soon(log.run)
        await trio.sleep_forever()

    async with runtime() as opened:
        actor = await opened.spawn(Teamster)
        actor.tell(start)
        await wait_all_tasks_blocked()
        await actor.abort_turn().wait_ended()

        assert log.entries == ["begin"]


async def test_what_a_task_of_an_actor_sends_is_the_actors() -> None:
    from greenroom.actors import AbortRequested

    victim_turns: list[Any] = []

    async with runtime() as opened:
        victim = await opened.spawn(Doer)
        victim.tell(Gate())
        await wait_all_tasks_blocked()

        async def abort() -> None:
            victim.abort_turn()

        async def start(ctx: Context) -> None:
            ctx.start_soon(abort)

        actor = await opened.spawn(Teamster, victim_turns)
        actor.tell(start)
        await wait_all_tasks_blocked()

    (request,) = events(opened, AbortRequested)
    assert request.cause.who == actor.id

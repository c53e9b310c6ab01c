"""Watches that go wrong, come late or outlive who made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Context, Down, State
from greenroom.actors._events import WatchFailed
from greenroom.mailbox import DeadReason
from greenroom.supervisor import Backoff, SupervisorSpec
from tests.actors.situations import AT_ONCE, Doer, PlainDoer, dead, events, fail, fail_plainly, runtime

if TYPE_CHECKING:
    from typing import Any

    from greenroom.actors import Ref

pytestmark = pytest.mark.usefixtures("virtual_time")

KINDS = [(Doer, fail), (PlainDoer, fail_plainly)]
OFTEN = SupervisorSpec(intensity=100, backoff=AT_ONCE)


def refuse(down: Down) -> None:
    raise ValueError("not now")


@pytest.mark.promise("I-32")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_a_callback_that_raises_harms_neither_the_watched_nor_other_watchers(behavior: Any) -> None:
    downs: list[Down] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        neighbour = await opened.spawn(behavior)
        actor.watch(refuse)
        actor.watch(downs.append)
        actor.kill()
        await actor.wait_ended()
        actor.watch(refuse)

        assert len(downs) == 1
        assert neighbour.state is State.RUNNING
        failed = events(opened, WatchFailed)
        assert [(event.actor, event.error) for event in failed] == [(actor.id, "ValueError: not now")] * 2


@pytest.mark.promise("I-32")
@pytest.mark.parametrize(("behavior", "job"), KINDS)
async def test_a_late_watch_of_an_incarnation_hears_of_that_one(behavior: Any, job: Any) -> None:
    downs: list[Down] = []
    async with runtime(OFTEN) as opened:
        actor = await opened.spawn(behavior)
        pinned = [actor.pinned()]
        for _ in range(12):
            actor.tell(job)
            await wait_all_tasks_blocked()
            pinned.append(actor.pinned())
        for one in pinned[:-1]:
            one.watch(downs.append)

    assert [down.incarnation for down in downs] == list(range(1, 13))
    assert {down.state for down in downs} == {State.FAILED}
    assert [down.error is None for down in downs] == [True] * 3 + [False] * 9


@pytest.mark.promise("I-32")
@pytest.mark.parametrize(("behavior", "job"), KINDS)
async def test_a_callback_may_watch_again_and_again(behavior: Any, job: Any) -> None:
    """The incarnation has just ended, so it is answered, but not within the answer."""
    heard: list[int] = []
    is_inside = False
    async with runtime(OFTEN) as opened:
        actor = await opened.spawn(behavior)

        def hear(down: Down) -> None:
            nonlocal is_inside
            assert not is_inside
            is_inside = True
            heard.append(down.incarnation)
            actor.pinned().watch(hear)
            is_inside = False

        actor.pinned().watch(hear)
        for _ in range(3):
            actor.tell(job)
            await trio.sleep(1)

        assert sorted(set(heard)) == [1, 2, 3]
        assert not events(opened, WatchFailed)


@pytest.mark.promise("I-32")
async def test_a_watch_that_is_cancelled_before_its_late_answer_hears_nothing() -> None:
    heard: list[Down] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.watch(lambda _: actor.watch(heard.append).cancel())
        actor.kill()
        await trio.sleep(1)

        assert heard == []


@pytest.mark.promise("I-32")
@pytest.mark.parametrize(("behavior", "job"), KINDS)
async def test_a_watch_of_an_actor_ends_with_the_incarnation_that_made_it(behavior: Any, job: Any) -> None:
    seen: list[Any] = []
    async with runtime(OFTEN) as opened:
        watched = await opened.spawn(Doer)

        class Watcher(behavior):  # type: ignore[misc] # either kind
            def on_message(self, message: Any, ctx: Context) -> Any:
                if message == "watch":
                    ctx.watch(watched)
                    ctx.watch(watched).cancel()
                    message = "ok"
                return super().on_message(message, ctx)

        watcher: Ref[Any] = await opened.spawn(Watcher, seen)
        for message in ("watch", job, "watch", job, "watch"):
            watcher.tell(message)
        await wait_all_tasks_blocked()
        watched.kill()
        await wait_all_tasks_blocked()

        assert [type(one) for one in seen] == [str, str, str, Down]


@pytest.mark.promise("I-32")
@pytest.mark.parametrize("first_s", [0.0, 1.0])
@pytest.mark.parametrize(("behavior", "job"), KINDS)
@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_who_is_ended_by_a_callback_about_an_incarnation_does_not_come_back(
    how: str, behavior: Any, job: Any, first_s: float
) -> None:
    downs: list[Down] = []
    async with runtime(SupervisorSpec(backoff=Backoff(first_s=first_s))) as opened:
        actor = await opened.spawn(behavior)
        actor.watch(downs.append)
        actor.pinned().watch(lambda _: getattr(actor, how)())
        actor.tell(job)
        actor.tell("unread")
        await trio.sleep(10)

        assert [(down.incarnation, down.state) for down in downs] == [(1, State.FAILED)]
        assert opened.root.children() == []
        assert dead(opened) == {DeadReason.FAILED: 1, DeadReason.ENDED: 1}

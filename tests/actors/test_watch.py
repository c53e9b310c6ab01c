"""Watching: one Down for each watch, after everything of the dead is settled; and refs to one incarnation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Context, Down, State, Subscription
from greenroom.mailbox import DeadReason, Delivery, Lane
from greenroom.supervisor import ChildSpec, Restart, SupervisorSpec
from tests.actors.situations import AT_ONCE, Doer, Gate, Oops, PlainDoer, dead, fail, fail_plainly, runtime

if TYPE_CHECKING:
    from typing import Any

    from greenroom.supervisor import Runtime

pytestmark = pytest.mark.usefixtures("virtual_time")

KINDS = [(Doer, fail), (PlainDoer, fail_plainly)]


@pytest.mark.promise("I-32")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_a_watch_hears_once_of_the_end_with_state_and_cause(behavior: Any) -> None:
    downs: list[Down] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        actor.watch(downs.append)
        await wait_all_tasks_blocked()
        assert downs == []

        actor.kill("over")
        await actor.wait_ended()

        (down,) = downs
        assert (down.actor, down.incarnation, down.state) == (actor.id, 1, State.KILLED)
        assert down.cause is not None
        assert down.cause.why == "over"
        assert down == await actor.wait_ended()


@pytest.mark.promise("I-32")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_a_watch_of_the_dead_is_answered_at_once_with_the_same(behavior: Any) -> None:
    downs: list[Down] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        actor.watch(downs.append)
        actor.kill()
        await actor.wait_ended()

        actor.watch(downs.append)
        actor.pinned().watch(downs.append)

        assert len(downs) == 3
        assert downs[0] == downs[1] == downs[2]


@pytest.mark.promise("I-32")
async def test_a_cancelled_watch_hears_nothing() -> None:
    downs: list[Down] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        watch = actor.watch(downs.append)
        other = actor.watch(downs.append)
        watch.cancel()
        watch.cancel()
        actor.kill()
        await actor.wait_ended()
        other.cancel()

        assert len(downs) == 1


@pytest.mark.promise("I-31")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_when_a_down_arrives_names_mail_and_asks_of_the_dead_are_settled(behavior: Any) -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior, name="mortal")

        def look(down: Down) -> None:
            seen.append(
                (opened.find("mortal"), actor.tell("x"), actor.statistics().is_closed, actor.is_gone, len(seen))
            )

        actor.watch(look)
        actor.kill()
        await actor.wait_ended()

        assert seen == [(None, Delivery.CLOSED, True, True, 0)]
        await opened.spawn(behavior, name="mortal")


@pytest.mark.promise("I-35")
@pytest.mark.parametrize(("behavior", "job"), KINDS)
async def test_a_watch_outlives_restarts_and_a_pinned_one_does_not(behavior: Any, job: Any) -> None:
    gone: list[Down] = []
    first: list[Down] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(behavior)
        actor.watch(gone.append)
        actor.pinned().watch(first.append)
        actor.tell(job)
        await wait_all_tasks_blocked()

        assert gone == []
        assert [(down.incarnation, down.state) for down in first] == [(1, State.FAILED)]
        assert isinstance(first[0].error, Oops)
        actor.kill()
        await actor.wait_ended()
        assert [(down.incarnation, down.state) for down in gone] == [(2, State.KILLED)]
        assert len(first) == 1


@pytest.mark.promise("I-43")
@pytest.mark.parametrize(("behavior", "job"), KINDS)
async def test_a_pinned_ref_reaches_its_incarnation_only(behavior: Any, job: Any) -> None:
    seen: list[Any] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(behavior, seen)
        pinned = actor.pinned()
        assert pinned.tell("first") is Delivery.ACCEPTED
        actor.tell(job)
        await wait_all_tasks_blocked()

        assert pinned.tell("second") is Delivery.CLOSED
        assert actor.tell("third") is Delivery.ACCEPTED
        await wait_all_tasks_blocked()

        assert seen == ["first", "third"]
        assert not pinned.is_current
        assert actor.pinned().is_current
        assert dead(opened) == {DeadReason.FAILED: 1, DeadReason.ENDED: 1}


@pytest.mark.promise("I-43")
@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_what_a_pinned_ref_sent_is_not_handled_by_the_next_incarnation(behavior: Any) -> None:
    """Accepted by one incarnation, still queued at its end: it must not reach another one."""
    seen: list[Any] = []
    job = fail_plainly if behavior is PlainDoer else fail
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(behavior, seen)
        actor.tell(job)
        assert actor.pinned().tell("for the first") is Delivery.ACCEPTED
        actor.tell("for whoever comes")
        await wait_all_tasks_blocked()

        assert seen == ["for whoever comes"]
        assert dead(opened) == {DeadReason.FAILED: 1, DeadReason.ENDED: 1}


@pytest.mark.parametrize("behavior", [Doer, PlainDoer])
async def test_an_actor_that_watches_gets_the_down_as_a_signal(behavior: Any) -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        watched = await opened.spawn(Doer)
        watcher = await opened.spawn(behavior, seen)
        await tell_to_watch(opened, watcher, watched)
        watched.kill("over")
        await wait_all_tasks_blocked()

        assert [type(signal) for signal in seen] == [Down]
        assert seen[0].actor == watched.id


async def test_a_down_is_not_behind_the_watchers_mail_and_never_refused() -> None:
    seen: list[Any] = []
    gate = Gate()
    async with runtime() as opened:
        watched = await opened.spawn(Doer)
        watcher = await opened.spawn(Doer, seen)
        await tell_to_watch(opened, watcher, watched)
        watcher.tell(gate)
        await gate.entered.wait()
        while watcher.tell("mail") is Delivery.ACCEPTED:
            pass
        watched.kill()
        await wait_all_tasks_blocked()
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert isinstance(seen[0], Down)
        assert seen[1:] == ["mail"] * 999


async def test_signals_are_ignored_unless_a_behavior_wants_them() -> None:
    from greenroom.actors import Behavior

    class Indifferent(Behavior["Any"]):
        async def on_message(self, message: Any, ctx: Context) -> None:
            ctx.watch(message)

    async with runtime() as opened:
        watched = await opened.spawn(Doer)
        watcher = await opened.spawn(Indifferent)
        watcher.tell(watched)
        await wait_all_tasks_blocked()
        watched.kill()
        await wait_all_tasks_blocked()

        assert watcher.state is State.RUNNING
        assert watcher.statistics().acked == 2


async def tell_to_watch(opened: Runtime, watcher: Any, watched: Any) -> None:
    is_plain = any(node.id == watcher.id and node.behavior == "PlainDoer" for node in opened.tree().children)

    async def watch(ctx: Context) -> None:
        ctx.watch(watched)

    def watch_plainly(ctx: Context) -> None:
        ctx.watch(watched)

    watcher.tell(watch_plainly if is_plain else watch)
    await wait_all_tasks_blocked()


@pytest.mark.promise("I-36")
@pytest.mark.parametrize("restart", list(Restart))
async def test_a_watch_fires_after_the_last_incarnation_whatever_the_restart_type(restart: Restart) -> None:
    downs: list[Down] = []
    async with runtime(SupervisorSpec(backoff=AT_ONCE, intensity=9)) as opened:
        actor = await opened.spawn(Doer, spec=ChildSpec(restart=restart))
        actor.watch(downs.append)
        actor.tell(fail)
        await wait_all_tasks_blocked()

        assert len(downs) == (1 if restart is Restart.TEMPORARY else 0)

    assert len(downs) == 1


@pytest.mark.promise("I-32")
@pytest.mark.parametrize("is_served", [True, False])
async def test_a_down_that_waits_is_taken_back_with_its_watch(is_served: bool) -> None:
    watches: list[Subscription] = []
    gate = Gate()
    seen: list[Any] = []
    async with runtime() as opened:
        watched = await opened.spawn(Doer)
        watcher = await opened.spawn(Doer, seen)

        async def watch(ctx: Context) -> None:
            watches.append(ctx.watch(watched))

        watcher.tell(watch)
        await wait_all_tasks_blocked()
        if not is_served:
            watcher.tell(gate)
            await gate.entered.wait()
        watched.kill()
        await watched.wait_ended()
        await wait_all_tasks_blocked()
        watches[0].cancel()
        watches[0].cancel()
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert len(seen) == is_served
        assert dead(opened) == ({} if is_served else {DeadReason.WITHDRAWN: 1})


@pytest.mark.promise("I-32")
@pytest.mark.parametrize("is_restarted", [True, False])
async def test_a_down_that_waits_is_heard_only_by_the_incarnation_that_watched(is_restarted: bool) -> None:
    """The next one watches again, and would hear of the same end twice."""
    heard: list[Any] = []

    class Watches(Doer):
        async def on_start(self, ctx: Context) -> None:
            ctx.watch(other)

        async def on_signal(self, signal: Any, ctx: Context) -> None:
            heard.append((ctx.incarnation, signal.actor))

    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        other = await opened.spawn(Doer)
        watcher = await opened.spawn(Watches)
        gate = Gate()
        for job in (gate, *([fail] if is_restarted else [])):
            watcher.tell(job, Lane.NOW)
        await gate.entered.wait()
        other.stop()
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert heard == [(1 + is_restarted, other.id)]
        assert dead(opened) == ({DeadReason.FAILED: 1, DeadReason.ENDED: 1} if is_restarted else {})

"""Suspending, resuming and reading the state of an actor: no messages, so a busy one answers too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorResumed, ActorSuspended, Behavior, Context, State
from greenroom.core import AskTimedOut, Cause, UsageError
from greenroom.mailbox import Lane
from greenroom.supervisor import SupervisorSpec
from greenroom.testing import run_virtual
from tests.actors.situations import AT_ONCE, Do, Doer, Gate, Oops, PlainDoer, Teamster, events, fail, runtime

if TYPE_CHECKING:
    from collections.abc import Callable

virtual = pytest.mark.usefixtures("virtual_time")
both = pytest.mark.parametrize("behavior", [Doer, PlainDoer, Teamster])


@virtual
@both
async def test_a_suspended_actor_takes_no_mail_until_it_is_resumed(behavior: Any) -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior, seen)
        actor.suspend(why="looking")
        for message, lane in (("c", Lane.LATER), ("b", Lane.NEXT), ("a", Lane.NOW)):
            actor.tell(message, lane)
        await trio.sleep(1)
        assert seen == []
        assert actor.is_suspended
        assert opened.tree().children[0].is_suspended

        actor.resume()
        await wait_all_tasks_blocked()

        assert seen == ["a", "b", "c"]
        assert not opened.tree().children[0].is_suspended
    assert [event.cause for event in events(opened, ActorSuspended)] == [Cause("host", "looking")]
    assert len(events(opened, ActorResumed)) == 1


@virtual
async def test_the_turn_that_runs_goes_on_and_sees_no_more_mail() -> None:
    gate = Gate()
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(Doer, seen)

        async def job(ctx: Context) -> None:
            await gate(ctx)
            seen.append((ctx.has_mail, len(ctx.drain(str, 9).messages), len(ctx.pick(list).messages)))

        actor.tell(job)
        actor.tell("next")
        await gate.entered.wait()
        actor.suspend()
        gate.opened.set()
        await wait_all_tasks_blocked()
        assert seen == [(False, 0, 0)]
        assert not actor.is_busy

        actor.resume()
        await wait_all_tasks_blocked()

        assert seen == [(False, 0, 0), "next"]


@virtual
@both
async def test_a_handler_that_never_waits_is_suspended_after_its_message(behavior: Any) -> None:
    seen: list[Any] = []
    async with runtime() as opened:
        actor = await opened.spawn(behavior, seen)

        async def suspend(ctx: Context) -> None:
            ctx.ref.suspend()

        def suspend_plainly(ctx: Context) -> None:
            ctx.ref.suspend()

        actor.tell(suspend_plainly if behavior is PlainDoer else suspend)
        actor.tell("next")
        await wait_all_tasks_blocked()

        assert seen == []
        assert events(opened, ActorSuspended)[0].cause.who == actor.id


@virtual
@both
@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_a_suspended_actor_ends_as_any_other(behavior: Any, end: str) -> None:
    async with runtime() as opened:
        actor = await opened.spawn(behavior)
        actor.suspend()
        actor.tell("x")
        getattr(actor, end)()
        down = await actor.wait_ended()
        actor.resume()
        actor.suspend()

        assert down.state is (State.COMPLETED if end == "stop" else State.KILLED)
        assert trio.current_time() == 0
    assert len(events(opened, ActorSuspended)) + len(events(opened, ActorResumed)) == 1


@virtual
async def test_the_turn_of_a_suspended_actor_can_be_aborted() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.tell(Gate())
        await wait_all_tasks_blocked()
        actor.suspend()
        outcome = await actor.abort_turn().wait_ended()

        assert outcome.state is State.KILLED
        assert actor.is_suspended


@virtual
async def test_the_next_incarnation_is_not_suspended() -> None:
    seen: list[Any] = []
    gate = Gate()
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        actor = await opened.spawn(Doer, seen)

        async def job(ctx: Context) -> None:
            await gate(ctx)
            raise Oops

        actor.tell(job)
        actor.tell("next")
        await gate.entered.wait()
        actor.suspend()
        gate.opened.set()
        await wait_all_tasks_blocked()

        assert seen == ["next"]
        assert not actor.is_suspended


@virtual
async def test_an_ask_of_a_suspended_actor_waits_and_may_run_out_of_time() -> None:
    async def say_yes(ctx: Context) -> None:
        ctx.reply("yes")

    async with runtime() as opened:
        actor = await opened.spawn(Doer)
        actor.suspend()
        with pytest.raises(AskTimedOut):
            await actor.ask(Do(say_yes), timeout_s=1)
        actor.resume()

        assert await actor.ask(Do(say_yes)) == "yes"


@given(st.lists(st.sampled_from(["tell", "suspend", "resume", "step", "fail"]), max_size=30), st.booleans())
def test_nothing_is_lost_or_reordered_however_often_an_actor_is_suspended(actions: list[str], is_plain: bool) -> None:
    def fail_plainly(ctx: Context) -> None:
        raise Oops

    async def scenario() -> tuple[list[int], int]:
        seen: list[Any] = []
        told, is_suspended = 0, False
        async with runtime(SupervisorSpec(intensity=99, backoff=AT_ONCE)) as opened:
            actor = await opened.spawn(PlainDoer if is_plain else Doer, seen)
            for action in actions:
                match action:
                    case "tell":
                        actor.tell(told)
                        told += 1
                    case "fail":
                        actor.tell(fail_plainly if is_plain else fail)
                    case "step":
                        before = list(seen)
                        is_suspended = actor.is_suspended
                        await wait_all_tasks_blocked()
                        assert not is_suspended or seen == before
                    case _:
                        getattr(actor, action)()
                        assert actor.is_suspended is (action == "suspend")
            actor.resume()
            await wait_all_tasks_blocked()
            return seen, told

    seen, told = run_virtual(scenario).result

    assert seen == list(range(told))


# --- state ----------------------------------------------------------------------------------------------------------


class Slotted(Behavior[Any]):
    __slots__ = ("_hidden", "shown", "unset")

    def __init__(self) -> None:
        self._hidden, self.shown = 1, 2

    def on_message(self, message: Any, ctx: Context) -> None:
        self.shown = message


class Custom(Behavior[Any]):
    snapshot_of: ClassVar[Callable[[], object]]

    def snapshot(self) -> object:
        return type(self).snapshot_of()

    def on_message(self, message: Any, ctx: Context) -> None: ...


@virtual
async def test_the_state_is_the_public_attributes_read_in_the_callers_step() -> None:
    async with runtime() as opened:
        actor = await opened.spawn(Doer, ["a"])
        slotted = await opened.spawn(Slotted)
        actor.tell(Gate())
        await wait_all_tasks_blocked()

        assert actor.is_busy
        assert actor.get_state() == {"seen": ["a"]}
        assert slotted.get_state() == {"shown": 2}
        actor.kill()
        await actor.wait_ended()
        assert actor.get_state() is None


@virtual
async def test_a_behavior_may_say_what_its_state_is() -> None:
    async def waits() -> int:
        return 1

    def raises() -> object:
        raise Oops

    async with runtime() as opened:
        actor = await opened.spawn(Custom)
        Custom.snapshot_of = staticmethod(lambda: "mine")
        assert actor.get_state() == "mine"

        Custom.snapshot_of = staticmethod(waits)
        with pytest.raises(UsageError):
            actor.get_state()

        Custom.snapshot_of = staticmethod(raises)
        with pytest.raises(Oops):
            actor.get_state()
        assert actor.state is State.RUNNING

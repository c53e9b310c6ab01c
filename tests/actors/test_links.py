"""Links: an actor tied to a turn ends before the turn does, whatever ends the turn, and is left alone once unlinked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ActorExited, ActorUnresponsive, Behavior, Context, KillRequested, State, TurnEnded
from greenroom.actors._events import TurnLinked, TurnUnlinked
from greenroom.core import AskCycle, Level, UsageError
from greenroom.supervisor import ChildSpec, SupervisorSpec
from greenroom.testing import CancelAt, cancel_sweep, run_virtual
from tests.actors.situations import AT_ONCE, Deaf, Do, Doer, Gate, Oops, Survivor, Teamster, dead, events, runtime

if TYPE_CHECKING:
    from greenroom.actors import Ref, Subscription
    from greenroom.supervisor import Runtime

virtual = pytest.mark.usefixtures("virtual_time")


class Parent(Teamster):
    """Its turns may link actors, and their errors end the turn only."""

    on_failure = "continue"


class Slow(Survivor):
    """Its clean-up takes a while."""

    def __init__(self, clean_up_s: float = 1.5, seen: list[Any] | None = None) -> None:
        super().__init__(seen)
        self.clean_up_s = clean_up_s

    async def on_stop(self, ctx: Context) -> None:
        await trio.sleep(self.clean_up_s)


class Chain(Behavior[int]):
    """Spawns the level below and links it, down to 0; each level cleans up for 1.5 s."""

    turn_tasks = True
    journal = Level.FULL

    def __init__(self, opened: Runtime) -> None:
        self._opened = opened

    async def on_message(self, message: int, ctx: Context) -> None:
        if message:
            below: Ref[int] = await self._opened.spawn(Chain, self._opened, name=f"level-{message - 1}")
            ctx.turn.link(below)
            below.tell(message - 1)
        await trio.sleep_forever()

    async def on_stop(self, ctx: Context) -> None:
        await trio.sleep(1.5)


def outlived(opened: Runtime) -> list[str]:
    """Return what breaks I-23: linked actors that ended after the turn which held them."""
    held: dict[tuple[str, int, int], set[str]] = {}
    ended: set[str] = set()
    found = []
    for event in events(opened, object):  # type: ignore[type-var]  # all of them
        match event:
            case TurnLinked():
                held.setdefault((event.actor, event.inc, event.turn), set()).add(event.child)
            case TurnUnlinked():
                held[event.actor, event.inc, event.turn].remove(event.child)
            case ActorExited() | ActorUnresponsive():
                ended.add(event.actor)
            case TurnEnded():
                left = held.get((event.actor, event.inc, event.turn), set()) - ended
                found += [f"{child} outlived turn {event.turn} of {event.actor}" for child in sorted(left)]
    return found


# --- while the turn goes on -----------------------------------------------------------------------------------------


@virtual
async def test_a_turn_waits_for_what_it_is_linked_to() -> None:
    async with runtime() as opened:
        child = await opened.spawn(Doer)
        parent = await opened.spawn(Parent)

        async def job(ctx: Context) -> None:
            link = ctx.turn.link(child)
            down = await link.wait()
            assert down is link.down
            assert not link.is_open
            ctx.reply((down.state, down.actor, trio.current_time()) if down else None)

        async with trio.open_nursery() as nursery:
            answers: list[Any] = []

            async def ask() -> None:
                answers.append(await parent.ask(Do(job)))

            nursery.start_soon(ask)
            await trio.sleep(3)
            child.stop()

    assert answers == [(State.COMPLETED, child.id, 3)]
    assert not outlived(opened)


@virtual
async def test_what_is_gone_already_is_linked_to_no_effect() -> None:
    async with runtime() as opened:
        child = await opened.spawn(Doer)
        parent = await opened.spawn(Parent)
        child.kill()
        down = await child.wait_ended()

        async def job(ctx: Context) -> None:
            link = ctx.turn.link(child)
            assert not link.is_open
            assert await link.wait() == down
            link.unlink()
            ctx.reply("yes")

        assert await parent.ask(Do(job)) == "yes"
    assert not events(opened, TurnLinked)


@virtual
async def test_whoever_is_restarted_is_linked_on() -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE)) as opened:
        child = await opened.spawn(Doer)
        parent = await opened.spawn(Parent)

        async def fail(ctx: Context) -> None:
            raise Oops

        async def job(ctx: Context) -> None:
            link = ctx.turn.link(child)
            child.tell(fail)
            await trio.sleep(1)
            ctx.reply(link.is_open)

        assert await parent.ask(Do(job)) is True
        assert child.is_gone


# --- when the turn ends first ---------------------------------------------------------------------------------------


async def returns(ctx: Context) -> None:
    await trio.sleep(1)


async def raises(ctx: Context) -> None:
    await trio.sleep(1)
    raise Oops


async def is_ended(ctx: Context) -> None:
    await trio.sleep_forever()


async def has_a_task_that_fails(ctx: Context) -> None:
    ctx.turn.start_soon(raises, ctx)
    await trio.sleep_forever()


async def is_deaf(ctx: Context) -> None:
    with trio.CancelScope(shield=True):
        await trio.sleep(1.25)


@pytest.mark.promise("I-23")
@virtual
@pytest.mark.parametrize("job", [returns, raises, is_ended, has_a_task_that_fails, is_deaf])
@pytest.mark.parametrize("strike", ["abort_turn", "kill", "stop"])
async def test_however_a_turn_ends_what_is_linked_ends_before_it(job: Any, strike: str) -> None:
    async with runtime() as opened:
        below = await opened.spawn_supervisor("below")
        child = await below.spawn(Slow)
        other = await below.spawn(Doer)
        parent = await opened.spawn(Parent)

        async def linked(ctx: Context) -> None:
            ctx.turn.link(child)
            await job(ctx)

        child.tell(Gate())
        parent.tell(linked)
        await trio.sleep(1)
        if job in {is_ended, is_deaf}:
            getattr(parent, strike)()
            if strike != "stop":
                assert [event.actor for event in events(opened, KillRequested)].count(child.id) == 1
        await trio.sleep(20)

        assert child.is_gone
        assert not other.is_gone
        assert parent.is_gone is (job in {is_ended, is_deaf} and strike != "abort_turn")
        assert not outlived(opened)
        ended = [event for event in events(opened, TurnEnded) if event.actor == parent.id]
        assert len(ended) == 1
    killed = next(event for event in events(opened, ActorExited) if event.actor == child.id)
    assert killed.state == "killed"
    assert not killed.cleanup_cut


@virtual
async def test_an_unlinked_actor_goes_on_without_the_turn() -> None:
    async with runtime() as opened:
        child = await opened.spawn(Doer)
        parent = await opened.spawn(Parent)
        waits: list[Any] = []

        async def job(ctx: Context) -> None:
            link = ctx.turn.link(child)

            async def wait() -> None:
                waits.append(await link.wait())

            ctx.turn.start_soon(wait)
            await trio.sleep(1)
            link.unlink()
            link.unlink()
            await wait_all_tasks_blocked()
            ctx.reply(link.is_open)

        assert await parent.ask(Do(job)) is False
        assert waits == [None]
        assert not child.is_gone
        assert len(events(opened, TurnUnlinked)) == 1
        assert all(not child.cell.turn.waits and not child.cell.turn.links for child in opened.root.children())


@virtual
async def test_what_was_held_for_a_restart_ends_with_the_turn_too() -> None:
    async with runtime(SupervisorSpec(backoff=AT_ONCE), is_checked=False) as opened:
        child = await opened.spawn(Slow)
        parent = await opened.spawn(Parent)

        async def job(ctx: Context) -> None:
            ctx.turn.link(child)
            await trio.sleep(1)
            child.stop()

        parent.tell(job)
        await trio.sleep(9)

        assert child.is_gone
        assert not outlived(opened)


@pytest.mark.promise("I-23", "I-26")
@virtual
@pytest.mark.parametrize("strike", ["kill", "abort_turn"])
async def test_in_a_chain_everybody_has_the_whole_of_its_own_grace(strike: str) -> None:
    """Four levels with 2 s of grace each and 1.5 s of clean-up: with the grace counted from the kill, three were cut."""
    async with runtime() as opened:
        top: Ref[int] = await opened.spawn(Chain, opened, name="level-3")
        top.tell(3)
        await trio.sleep(1)
        getattr(top, strike)()
        kills = [event.actor for event in events(opened, KillRequested)]
        assert len(kills) == (4 if strike == "kill" else 3)
        await trio.sleep(20)
        exits = events(opened, ActorExited)
        assert not outlived(opened)

    ended = [(record[1], record[2]) for record in opened.recorder.latest() if record[2] is ActorExited]
    assert [exited.cleanup_cut for exited in exits] == [False] * len(kills)
    assert [t for t, _ in ended][: len(kills)] == [1 + 1.5 * level for level in range(1, len(kills) + 1)]
    assert not events(opened, ActorUnresponsive)


@pytest.mark.promise("I-26")
@virtual
async def test_a_supervisor_that_stops_a_parent_waits_for_what_is_linked_below() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        child = await opened.spawn(Slow, 7.0, spec=ChildSpec(kill_grace_s=8.0))
        parent = await team.spawn(Parent, spec=ChildSpec(grace_s=1.0, kill_grace_s=1.0))

        async def job(ctx: Context) -> None:
            ctx.turn.link(child)
            await trio.sleep_forever()

        parent.tell(job)
        await wait_all_tasks_blocked()
        parent.stop()
        await parent.wait_ended()

        assert trio.current_time() == 1 + 7
        assert child.is_gone
    assert not events(opened, ActorUnresponsive)


@virtual
async def test_a_linked_actor_that_does_not_end_is_on_record_and_left() -> None:
    deaf = Deaf(50)
    async with runtime() as opened:
        child = await opened.spawn(Doer)
        parent = await opened.spawn(Parent)
        child.tell(deaf)

        async def job(ctx: Context) -> None:
            ctx.turn.link(child)

        await deaf.entered.wait()
        parent.tell(job)
        parent.tell("next")
        await trio.sleep(5)

        assert [event.actor for event in events(opened, ActorUnresponsive)] == [child.id]
        assert not parent.is_busy
        assert not child.is_gone
        await child.wait_ended()


# --- what is refused ------------------------------------------------------------------------------------------------


@virtual
async def test_a_link_needs_turn_tasks_and_nobody_links_what_it_lives_under() -> None:
    async with runtime() as opened:
        team = await opened.spawn_supervisor("team")
        plain = await opened.spawn(Survivor)
        inner = await team.spawn(Parent, name="inner")
        child = await opened.spawn(Doer)

        def linking(target: Any) -> Any:
            async def job(ctx: Context) -> None:
                with pytest.raises(UsageError):
                    ctx.turn.link(target)
                ctx.reply("refused")

            return job

        assert await plain.ask(Do(linking(child))) == "refused"
        for above in (team.ref, opened.root.ref, inner):
            assert await inner.ask(Do(linking(above))) == "refused"
        assert not child.is_gone


@pytest.mark.promise("I-45")
@virtual
async def test_a_link_is_an_edge_as_long_as_it_is_open() -> None:
    async with runtime() as opened:
        child = await opened.spawn(Survivor, name="child")
        parent = await opened.spawn(Parent, name="parent")
        seen: list[Any] = []

        async def ask_up(ctx: Context) -> None:
            try:
                seen.append(await parent.ask(Do(returns), timeout_s=1))
            except AskCycle as error:
                seen.append(error.path)
            except Exception as error:  # noqa: BLE001 - the test looks at what it is
                seen.append(type(error).__name__)

        async def job(ctx: Context) -> None:
            link = ctx.turn.link(child)
            child.tell(ask_up)
            await trio.sleep(1)
            link.unlink()
            child.tell(ask_up)
            await trio.sleep(2)

        parent.tell(job)
        await trio.sleep(9)

    assert seen == [("child", "parent", "child"), "AskTimedOut"]


@pytest.mark.promise("I-45")
@virtual
async def test_a_link_to_whoever_waits_for_this_turn_is_refused() -> None:
    async with runtime() as opened:
        asker = await opened.spawn(Doer, name="asker")
        parent = await opened.spawn(Parent, name="parent")
        paths: list[Any] = []

        async def link_back(ctx: Context) -> None:
            try:
                ctx.turn.link(asker)
            except AskCycle as error:
                paths.append(error.path)
            ctx.reply("done")

        async def ask(ctx: Context) -> None:
            await parent.ask(Do(link_back))

        asker.tell(ask)
        await wait_all_tasks_blocked()
        assert not asker.is_gone

    assert paths == [("parent", "asker", "parent")]


# --- wherever it is struck ------------------------------------------------------------------------------------------


async def family(opened: Runtime, at: CancelAt | None, strike: str, seconds: float) -> list[Subscription]:
    """Run a parent with a linked child and grandchild; the parent is struck, or left alone."""
    names = [await opened.spawn(Parent, name=name) for name in ("parent", "child", "grandchild")]
    links: list[Subscription] = []

    def linking(below: list[Ref[Any]]) -> Any:
        async def job(ctx: Context) -> None:
            if below:
                links.append(ctx.turn.link(below[0]))
                below[0].tell(linking(below[1:]))
            await trio.sleep(seconds)

        return job

    if at is not None:
        at.aim(getattr(names[0], strike))
    names[0].tell(linking(names[1:]))
    await trio.sleep(30)
    return links


@pytest.mark.slow
@pytest.mark.promise("I-23", "I-30")
@pytest.mark.parametrize("strike", ["abort_turn", "kill", "stop"])
def test_wherever_a_parent_is_struck_no_linked_actor_outlives_its_turn(strike: str) -> None:
    async def scenario(at: CancelAt) -> tuple[list[str], int]:
        async with runtime() as opened:
            links = await family(opened, at, strike, 2.0)
            at.rest()
            assert not any(link.is_open for link in links)
        return outlived(opened), len(links)

    runs = cancel_sweep(scenario)

    assert len(runs) > 15
    assert [run.steps for run in runs if run.result[0]] == []


@pytest.mark.promise("I-23", "I-25")
@given(st.lists(st.integers(0, 7), max_size=60), st.floats(0.125, 4), st.sampled_from(["abort_turn", "kill", "stop"]))
def test_whenever_a_parent_is_struck_only_what_is_linked_below_ends(
    choices: list[int], at_s: float, strike: str
) -> None:
    async def scenario() -> tuple[list[str], bool]:
        async with runtime() as opened:
            bystander = await opened.spawn(Doer)
            gate = Gate()
            bystander.tell(gate)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(family, opened, None, strike, 3.0)
                await trio.sleep(at_s)
                parent = opened.find("parent")
                if parent is not None:
                    getattr(parent, strike)()
            is_untouched = bystander.is_busy and not bystander.is_gone
            gate.opened.set()
            await wait_all_tasks_blocked()
            assert not dead(opened).keys() - {"aborted", "ended"}
        return outlived(opened), is_untouched

    assert run_virtual(scenario, choices=choices).result == ([], True)


@virtual
async def test_a_link_has_a_useful_repr() -> None:
    async with runtime() as opened:
        child = await opened.spawn(Doer, name="child")
        parent = await opened.spawn(Parent, name="parent")

        async def job(ctx: Context) -> None:
            ctx.reply(repr(ctx.turn.link(child)))

        assert await parent.ask(Do(job)) == "<Subscription to 'child': link, open>"


@pytest.mark.promise("I-23")
@pytest.mark.parametrize("is_error", [False, True])
def test_the_linked_actor_hears_of_the_end_in_the_step_in_which_the_handler_is_over(is_error: bool) -> None:
    steps = CancelAt()  # it strikes nothing, it only counts

    async def scenario() -> list[int]:
        found: list[int] = []
        async with runtime() as opened:
            child = await opened.spawn(Doer)
            parent = await opened.spawn(Parent)
            opened.recorder.listen(lambda record: found.append(steps.count) if record[2] is KillRequested else None)

            async def job(ctx: Context) -> None:
                ctx.turn.link(child)
                await trio.sleep(1)
                found.append(steps.count)
                if is_error:
                    raise Oops

            parent.tell(job)
            await trio.sleep(5)
            return found[:2]

    returned, killed = run_virtual(scenario, instruments=[steps]).result

    assert returned == killed

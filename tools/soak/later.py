"""Scenarios of what happens later: batches that overlap, states with postponed mail, timers, the outbox, a drain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from greenroom.actors import Behavior, Context, Unfinished
from greenroom.core import GreenroomError, Level
from greenroom.core import Recorder as EventRecorder
from greenroom.mailbox import Lane, MailboxPolicy
from greenroom.supervisor import Backoff, ChildSpec, Restart, Strategy, SupervisorSpec, open_runtime
from greenroom.testing import virtual_ports

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from greenroom.actors import Ref
    from greenroom.core import Record
    from greenroom.testing import CancelAt

    Scenario = Callable[[CancelAt], Awaitable[list[Record]]]

RING = 100_000


class SlowToStop(Behavior[int]):
    """Fails at a negative number, and takes its time at the end."""

    journal = Level.FULL

    async def on_message(self, message: int, ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        if message < 0:
            raise RuntimeError(message)

    async def on_stop(self, ctx: Context) -> None:
        await trio.sleep(0.03)


class PlainFailure(Behavior[int]):
    """The same without waiting."""

    journal = Level.FULL

    def on_message(self, message: int, ctx: Context) -> None:
        if message < 0:
            raise RuntimeError(message)


def batches(strategy: Strategy) -> Scenario:
    """Four children, two of which build on others; crashes and requested restarts fall into each other's batches.

    Nobody but the strikes asks for an end, so whoever was not struck lives to the end.
    """

    async def scenario(at: CancelAt) -> list[Record]:
        recorder = EventRecorder(trio.current_time, capacity=RING)
        spec = SupervisorSpec(strategy=strategy, intensity=1_000, backoff=Backoff(first_s=0.01, cap_s=0.02))
        async with open_runtime(ports=virtual_ports(), recorder=recorder, spec=spec) as opened:
            kinds: list[tuple[type[Behavior[int]], str, tuple[str, ...]]] = [
                (SlowToStop, "a", ()),
                (PlainFailure, "b", ("a",)),
                (SlowToStop, "c", ()),
                (SlowToStop, "d", ("a", "c")),
            ]
            actors: list[Ref[int]] = [
                await opened.spawn(
                    kind, name=name, spec=ChildSpec(restart=Restart.PERMANENT, grace_s=1, depends_on=depends_on)
                )
                for kind, name, depends_on in kinds
            ]
            struck: set[int] = set()

            def strike() -> None:
                place = len(struck) % 4
                struck.add(place)
                actors[place].kill()

            at.aim(strike)

            async def bother(order: tuple[int, ...], pause_s: float) -> None:
                for place in order:
                    actors[place].tell(-1)
                    await trio.sleep(pause_s)

            async def restart(place: int) -> None:
                await trio.sleep(0.015)
                if not actors[place].is_gone:
                    try:
                        await opened.root.restart(actors[place])
                    except GreenroomError:
                        pass

            async with trio.open_nursery() as nursery:
                nursery.start_soon(bother, (1, 0, 2), 0.0)
                nursery.start_soon(bother, (2, 3, 0), 0.02)
                for place in (0, 2):
                    nursery.start_soon(restart, place)
            at.rest()
            await trio.sleep(10)
            gone = {place for place, actor in enumerate(actors) if actor.is_gone}
            assert gone == struck, f"gone: {gone}, killed: {struck}"
        return recorder.latest()

    return scenario


class Door(Behavior[Any]):
    """Lets people in while it is open; the others are postponed. Opens and shuts by timers, and tells the porter."""

    journal = Level.FULL
    mailbox = MailboxPolicy(capacity=8, stash_capacity=3)
    unfinished = Unfinished.REQUEUE

    def __init__(self, porter: Ref[Any]) -> None:
        self._porter = porter

    async def on_start(self, ctx: Context) -> None:
        ctx.send_every(0.02, "turn")

    async def on_message(self, message: Any, ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        if message == "turn":
            is_open = ctx.state != "open"
            ctx.enter("open" if is_open else "shut")
            if is_open:
                ctx.send_after(0.005, "closing soon", for_state=True)
            return
        ctx.poll_now()
        if message == "crash":
            raise RuntimeError(message)
        if ctx.state != "open" and message != "closing soon":
            ctx.postpone()
            return
        ctx.tell_on_commit(self._porter, message, lane=Lane.LATER)
        await trio.lowlevel.checkpoint()


class Porter(Behavior[Any]):
    """Has room for two."""

    journal = Level.FULL
    mailbox = MailboxPolicy(capacity=2)

    async def on_message(self, message: Any, ctx: Context) -> None:
        await trio.sleep(0.003)


async def doors(at: CancelAt) -> list[Record]:
    """Two doors and their porter, under mail, crashes, aborts, and at last a drain."""
    recorder = EventRecorder(trio.current_time, capacity=RING)
    spec = SupervisorSpec(intensity=1_000, backoff=Backoff(first_s=0.01, cap_s=0.02))
    async with open_runtime(ports=virtual_ports(), recorder=recorder, spec=spec) as opened:
        porter = await opened.spawn(Porter, spec=ChildSpec(restart=Restart.PERMANENT))
        both = [await opened.spawn(Door, porter) for _ in range(2)]
        strikes: list[Callable[[], object]] = [
            both[0].abort_turn,
            lambda: both[1].tell("crash"),
            porter.abort_turn,
            both[1].suspend,
            both[1].resume,
            lambda: porter.drain(grace_s=1),
        ]
        done = 0

        def strike() -> None:
            nonlocal done
            strikes[done % len(strikes)]()
            done += 1

        at.aim(strike)
        for number in range(8):
            for door in both:
                door.tell(number, Lane.NOW if number == 5 else Lane.NEXT)
            if number == 4:
                both[0].tell("crash")
            await trio.sleep(0.004)
        at.rest()
        both[1].resume()
        for door in both:
            door.drain(grace_s=0.2)
        await trio.sleep(5)
        assert all(door.is_gone for door in both)
    return recorder.latest()

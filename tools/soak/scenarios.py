"""Small systems with much going on at once; each is run under any schedule, with strikes at any steps.

A scenario is called with the instrument that strikes, says what a strike is, and returns the record of the run. Strikes go
around, so that two of them make a pair of different faults.
"""

from __future__ import annotations

from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import trio

from greenroom.actors import Behavior, Context, Request, Signal
from greenroom.core import (
    ActorEnded,
    AskCycle,
    AskTimedOut,
    Closed,
    Level,
    StartFailed,
    TurnFailed,
    TurnKilled,
    Undelivered,
)
from greenroom.core import Recorder as EventRecorder
from greenroom.mailbox import Lane, Mailbox, MailboxPolicy
from greenroom.supervisor import Backoff, ChildSpec, Restart, StopOrder, Strategy, SupervisorSpec, open_runtime
from greenroom.testing import virtual_ports
from tools.soak.later import batches, doors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from greenroom.actors import Ref
    from greenroom.core import Record
    from greenroom.testing import CancelAt

    Scenario = Callable[[CancelAt], Awaitable[list[Record]]]

EXPECTED: Final = (ActorEnded, AskCycle, AskTimedOut, StartFailed, TurnFailed, TurnKilled, Undelivered)
RING: Final = 100_000


def strike_around(at: CancelAt, strikes: Sequence[Callable[[], object]]) -> None:
    """Let each strike be the next of several, over and over."""
    turns = cycle(strikes)
    at.aim(lambda: next(turns)())  # noqa: PLW0108 - another one each time


class Get(Request[int]):
    """Asks for what was counted."""


class Counter(Behavior[Any]):
    """Counts, waits a little, and trips over zero."""

    journal = Level.FULL
    mailbox = MailboxPolicy(capacity=6)

    def __init__(self) -> None:
        self.total = 0

    async def on_message(self, message: Any, ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        if isinstance(message, Get):
            ctx.reply(self.total)
        else:
            self.total += 1 // message
            await trio.sleep(0.01 * message)


class Careful(Counter):
    """Has a start and an end that wait."""

    async def on_start(self, ctx: Context) -> None:
        await trio.sleep(0.005)

    async def on_stop(self, ctx: Context) -> None:
        await trio.sleep(0.005)


class PlainCounter(Behavior[Any]):
    """The same without waiting."""

    journal = Level.FULL

    def __init__(self) -> None:
        self.total = 0

    def on_message(self, message: Any, ctx: Context) -> None:
        if isinstance(message, Get):
            ctx.reply(self.total)
        else:
            self.total += 1 // message


def siblings(strategy: Strategy) -> Scenario:
    """Three kinds of children under one strategy, bothered from two sides and asked from three."""

    async def scenario(at: CancelAt) -> list[Record]:
        recorder = EventRecorder(trio.current_time, capacity=RING)
        root = SupervisorSpec(intensity=1_000)
        team_spec = SupervisorSpec(strategy=strategy, intensity=50, backoff=Backoff(first_s=0.01, cap_s=0.05))
        async with open_runtime(ports=virtual_ports(), recorder=recorder, spec=root) as opened:
            team = await opened.spawn_supervisor("team", team_spec, escalates=False)
            kinds: tuple[type[Behavior[Any]], ...] = (Counter, Careful, PlainCounter)
            one, two, plain = [await team.spawn(kind, spec=ChildSpec(restart=Restart.PERMANENT)) for kind in kinds]
            strike_around(at, [one.abort_turn, two.kill, plain.stop, lambda: one.tell(0), two.abort_turn, one.stop])

            async def bother(messages: list[int], *actors: Ref[Any]) -> None:
                for message in messages:
                    for actor in actors:
                        actor.tell(message, Lane.LATER if message > 1 else Lane.NEXT)
                        await trio.lowlevel.checkpoint()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(bother, [1, 0, 1, 2], one, two, plain)
                nursery.start_soon(bother, [2, 1], plain, one)
                for actor in (one, two, plain):
                    nursery.start_soon(ask_quietly, actor)
            at.rest()
            await trio.sleep(1)
        return recorder.latest()

    return scenario


async def ask_quietly(actor: Ref[Any]) -> None:
    """Ask, and be content with any answer."""
    try:
        await actor.ask(Get(), timeout_s=1)
    except EXPECTED:
        pass


class Caller(Behavior[Any]):
    """Asks the next one around, as often as it is told to; every circle has to be refused."""

    journal = Level.FULL
    on_failure = "continue"

    def __init__(self, others: list[Ref[Any]], number: int) -> None:
        self._others = others
        self._next = (number + 1) % 3

    async def on_message(self, message: Any, ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        try:
            await self._others[self._next].ask(Get(), timeout_s=0.5)
        except AskCycle:
            pass
        if isinstance(message, Get):
            ctx.reply(1)


async def callers(at: CancelAt) -> list[Record]:
    """Three actors that ask each other around."""
    recorder = EventRecorder(trio.current_time, capacity=RING)
    async with open_runtime(ports=virtual_ports(), recorder=recorder) as opened:
        refs: list[Ref[Any]] = []
        for number in range(3):
            refs.append(await opened.spawn(Caller, refs, number))
        strike_around(at, [refs[0].abort_turn, refs[1].kill, refs[2].stop, refs[2].abort_turn])
        async with trio.open_nursery() as nursery:
            for ref in refs:
                ref.tell("go")
                nursery.start_soon(ask_quietly, ref)
        at.rest()
        await trio.sleep(1)
    return recorder.latest()


class Watcher(Behavior[Any]):
    """Watches whom it is told to; the end of one makes it fail."""

    journal = Level.FULL

    async def on_message(self, message: Any, ctx: Context) -> None:
        ctx.watch(message)
        await trio.lowlevel.checkpoint()

    async def on_signal(self, signal: Signal, ctx: Context) -> None:
        await trio.lowlevel.checkpoint()
        raise ArithmeticError


async def nested(at: CancelAt) -> list[Record]:
    """Supervisors below supervisors; what crashes too often takes its own part of the tree along, and no other."""
    recorder = EventRecorder(trio.current_time, capacity=RING)
    async with open_runtime(ports=virtual_ports(), recorder=recorder) as opened:
        tight = SupervisorSpec(intensity=1, backoff=Backoff(first_s=0.0))
        left = await opened.spawn_supervisor("left", tight, escalates=False)
        below = await left.spawn_supervisor("below", tight)
        pool = await opened.spawn_supervisor(
            "pool", SupervisorSpec(stop_order=StopOrder.TOGETHER, intensity=9), escalates=False
        )
        fragile = await below.spawn(Counter, name="fragile")
        watcher = await pool.spawn(Watcher, name="watcher")
        others = [await pool.spawn(Careful) for _ in range(2)]
        strike_around(at, [lambda: fragile.tell(0), others[0].kill, below.ref.stop, watcher.kill, others[1].stop])
        for message in (1, 0, 1, 0):
            fragile.tell(message)
            watcher.tell(fragile)
            others[0].tell(message)
            await trio.lowlevel.checkpoint()
        async with trio.open_nursery() as nursery:
            for actor in (fragile, watcher, *others):
                nursery.start_soon(ask_quietly, actor)
        at.rest()
        await trio.sleep(1)
    return recorder.latest()


async def queue(at: CancelAt) -> list[Record]:
    """A bounded mailbox between two producers that wait and a consumer that is cancelled again and again."""
    recorder = EventRecorder(trio.current_time, capacity=RING)
    mailbox: Mailbox[int] = Mailbox(
        "queue", policy=MailboxPolicy(capacity=2), recorder=recorder, is_traced=True, on_dead=lambda *_: None
    )
    scopes: list[trio.CancelScope] = []

    async def produce(start: int) -> None:
        for number in range(start, start + 4):
            try:
                with trio.CancelScope() as scope:
                    scopes.append(scope)
                    await mailbox.put(number, Lane.NEXT if number % 3 else Lane.LATER)
            except Closed:
                return

    async def consume() -> None:
        while True:
            with trio.CancelScope() as scope:
                scopes.append(scope)
                try:
                    with await mailbox.get():
                        await trio.lowlevel.checkpoint()
                except Closed:
                    return

    def cancel(place: int) -> None:
        if scopes:
            scopes[place].cancel()

    strike_around(at, [partial(cancel, -1), partial(cancel, 0), partial(mailbox.put_nowait, 9, Lane.NOW)])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        async with trio.open_nursery() as producers:
            producers.start_soon(produce, 10)
            producers.start_soon(produce, 20)
        await trio.sleep(1)
        at.rest()
        mailbox.close("over")
    assert mailbox.statistics().leased == 0
    return recorder.latest()


SCENARIOS: Final[dict[str, Scenario]] = {
    **{f"siblings-{strategy.value}": siblings(strategy) for strategy in Strategy},
    **{f"batches-{strategy.value}": batches(strategy) for strategy in Strategy},
    "callers": callers,
    "doors": doors,
    "nested": nested,
    "queue": queue,
}
WITHOUT_ACTORS: Final = frozenset({"queue"})
"""In these nobody is there who could be gone at the end."""

"""Helpers for the tests of actors and supervisors: behaviors that do as they are told, and a look at the record."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import trio

from greenroom.actors import Behavior, Context, Request, Signal, Unfinished
from greenroom.core import Event, Level, Recorder, event_of
from greenroom.mailbox import DeadReason
from greenroom.supervisor import Backoff, Runtime, SupervisorSpec, open_runtime
from greenroom.testing import virtual_ports
from tests.actors.invariants import violations

E = TypeVar("E", bound=Event)

Job = Callable[[Context], Awaitable[None]]
PlainJob = Callable[[Context], None]


class Oops(Exception):
    """The error of these tests."""


class Do(Request[Any]):
    """Asks an actor to do a job that replies."""

    __slots__ = ("job",)

    def __init__(self, job: Any) -> None:
        self.job = job


class Doer(Behavior[Any]):
    """Does the job that a message is: an async function of the context. The journal holds everything."""

    journal = Level.FULL

    def __init__(self, seen: list[Any] | None = None) -> None:
        self.seen = seen if seen is not None else []

    async def on_message(self, message: Any, ctx: Context) -> None:
        if isinstance(message, Do):
            message = message.job
        if callable(message):
            await message(ctx)
        else:
            self.seen.append(message)

    async def on_signal(self, signal: Signal, ctx: Context) -> None:
        self.seen.append(signal)


class Quiet(Doer):
    """The same with the default journal."""

    journal = Level.LIFECYCLE


class Stubborn(Doer):
    """Its messages are run again when their turn did not finish."""

    unfinished = Unfinished.REQUEUE


class Keeper(Doer):
    """Its messages are run again in the next state, or after a restart."""

    unfinished = Unfinished.KEEP


class Survivor(Doer):
    """Its errors end the turn only."""

    on_failure = "continue"


class Teamster(Doer):
    """It may start tasks in a turn, and tasks of its own."""

    turn_tasks = True
    actor_tasks = True


class PlainDoer(Behavior[Any]):
    """Does the job that a message is: a plain function of the context."""

    journal = Level.FULL

    def __init__(self, seen: list[Any] | None = None) -> None:
        self.seen = seen if seen is not None else []

    def on_message(self, message: Any, ctx: Context) -> None:
        if isinstance(message, Do):
            message = message.job
        if callable(message):
            message(ctx)
        else:
            self.seen.append(message)

    def on_signal(self, signal: Signal, ctx: Context) -> None:
        self.seen.append(signal)


class Gate:
    """A job that goes on when the test says so."""

    def __init__(self) -> None:
        self.entered = trio.Event()
        self.opened = trio.Event()
        self.is_through = False

    async def __call__(self, ctx: Context) -> None:
        self.entered.set()
        await self.opened.wait()
        self.is_through = True


class Deaf:
    """A job that does not hear of cancels for some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.entered = trio.Event()

    async def __call__(self, ctx: Context) -> None:
        self.entered.set()
        with trio.CancelScope(shield=True):
            await trio.sleep(self.seconds)


async def fail(ctx: Context) -> None:
    raise Oops


def fail_plainly(ctx: Context) -> None:
    raise Oops


AT_ONCE = Backoff(first_s=0.0)


@asynccontextmanager
async def runtime(spec: SupervisorSpec | None = None, *, is_checked: bool = True) -> AsyncIterator[Runtime]:
    """Open a runtime with virtual ports, and check its record once it is closed."""
    ports = virtual_ports()
    recorder = Recorder(ports.clock.bind(), capacity=1_000_000)
    async with open_runtime(ports=ports, recorder=recorder, spec=spec) as opened:
        yield opened
    found = violations(opened.recorder.latest()) if is_checked else []
    if found:
        raise AssertionError("\n".join(found))


def events(opened: Runtime, kind: type[E]) -> list[E]:
    """Return the events of one class that a runtime has on record, oldest first."""
    return [event for record in opened.recorder.latest() if isinstance(event := event_of(record), kind)]


def dead(opened: Runtime) -> dict[DeadReason, int]:
    """Return how many dead letters there are for each reason."""
    return dict(opened.dead_letters.counts)

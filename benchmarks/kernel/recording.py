"""What being on record costs: the recorder, and the journal at each of its levels, per message (G11).

A message here is one of a stream to one actor, so a turn is as short as it can be and its record weighs most.
"""

from __future__ import annotations

import functools
import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import trio

from benchmarks.kernel.passing import at_most
from benchmarks.kernel.savina import send_all
from benchmarks.measure import ROUNDS, Target, cpu_seconds, report, run_group
from benchmarks.messaging import Sink, cpu_of
from greenroom import actors, mailbox, supervisor
from greenroom.actors import TurnNoted
from greenroom.core import Level, Recorder
from greenroom.core.ports import Ports
from greenroom.mailbox import Mailbox
from greenroom.supervisor import Runtime, open_runtime
from greenroom.trace import open_journal

MESSAGES: Final = 10_000
NOTES: Final = 100_000
EVENTS: Final = (*mailbox.EVENTS, *actors.EVENTS, *supervisor.EVENTS)
OFF: Final = "no journal"
KEPT: Final = "recorder, 4,096 records"
NOT_KEPT: Final = "recorder that keeps nothing"


class SinkWithTurns(Sink):
    journal = Level.TURNS


class SinkInFull(Sink):
    journal = Level.FULL


SINKS: Final[dict[Level, type[Sink]]] = {
    Level.LIFECYCLE: Sink,
    Level.TURNS: SinkWithTurns,
    Level.FULL: SinkInFull,
}


async def stream(runtime: Runtime, kind: type[Sink], count: int) -> None:
    """Send so many messages to one actor, and wait until it has taken them."""
    done = trio.Event()
    sink = await runtime.spawn(kind, count, done)
    await send_all(count, sink.tell)
    await done.wait()


async def with_ring(capacity: int, count: int) -> None:
    ports = Ports()
    async with open_runtime(ports=ports, recorder=Recorder(ports.clock.bind(), capacity=capacity)) as runtime:
        await stream(runtime, Sink, count)


async def without_journal(count: int) -> None:
    async with open_runtime() as runtime:
        await stream(runtime, Sink, count)


async def without_any(count: int) -> float:
    """Return the CPU seconds of a message."""
    async with open_runtime() as runtime:
        began = time.process_time()
        await stream(runtime, Sink, count)
        return (time.process_time() - began) / count


async def with_journal(folder: Path, level: Level, count: int) -> float:
    """Return the CPU seconds of a message up to its last event on disk; opening and closing are left out."""
    ports = Ports()
    async with (
        open_journal(folder, ports=ports, catalog=EVENTS) as journal,
        open_runtime(ports=ports, recorder=journal.recorder) as runtime,
    ):
        began = time.process_time()
        await stream(runtime, SINKS[level], count)
        await journal.commit()
        return (time.process_time() - began) / count


async def bare_mailbox(count: int) -> None:
    """The mailbox with a loop of the least code: take, acknowledge, park."""
    box: Mailbox[int] = Mailbox("bare", policy=Sink.mailbox)

    async def receive() -> None:
        left = count
        while left:
            envelope = box.take()
            if envelope is None:
                await box.park()
                continue
            left -= 1
            box.ack(envelope)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        await send_all(count, box.put_nowait)


def seconds_of_a_note(count: int) -> float:
    """Return the CPU seconds that making and keeping the record of one turn takes, clock included."""
    recorder = Recorder(time.perf_counter)
    note, number, now = recorder.note, recorder.number, recorder.now

    def notes() -> None:
        for turn in range(count):
            note((number(), now(), TurnNoted, "actor", 1, 0, turn, turn, 0.0, "completed"))

    def nothing() -> None:
        for _ in range(count):
            pass

    return (cpu_seconds(notes) - cpu_seconds(nothing)) / count


def recorder() -> None:
    run_group(
        "the recorder, CPU per message",
        {KEPT: cpu_of(ring_of(4_096), MESSAGES), NOT_KEPT: cpu_of(ring_of(0), MESSAGES)},
        [Target(bench="recorder on over off", numerator=KEPT, denominator=NOT_KEPT)],
        unit="us",
        scale=1e6,
    )
    print("\nwhat a turn costs beside its message")
    target = Target(bench="G11 record of a turn", numerator="ns", denominator="1", limit=150, at_least=False)
    report(target, [seconds_of_a_note(NOTES) * 1e9 for _ in range(ROUNDS)])
    full, bare = cpu_of(without_journal, MESSAGES), cpu_of(bare_mailbox, MESSAGES)
    target = Target(bench="G11 actor minus mailbox", numerator="us", denominator="1", limit=0.55, at_least=False)
    report(target, [(full() - bare()) * 1e6 for _ in range(ROUNDS)])


def ring_of(capacity: int) -> Callable[[int], Awaitable[None]]:
    return functools.partial(with_ring, capacity)


def journal() -> None:
    with tempfile.TemporaryDirectory() as parent:
        folders = (Path(parent) / str(number) for number in itertools.count())

        def at(level: Level) -> float:
            return trio.run(with_journal, next(folders), level, MESSAGES)

        systems: dict[str, Callable[[], float]] = {OFF: lambda: trio.run(without_any, MESSAGES)}
        systems |= {f"journal, level {level.name.lower()}": functools.partial(at, level) for level in Level}
        run_group(
            "the journal on disk, CPU per message",
            systems,
            [at_most(f"{name} over none", OFF, None, ours=name) for name in systems if name != OFF],
            unit="us",
            scale=1e6,
            slices=2,
        )


GROUPS: Final = {"recorder": recorder, "journal": journal}

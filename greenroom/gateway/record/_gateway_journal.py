"""The gateway's journal, and the registry that it adds up to.

    async with open_gateway_journal(folder, ports=ports) as record:
        record.registry                             # everything that earlier processes recorded
        await record.write(RunEnded(...))           # returns when it is durable; only then tell anybody

Rule 1: an event that the registry refuses is never written. Rule 2: a torn last line is cut; a journal that is damaged inside, or too
long, is kept under another name, and a new one begins with a snapshot. Rule 3: whether anything was damaged is known to the caller.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.core import Event, IllegalTransition, JournalError
from greenroom.core.ports import Disk, Ports
from greenroom.gateway.record._archive_names import journal_name
from greenroom.gateway.record._gateway_events import EVENTS, GatewaySnapshot
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._run_events import GatewayEvent
from greenroom.trace import Durability, Header, Journal, begin_anew, hold_run, open_journal, salvage

ROTATE_BYTES: Final = 16 * 1024 * 1024
"""Length from which a journal begins anew at the next start."""
RETRY_S: Final = 5.0
"""Seconds after which something is tried again that the disk refused."""


@final
@attrs.frozen(kw_only=True)
class GatewayRecord:
    """The journal and its registry. Made by `open_gateway_journal`."""

    journal: Journal
    registry: Registry
    kept: str = ""
    """Name under which the former journal is kept; empty if this start began none anew."""
    damaged_lines: int = 0
    """Lines of it that were damaged: what they said is unknown."""

    def emit(self, event: GatewayEvent) -> int:
        """Record an event and return its number; it is not durable yet.

        Raises:
            IllegalTransition: The event is not possible now; it was not recorded.
        """
        self.registry.fold(event)
        return self.journal.recorder.emit(event)

    async def write(self, *events: GatewayEvent) -> None:
        """Record events and return when they are durable. Cancelling only stops the wait.

        Raises:
            IllegalTransition: An event is not possible now; it and those behind it were not recorded.
            JournalError: Intake is shut, and none was recorded; or the disk refused, and it is unknown whether they
                will ever be durable.
        """
        self.journal.check_open()
        seq = 0
        for event in events:
            seq = self.emit(event)
        await self.journal.wait_durable(seq)

    async def report(self, *events: GatewayEvent) -> None:
        """Record what has happened already, and return when it is durable, however long the disk refuses.

        Cancelling only stops the wait.

        Raises:
            IllegalTransition: As for `write`.
        """
        seq = 0
        for event in events:
            seq = self.emit(event)
        await persist(partial(self.journal.wait_durable, seq))


async def persist(step: Callable[[], Awaitable[object]]) -> None:
    """Take a step again every few seconds, until the disk does not refuse it any more."""
    while True:
        try:
            await step()
        except JournalError:
            await trio.sleep(RETRY_S)
        else:
            return


@asynccontextmanager
async def open_gateway_journal(
    folder: Path,
    *,
    ports: Ports,
    durability: Durability = "process",
    rotate_bytes: int = ROTATE_BYTES,
    lock: Callable[[Path], AbstractContextManager[None]] = hold_run,
) -> AsyncIterator[GatewayRecord]:
    """Open the journal of the gateway's state folder, and fold what it holds.

    Args:
        folder: The state folder.
        ports: Time, disk and threads; as for `open_journal`.
        durability: As for `open_journal`.
        rotate_bytes: A longer journal begins anew.
        lock: As for `open_journal`.

    Raises:
        JournalError: Another process writes it, or it cannot be read or written.
    """
    replayed = _Replay(ports.clock.wall(), rotate_bytes)
    async with open_journal(
        folder, ports=ports, catalog=EVENTS, durability=durability, lock=lock, prepare=replayed.prepare
    ) as journal:
        yield GatewayRecord(
            journal=journal, registry=replayed.registry, kept=replayed.kept, damaged_lines=replayed.damaged_lines
        )


@final
@attrs.define
class _Replay:
    """The reading of a journal before it is opened for writing."""

    now: datetime
    rotate_bytes: int
    registry: Registry = attrs.field(factory=Registry)
    kept: str = ""
    damaged_lines: int = 0

    def prepare(self, disk: Disk, path: Path, header: Header) -> None:
        """Fold the journal; begin it anew if it is damaged or too long."""
        found = salvage(disk, path, EVENTS)
        self.damaged_lines = found.damaged_lines + fold_what_is_legal(
            self.registry, (entry.event for entry in found.entries)
        )
        if self.damaged_lines or found.size > self.rotate_bytes:
            name = journal_name(self.now, is_damaged=self.damaged_lines > 0)
            self.kept = begin_anew(disk, path, found, header, self._snapshot, kept=name, events=EVENTS)

    def _snapshot(self, former: str) -> GatewaySnapshot:
        return GatewaySnapshot(
            at_s=self.now.timestamp(),
            state=self.registry.snapshot(),
            former=former,
            skipped_lines=self.damaged_lines,
        )


def fold_what_is_legal(registry: Registry, events: Iterable[Event]) -> int:
    """Fold the events that are possible, and return how many are not: their causes were in damaged lines."""
    refused = 0
    for event in events:
        try:
            registry.fold(event)
        except (IllegalTransition, ValueError):
            refused += 1
    return refused

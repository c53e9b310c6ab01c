"""The capacity of a mailbox, and the queue of producers that wait for room: first come, first served."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

import attrs
import outcome
import trio
from trio.lowlevel import Abort, Task, current_task

from greenroom.mailbox._envelope import Envelope
from greenroom.mailbox._policy import MailboxPolicy


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Room:
    """Places of a mailbox. Reserved, leased and postponed messages hold theirs, too."""

    policy: MailboxPolicy
    capacity: int
    """That of the policy: read once per message."""
    producers: dict[Task, Envelope[Any]] | None = None
    """Waiting producers and their messages, in order."""
    held: int = 0
    high_water: int = 0
    reserved: int = 0
    size_bytes: int = 0

    def take(self, size_bytes: int) -> bool:
        """Take a place; return False if there is no room, or if producers wait for it."""
        if not self._has_bytes(size_bytes) or self.held >= self.capacity or self.producers:
            return False
        self._hold(size_bytes)
        return True

    def admitted(self) -> Iterator[Envelope[Any]]:
        """Wake producers while there is room, and yield the messages that they put, in order."""
        while self.producers:
            task, envelope = next(iter(self.producers.items()))
            if self.held >= self.capacity or not self._has_bytes(envelope.size_bytes):
                return
            del self.producers[task]
            trio.lowlevel.reschedule(task, outcome.Value(True))  # noqa: FBT003 - the result of `wait`
            self._hold(envelope.size_bytes)
            yield envelope

    async def wait(self, envelope: Envelope[Any]) -> bool:
        """Wait in line; return True if the message was admitted, False if the queue was dismissed.

        If cancelled, the producer leaves no trace.
        """
        if self.producers is None:
            self.producers = {}
        waiting, task = self.producers, current_task()
        waiting[task] = envelope

        def abort(_: Any) -> Abort:
            # Nothing else here: the order in which abort functions run is not deterministic.
            del waiting[task]
            return Abort.SUCCEEDED

        return bool(await trio.lowlevel.wait_task_rescheduled(abort))

    def dismiss(self) -> None:
        """Wake all producers without admitting their messages."""
        while self.producers:
            trio.lowlevel.reschedule(self.producers.popitem()[0])

    def _hold(self, size_bytes: int) -> None:
        self.held = held = self.held + 1
        if held > self.high_water:
            self.high_water = held
        self.size_bytes += size_bytes

    def _has_bytes(self, size_bytes: int) -> bool:
        return not size_bytes or self.size_bytes + size_bytes <= self.policy.capacity_bytes

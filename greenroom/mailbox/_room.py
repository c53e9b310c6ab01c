"""The capacity of a mailbox, and the queue of producers that wait for room: first come, first served."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

import attrs
import trio
from trio.lowlevel import Abort, Task, current_task

from greenroom.core import UsageError
from greenroom.mailbox._envelope import Envelope
from greenroom.mailbox._policy import MailboxPolicy


@final
@attrs.define(eq=False)
class _Producer:
    """A waiting task's message."""

    envelope: Envelope[Any]
    is_admitted: bool = False


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Room:
    """Places of a mailbox. Reserved, leased and postponed messages hold theirs, too."""

    _owner: str
    policy: MailboxPolicy
    capacity: int
    producers: dict[Task, _Producer] | None = None
    """Waiting producers, in order."""
    held: int = 0
    high_water: int = 0
    reserved: int = 0
    size_bytes: int = 0

    def take(self, size_bytes: int) -> bool:
        """Take a place; return False if there is no room, or if producers wait for it.

        Raises:
            UsageError: The message is larger than the whole byte capacity.
        """
        if (size_bytes and not self._has_bytes(size_bytes)) or self.held >= self.capacity or self.producers:
            return False
        self._hold(size_bytes)
        return True

    def free(self, size_bytes: int) -> None:
        """Free a place; the caller then admits producers."""
        self.held -= 1
        self.size_bytes -= size_bytes

    def admitted(self) -> Iterator[Envelope[Any]]:
        """Wake producers while there is room, and yield the messages that they put, in order."""
        while self.producers:
            task, producer = next(iter(self.producers.items()))
            envelope = producer.envelope
            if self.held >= self.capacity or not self._has_bytes(envelope.size_bytes):
                return
            del self.producers[task]
            producer.is_admitted = True
            trio.lowlevel.reschedule(task)
            self._hold(envelope.size_bytes)
            yield envelope

    async def wait(self, envelope: Envelope[Any]) -> bool:
        """Wait in line; return True if the message was admitted, False if the queue was dismissed.

        If cancelled, the producer leaves no trace.
        """
        if self.producers is None:
            self.producers = {}
        waiting, task = self.producers, current_task()
        producer = waiting[task] = _Producer(envelope)

        def abort(_: Any) -> Abort:
            # Nothing else here: the order in which abort functions run is not deterministic.
            del waiting[task]
            return Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
        return producer.is_admitted

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
        if size_bytes > self.policy.capacity_bytes:
            raise UsageError(
                f"message too large for the mailbox of {self._owner!r}: {size_bytes} bytes, "
                f"capacity {self.policy.capacity_bytes} bytes"
            )
        return self.size_bytes + size_bytes <= self.policy.capacity_bytes

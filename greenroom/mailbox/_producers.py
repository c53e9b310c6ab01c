"""Queue of producers that wait for room in a full mailbox: first come, first served."""

from __future__ import annotations

from typing import Any, Final, final

import attrs
import trio
from trio.lowlevel import Abort, Task, current_task

from greenroom.mailbox._envelope import Envelope


@final
@attrs.define(eq=False)
class _Producer:
    """A waiting task's message."""

    envelope: Envelope[Any]
    is_admitted: bool = False


@final
class Producers:
    """Waiting producers, in order. A cancelled one leaves no trace."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: Final[dict[Task, _Producer]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def first(self) -> Envelope[Any]:
        """The message of the producer that came first."""
        return next(iter(self._waiting.values())).envelope

    async def wait(self, envelope: Envelope[Any]) -> bool:
        """Wait at the end of the queue; return True if the message was admitted, False if the queue was dismissed."""
        task = current_task()
        producer = self._waiting[task] = _Producer(envelope)

        def abort(_: Any) -> Abort:
            # Nothing else here: the order in which abort functions run is not deterministic.
            del self._waiting[task]
            return Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
        return producer.is_admitted

    def admit(self) -> Envelope[Any]:
        """Wake the first producer, and return its message."""
        task = next(iter(self._waiting))
        producer = self._waiting.pop(task)
        producer.is_admitted = True
        trio.lowlevel.reschedule(task)
        return producer.envelope

    def dismiss(self) -> None:
        """Wake all producers without admitting their messages."""
        while self._waiting:
            trio.lowlevel.reschedule(self._waiting.popitem()[0])

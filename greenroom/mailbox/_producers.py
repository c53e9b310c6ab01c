"""Producers that wait for a place in a full mailbox: first come, first served."""

from __future__ import annotations

from typing import Any, Final, final

import attrs
import trio
from trio.lowlevel import Abort, Task, current_task

from greenroom.mailbox._envelope import Envelope


@final
@attrs.define(eq=False)
class _Producer:
    """Somebody who waits, with what they will put."""

    envelope: Envelope[Any]
    is_admitted: bool = False


@final
class Producers:
    """The queue of waiting producers. A cancelled one leaves it without a trace."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: Final[dict[Task, _Producer]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def first(self) -> Envelope[Any]:
        """What the one that came first will put."""
        return next(iter(self._waiting.values())).envelope

    async def wait(self, envelope: Envelope[Any]) -> bool:
        """Wait at the end of the queue; True when the message was let in, False when everybody was sent away."""
        task = current_task()
        producer = self._waiting[task] = _Producer(envelope)

        def abort(_: Any) -> Abort:
            # Nothing but this: the order in which abort functions run is not deterministic.
            del self._waiting[task]
            return Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
        return producer.is_admitted

    def let_in(self) -> Envelope[Any]:
        """Let the first one go on, and return what it put."""
        task = next(iter(self._waiting))
        producer = self._waiting.pop(task)
        producer.is_admitted = True
        trio.lowlevel.reschedule(task)
        return producer.envelope

    def send_away(self) -> None:
        """Let everybody go on without having put anything."""
        while self._waiting:
            trio.lowlevel.reschedule(self._waiting.popitem()[0])

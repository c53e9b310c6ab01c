"""The queue of producers that wait for room in a mailbox: first come, first served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, final

import attrs
import outcome
from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled

from greenroom.mailbox._envelope import Envelope


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Producers:
    """Waiting producers and their messages, in order."""

    _waiting: dict[Task, Envelope[Any]] = attrs.Factory(dict)

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self, envelope: Envelope[Any]) -> bool:
        """Wait in line; return True if the message was admitted, False if the queue was dismissed.

        If cancelled, the producer leaves no trace.
        """
        waiting, task = self._waiting, current_task()
        waiting[task] = envelope

        def abort(_: Any) -> Abort:
            # Nothing else here: the order in which abort functions run is not deterministic.
            del waiting[task]
            return Abort.SUCCEEDED

        return bool(await wait_task_rescheduled(abort))

    def admitted(self, has_room: Callable[[int], bool]) -> Iterator[Envelope[Any]]:
        """Wake producers while there is room for their messages, and yield these, in order."""
        while self._waiting:
            task, envelope = next(iter(self._waiting.items()))
            if not has_room(envelope.size_bytes):
                return
            del self._waiting[task]
            reschedule(task, outcome.Value(True))  # noqa: FBT003 - the result of `wait`
            yield envelope

    def dismiss(self) -> None:
        """Wake all producers without admitting their messages."""
        while self._waiting:
            reschedule(self._waiting.popitem()[0])

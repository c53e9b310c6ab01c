"""One-shot reply slot that an ask waits on, outside every mailbox; discarded when the asker stops waiting."""

from __future__ import annotations

from typing import Any, Final, final

import attrs
from trio.lowlevel import checkpoint, current_task

from greenroom.waiting._parking import ParkingSpot, prepare, sleep


class _Nothing:
    """Class of the marker for a missing answer."""

    __slots__ = ()


NOTHING: Final = _Nothing()


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class ReplySlot(ParkingSpot):
    """A parking spot with a result: it is settled once, with a value, or with an error that is raised in the asker."""

    is_open: bool = True
    """True if an answer would still reach the asker."""
    is_withdrawn: bool = False
    """True if the asker stopped waiting before the slot was settled."""
    value: Any = None
    """The value with which it was settled, for those who have set `callback` instead of waiting."""
    error: Exception | None = None
    """The error with which it was settled."""

    @property
    def is_waiting(self) -> bool:
        """True if a task sleeps on it: neither settled nor cancelled."""
        return self.task is not None

    def answer(self, value: Any) -> bool:
        """Settle with a value; return False if it is too late."""
        return self._settle(value, None)

    def fail(self, error: Exception) -> bool:
        """Settle with an error; return False if it is too late."""
        return self._settle(None, error)

    def close(self) -> None:
        """Close the slot; `answer` and `fail` return False from now on."""
        self.is_withdrawn = self.is_open
        self.is_open = False

    def _settle(self, value: Any, error: Exception | None) -> bool:
        if not self.is_open:
            return False
        self.is_open = False
        self.value, self.error = value, error
        self.unpark()
        return True

    async def wait(self) -> Any:
        """Wait for the slot to be settled; return its value or raise its error. A cancelled wait leaves the slot as it was."""
        if self.is_open:
            self.task = current_task()
            await sleep(prepare(self._forget))
        else:
            await checkpoint()
        if self.error is not None:
            raise self.error
        return self.value

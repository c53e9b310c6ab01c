"""When what was written is synced to the device, and how: beside the batches, many files side by side.

Rule 1: one sync at a time; a batch may be written meanwhile. Rule 2: at most a tenth of the time goes into it. Rule 3: what the
journal points into comes first. Rule 4: a failure is kept until the writer looks, for a batch that is out holds what is to
be told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, final

import trio
from trio.lowlevel import enable_ki_protection

from greenroom.core import Blocking
from greenroom.trace._files import JournalFiles

SYNC_S: Final = 1.0
SYNCS: Final = 8
"""Threads that sync many files: a file system takes what comes at once together, a thousand files in a tenth of the time."""


@final
class Syncing:
    """The syncs of one journal.

    Args:
        files: What is synced.
        blocking: Where it is done.
        now: Reads the run's clock.
        wake: Called when one has ended.

    Attributes:
        failure: Why the device refused; None while it has not.
        count: Those that were done.
    """

    __slots__ = ("_blocking", "_files", "_is_out", "_now", "_synced_t", "_took_s", "_wake", "count", "failure")

    def __init__(
        self, files: JournalFiles, blocking: Blocking, now: Callable[[], float], wake: Callable[[], None]
    ) -> None:
        self._files = files
        self._blocking = blocking
        self._now = now
        self._wake = wake
        self._is_out = False
        self._synced_t = now()
        self._took_s = 0.0
        self.failure: Exception | None = None
        self.count = 0

    @property
    def until_s(self) -> float:
        """Seconds until the next one is due; infinity while one is out, or nothing was written."""
        if self._is_out or not self._files.is_dirty:
            return math.inf
        return max(0.0, self._synced_t + max(SYNC_S, 10 * self._took_s) - self._now())

    @property
    def is_due(self) -> bool:
        """Whether it is time for one."""
        return self.until_s <= 0

    def sync_here(self) -> None:
        """Sync what was written, in this thread.

        Raises:
            OSError: The device refused.
        """
        began_t = self._now()
        self._files.sync(self._files.take_dirty())
        self._note(began_t)

    def begin(self, nursery: trio.Nursery) -> None:
        """Sync what was written so far, beside whatever comes next; to be called while no batch is out."""
        self._is_out = True
        nursery.start_soon(self._sync, self._files.take_dirty(), name="sync of the journal")

    @enable_ki_protection
    async def _sync(self, paths: Sequence[str]) -> None:
        began_t = self._now()
        others, last = paths[:-1], paths[-1:]  # the journal itself, if it is among them
        share = max(1, -(-len(others) // SYNCS))
        async with trio.open_nursery() as nursery:
            for start in range(0, len(others), share):
                nursery.start_soon(self._sync_some, others[start : start + share])
        await self._sync_some(last)
        if self.failure is None:
            self._note(began_t)
        self._is_out = False
        self._wake()

    @enable_ki_protection
    async def _sync_some(self, paths: Sequence[str]) -> None:
        try:
            await self._blocking.run(self._files.sync, paths)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run must learn that its journal has ended
            self.failure = error

    def _note(self, began_t: float) -> None:
        self.count += 1
        self._synced_t = self._now()
        self._took_s = self._synced_t - began_t

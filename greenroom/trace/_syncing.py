"""Syncs of written files to the device: beside the batches, many files in parallel.

Rule 1: one sync at a time; a batch may be written meanwhile. Rule 2: syncs take at most a tenth of the time. Rule 3:
files that the journal refers to come first. Rule 4: a failure is kept until the writer looks, because a batch in flight
holds the callers to notify.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, final

import trio
from trio.lowlevel import enable_ki_protection

from greenroom.core.ports import Blocking
from greenroom.trace._journal_files import JournalFiles

SYNC_S: Final = 1.0
SYNCS: Final = 8
"""Threads that sync many files: a file system combines simultaneous requests, a thousand files in a tenth of the time.
"""
FEW: Final = 4
"""Files that one thread syncs: a session that writes its journal and a conversation or two needs no more."""


@final
class Syncing:
    """The syncs of one journal.

    Args:
        files: The files to sync.
        blocking: Runs the blocking calls.
        now: Reads the run's clock.
        wake: Called when a sync has ended.

    Attributes:
        failure: The error of the device; None if it has not failed.
        count: Number of finished syncs.
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
        """Seconds until the next sync is due; infinity while one is out, or if nothing was written."""
        if self._is_out or not self._files.is_dirty:
            return math.inf
        return max(0.0, self._synced_t + max(SYNC_S, 10 * self._took_s) - self._now())

    @property
    def is_due(self) -> bool:
        """True if a sync is due."""
        return self.until_s <= 0

    def sync_here(self) -> None:
        """Sync the written files in this thread.

        Raises:
            OSError: The device refused.
        """
        began_t = self._now()
        self._files.sync(self._files.take_dirty())
        self._note(began_t)

    def begin(self, nursery: trio.Nursery) -> None:
        """Sync the files written so far, beside later writes; call it while no batch is out."""
        self._is_out = True
        nursery.start_soon(self._sync, self._files.take_dirty(), name="sync of the journal")

    @enable_ki_protection
    async def _sync(self, paths: Sequence[str]) -> None:
        began_t = self._now()
        if len(paths) > FEW:
            others, paths = paths[:-1], paths[-1:]  # the journal itself, if it is among them
            share = -(-len(others) // SYNCS)
            async with trio.open_nursery() as nursery:
                for start in range(0, len(others), share):
                    nursery.start_soon(self._sync_some, others[start : start + share])
        await self._sync_some(paths)
        if self.failure is None:
            self._note(began_t)
        self._is_out = False
        self._wake()

    @enable_ki_protection
    async def _sync_some(self, paths: Sequence[str]) -> None:
        try:
            await self._blocking.run(self._files.sync, paths)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run must learn that its journal has failed
            self.failure = error

    def _note(self, began_t: float) -> None:
        self.count += 1
        self._synced_t = self._now()
        self._took_s = self._synced_t - began_t

"""News of boxes: which of them may hold something new, and the tasks that wait for it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final, final

import trio

POLL_S: Final = 1.0
"""Seconds after which what other processes have put is noticed."""


@final
class BoxNews:
    """News of the boxes of one file.

    Of all tasks that wait, the one that came first looks at the file for all of them: how many wait costs nothing.

    Args:
        look: Reads the version of the file, and calls `note_version`.
    """

    def __init__(self, look: Callable[[], Awaitable[object]]) -> None:
        self._look = look
        self._version = -1
        self._taken: dict[str, int] = {}
        """The version of the file when a box was taken last."""
        self._put: set[str] = set()
        """The boxes into which this process has put something that was not taken since."""
        self._waiting: dict[trio.lowlevel.Task, tuple[str, trio.Event]] = {}
        """The tasks that wait, in the order in which they came, with their boxes."""

    def note_version(self, version: int) -> bool:
        """Note a number that changes when another process writes; True if it did. Callable from any thread."""
        before, self._version = self._version, version
        return version != before

    def note_put(self, box: str) -> None:
        """Note that something was put into a box, and wake who waits for it."""
        self._put.add(box)
        self._wake()

    def begin_take(self, box: str) -> None:
        """Note that a box is about to be taken: what is put from now on is new."""
        self._put.discard(box)

    def note_taken(self, box: str) -> None:
        """Note that a box is taken at the current version. Callable from any thread."""
        self._taken[box] = self._version

    async def wait(self, box: str) -> None:
        """Wait until something may be in a box that was not there when it was taken."""
        await trio.lowlevel.checkpoint()
        waiter = trio.lowlevel.current_task()
        self._waiting[waiter] = box, trio.Event()
        try:
            while not self._has_any(box):
                wake = trio.Event()
                self._waiting[waiter] = box, wake
                with trio.move_on_after(POLL_S if self._looks(waiter) else math.inf) as until:
                    await wake.wait()
                if until.cancelled_caught:
                    await self._look()
                    self._wake()
        finally:
            has_looked = self._looks(waiter)
            del self._waiting[waiter]
            if has_looked and self._waiting:
                next(iter(self._waiting.values()))[1].set()  # it looks from now on

    def _has_any(self, box: str) -> bool:
        return box in self._put or self._taken.get(box, -1) != self._version

    def _looks(self, waiter: trio.lowlevel.Task) -> bool:
        return next(iter(self._waiting)) is waiter

    def _wake(self) -> None:
        for box, wake in self._waiting.values():
            if self._has_any(box):
                wake.set()

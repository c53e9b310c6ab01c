"""The slow-step watchdog: names the code that blocks the event loop, while it does.

Trio cannot interrupt synchronous code. So a thread looks at the frame of the loop's thread when one step takes too long
and logs it at once; the step is recorded, with its duration, when it is over. The thread only reads and logs; records
are written in the loop's own thread. A step is reported once. The watchdog exists only on request; while it watches,
each step costs two clock readings.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import CURRENT, Cell
from greenroom.core import Recorder, UsageError
from greenroom.patterns._events import StepBlocked
from greenroom.supervisor import Runtime

LIMIT_S: Final = 0.1
"""Default limit above which a step is slow, in seconds."""

_log: Final = logging.getLogger("greenroom")


@final
@attrs.define
class _Step:
    """The current step, and what was seen of it."""

    task: trio.lowlevel.Task
    began_s: float
    is_seen: bool = False
    who: str = ""
    where: str = ""


@final
@attrs.frozen(kw_only=True)
class StepStatistics:
    """Counters of a watchdog."""

    slow: int
    """Steps that took longer than the limit."""
    longest_s: float
    """Duration of the longest of them; 0 if there were none."""
    last: StepBlocked | None
    """The last of them."""


@final
class StepWatch(trio.abc.Instrument):
    """Watches the steps of one event loop. Made by `watch_steps`."""

    def __init__(
        self, recorder: Recorder, limit_s: float, clock: Callable[[], float], *, is_logged: bool = True
    ) -> None:
        self.limit_s = limit_s
        self._is_logged = is_logged
        self._recorder = recorder
        self._clock = clock
        self._thread_id = threading.get_ident()
        self._step: _Step | None = None
        self._slow = 0
        self._longest_s = 0.0
        self._last: StepBlocked | None = None

    def __repr__(self) -> str:
        return f"<StepWatch above {self.limit_s:g} s: {self._slow} slow steps>"

    def statistics(self) -> StepStatistics:
        """Return the current counters."""
        return StepStatistics(slow=self._slow, longest_s=self._longest_s, last=self._last)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Begin a step; called by Trio before each step of each task."""
        self._step = _Step(task, self._clock())

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """End a step; called by Trio after each step of each task."""
        step, self._step = self._step, None
        if step is None:  # it began before the watchdog did
            return
        seconds = self._clock() - step.began_s
        if seconds <= self.limit_s:
            return
        who = step.who or _id_of(task)
        self._slow += 1
        self._longest_s = max(self._longest_s, seconds)
        self._last = StepBlocked(who=who, task=task.name, seconds=seconds, where=step.where)
        self._recorder.emit(self._last)
        if self._is_logged and not step.where:
            _log.warning("a step of %s blocked the event loop for %.3g s", who or task.name, seconds)

    def look(self) -> bool:
        """Check the current step and log where it blocks; return True if it was not reported before.

        The watchdog's thread calls it repeatedly; any other thread may, too.
        """
        step = self._step
        if step is None or step.is_seen or self._clock() - step.began_s <= self.limit_s:
            return False
        frame = sys._current_frames().get(self._thread_id)
        if frame is None or self._step is not step:  # it has just ended
            return False
        step.is_seen = True
        cell = _cell_in(frame) or step.task.context.get(CURRENT)
        step.who = cell.id if cell is not None else ""
        step.where = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
        who = (cell.path or cell.id) if cell is not None else step.task.name
        _log.warning("%s blocks the event loop for more than %g s, in %s", who, self.limit_s, step.where)
        return True


def _cell_in(frame: FrameType | None) -> Cell[Any] | None:
    """Return the actor whose handler is on a stack: the dispatcher serves many of them in one task."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "greenroom.actors._dispatcher":
            cell = frame.f_locals.get("cell")
            if isinstance(cell, Cell):
                return cell
        frame = frame.f_back
    return None


def _id_of(task: trio.lowlevel.Task) -> str:
    cell = task.context.get(CURRENT)
    return cell.id if cell is not None else ""


@contextmanager
def watch_steps(
    runtime: Runtime,
    *,
    limit_s: float = LIMIT_S,
    clock: Callable[[], float] = time.monotonic,
    has_thread: bool = True,
    is_logged: bool = True,
) -> Iterator[StepWatch]:
    """Watch every step of this event loop, including those of tasks that are not actors, until the block is left.

        with watch_steps(runtime, limit_s=0.05) as watch: ...

    A step above the limit is logged as a warning with its blocking frame, while it blocks, and recorded as
    `step.blocked` when it is over.

    Args:
        runtime: Its recorder receives the events. Its clock is not used: virtual time stands still in a step.
        limit_s: Maximum duration of a step; checked about four times in this time.
        clock: Read before and after each step.
        has_thread: False if the caller calls `watch.look()` itself.
        is_logged: False if slow steps that `look` did not see are only recorded, not logged.

    Raises:
        UsageError: The limit is not above 0.
    """
    if not limit_s > 0:
        raise UsageError(f"limit_s must be more than 0, got {limit_s!r}")
    watch = StepWatch(runtime.recorder, limit_s, clock, is_logged=is_logged)
    is_over = threading.Event()

    def keep_looking() -> None:
        while not is_over.wait(limit_s / 4):
            watch.look()

    thread = threading.Thread(target=keep_looking, name="greenroom watchdog", daemon=True) if has_thread else None
    trio.lowlevel.add_instrument(watch)
    if thread is not None:
        thread.start()
    try:
        yield watch
    finally:
        trio.lowlevel.remove_instrument(watch)
        is_over.set()
        if thread is not None:
            thread.join()

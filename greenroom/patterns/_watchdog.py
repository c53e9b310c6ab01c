"""The slow-step watchdog: names the code that blocks the event loop, while it does (kernel 10, pitfall 30).

Nothing in Trio can interrupt synchronous code. So a thread looks at the frame of the loop's thread when one step takes too
long, and the log has it at once; the record has it, with the whole time, when the step is over.
Rule 1: the thread only reads, and logs; what goes on record is written in the loop's own thread. Rule 2: a step is reported
once. Rule 3: nothing of it exists unless somebody asks for it; while it watches, each step costs two clock readings.
Must not know: what actors do.
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
"""A step is slow after this time unless told otherwise."""

_log: Final = logging.getLogger("greenroom")


@final
@attrs.define
class _Step:
    """A step that runs now, and what was seen of it."""

    task: trio.lowlevel.Task
    began_s: float
    is_seen: bool = False
    who: str = ""
    where: str = ""


@final
@attrs.frozen(kw_only=True)
class StepStatistics:
    """What a watchdog has seen."""

    slow: int
    """Steps that took longer than the limit."""
    longest_s: float
    """The longest of them; 0 when there was none."""
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
        """Return the counters as of now."""
        return StepStatistics(slow=self._slow, longest_s=self._longest_s, last=self._last)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Trio calls this before each step of each task."""
        self._step = _Step(task, self._clock())

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Trio calls this after each step of each task."""
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
        """Look whether the current step takes too long, and log what it is stuck in; whether that was news.

        The watchdog's thread calls it again and again; so may any other thread.
        """
        step = self._step
        if step is None or step.is_seen or self._clock() - step.began_s <= self.limit_s:
            return False
        frame = sys._current_frames().get(self._thread_id)
        if frame is None or self._step is not step:  # it was over in this very moment
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
    """Watch every step of this event loop, also those of tasks that are no actors, until the block is left.

        with watch_steps(runtime, limit_s=0.05) as watch: ...

    A step above the limit is logged as a warning with the frame that it is stuck in, while it is, and put on record as
    `step.blocked` when it is over.

    Args:
        runtime: Whose record the events go to. Its clock is not used: virtual time stands still in a step.
        limit_s: Seconds of a step; looked at about four times in this time.
        clock: What is read before and after each step.
        has_thread: False where somebody else calls `watch.look()`.
        is_logged: False if slow steps that `look` did not see are only put on record.

    Raises:
        UsageError: The limit is not above 0.
    """
    if not limit_s > 0:
        raise UsageError(f"limit_s has to be more than 0, not {limit_s!r}")
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

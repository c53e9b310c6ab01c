"""The slow-step watchdog: names the code that blocks the event loop, while it does.

Trio cannot interrupt synchronous code. So a thread looks at the frame of the loop's thread when one step takes too long
and logs it at once; the step is recorded, with its duration, when it is over. The thread only reads and logs; records
are written in the loop's own thread. A step is reported once. The watchdog exists only on request; while one or many
watch a loop, each step costs two clock readings.
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
class _LoopSteps(trio.abc.Instrument):
    """The one instrument of an event loop: it times each step once, for every watchdog of the loop that reads the same clock."""

    __slots__ = ("clock", "limit_s", "step", "watches")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.watches: tuple[StepWatch, ...] = ()
        self.limit_s = 0.0
        self.step: tuple[trio.lowlevel.Task, float] | None = None
        """The current step: its task and its start."""

    def add(self, watch: StepWatch) -> None:
        """Report slow steps to a watchdog as well, from the next step on."""
        self._keep((*self.watches, watch))

    def remove(self, watch: StepWatch) -> None:
        """Report nothing more to a watchdog."""
        self._keep(tuple(each for each in self.watches if each is not watch))

    def _keep(self, watches: tuple[StepWatch, ...]) -> None:
        if not self.watches:
            trio.lowlevel.add_instrument(self)
        elif not watches:
            trio.lowlevel.remove_instrument(self)
            self.step = None
        self.watches = watches
        self.limit_s = min((watch.limit_s for watch in watches), default=0.0)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Begin a step; called by Trio before each step of each task."""
        self.step = (task, self.clock())

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """End a step; called by Trio after each step of each task."""
        step, self.step = self.step, None
        if step is None:  # it began before the first watchdog did
            return
        seconds = self.clock() - step[1]
        if seconds > self.limit_s:
            for watch in self.watches:
                watch.note(step, seconds)


_LOOPS: Final[trio.lowlevel.RunVar[dict[Callable[[], float], _LoopSteps]]] = trio.lowlevel.RunVar("greenroom steps")
"""The instruments of the running event loop, by the clock that they read."""


def _steps_of_loop(clock: Callable[[], float]) -> _LoopSteps:
    """Return the instrument of the running event loop that reads a clock."""
    try:
        loops = _LOOPS.get()
    except LookupError:
        loops = {}
        _LOOPS.set(loops)
    return loops.setdefault(clock, _LoopSteps(clock))


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
class StepWatch:
    """Watches the steps of one event loop. Made by `watch_steps`."""

    def __init__(self, recorder: Recorder, limit_s: float, steps: _LoopSteps, *, is_logged: bool = True) -> None:
        self.limit_s = limit_s
        self._is_logged = is_logged
        self._recorder = recorder
        self._steps = steps
        self._first = steps.step
        self._thread_id = threading.get_ident()
        self._seen: tuple[object, str, str] = (None, "", "")
        """The step that `look` reported last, the id of its actor, and the place where it blocked."""
        self._slow = 0
        self._longest_s = 0.0
        self._last: StepBlocked | None = None

    def __repr__(self) -> str:
        return f"<StepWatch above {self.limit_s:g} s: {self._slow} slow steps>"

    def statistics(self) -> StepStatistics:
        """Return the current counters."""
        return StepStatistics(slow=self._slow, longest_s=self._longest_s, last=self._last)

    def note(self, step: tuple[trio.lowlevel.Task, float], seconds: float) -> None:
        """Record a step that has ended if it was slow; called in the loop's thread."""
        if seconds <= self.limit_s or step is self._first:  # it began before this watchdog did
            return
        seen, who, where = self._seen
        if seen is not step:
            who, where = _id_of(step[0]), ""
        self._slow += 1
        self._longest_s = max(self._longest_s, seconds)
        self._last = StepBlocked(who=who, task=step[0].name, seconds=seconds, where=where)
        self._recorder.emit(self._last)
        if self._is_logged and not where:
            _log.warning("a step of %s blocked the event loop for %.3g s", who or step[0].name, seconds)

    def look(self) -> bool:
        """Check the current step and log where it blocks; return True if it was not reported before.

        The watchdog's thread calls it repeatedly; any other thread may, too.
        """
        step = self._steps.step
        if step is None or step is self._first or step is self._seen[0]:
            return False
        if self._steps.clock() - step[1] <= self.limit_s:
            return False
        frame = sys._current_frames().get(self._thread_id)
        if frame is None or self._steps.step is not step:  # it has just ended
            return False
        cell = _cell_in(frame) or step[0].context.get(CURRENT)
        where = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
        self._seen = (step, cell.id if cell is not None else "", where)
        who = (cell.path or cell.id) if cell is not None else step[0].name
        _log.warning("%s blocks the event loop for more than %g s, in %s", who, self.limit_s, where)
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
    steps = _steps_of_loop(clock)
    watch = StepWatch(runtime.recorder, limit_s, steps, is_logged=is_logged)
    is_over = threading.Event()

    def keep_looking() -> None:
        while not is_over.wait(limit_s / 4):
            watch.look()

    thread = threading.Thread(target=keep_looking, name="greenroom watchdog", daemon=True) if has_thread else None
    steps.add(watch)
    if thread is not None:
        thread.start()
    try:
        yield watch
    finally:
        steps.remove(watch)
        is_over.set()
        if thread is not None:
            thread.join()

"""Parking a Trio task and waking it, with two shortcuts below Trio's documented calls.

The documented pair costs 1.6 to 2.9 us a switch; with both shortcuts it is 0.8 to 2.0 us:

** `trap`: each `wait_task_rescheduled(f)` creates an object and two coroutine frames. The object only carries `f`, so
  one per waiting place is enough. Its class is obtained through the public function (start it, inspect what it yields).
* `WAKE`: each `reschedule(task)` creates an `outcome.Value(None)` and unwraps it. A shared object whose `unwrap()`
  returns None does the same.

No private name of Trio is imported. If this Trio fails `_self_test`, the documented calls are used.
"""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final, cast, final

import attrs
import outcome
from trio.lowlevel import Abort, Task, reschedule, wait_task_rescheduled


@final
class _Wake:
    """Shared stand-in for `outcome.Value(None)`, sent at every wake."""

    __slots__ = ()

    def unwrap(self) -> None:
        """Return None, as `outcome.Value(None).unwrap()` does."""


WAKE: Final = cast("outcome.Outcome[None]", _Wake())


def _self_test() -> Callable[[Callable[[Any], Abort]], object] | None:
    """Return the class of traps, if this Trio keeps only the abort function in one, and only unwraps what it is sent."""

    def abort(_: object) -> Abort:
        raise AssertionError

    waiting = wait_task_rescheduled(abort)  # noqa: ASYNC105 - driven by hand
    found: type[Any] | None = None
    try:
        trap = waiting.send(None)
        found = type(trap)
        if any(getattr(each, "abort_func", None) is not abort for each in (trap, found(abort))):
            return None
        waiting.send(WAKE)
    except StopIteration as stop:
        return found if stop.value is None else None
    except Exception:  # noqa: BLE001 - any error means this Trio is different: use the documented calls
        return None
    finally:
        waiting.close()
    return None


_TRAP: Final = _self_test()
SHORTCUTS: Final = _TRAP is not None
"""True if the shortcuts are in use; False if this Trio is different, and every switch costs its documented price."""


@types.coroutine
def _sleep_on_trap(trap: Any) -> Generator[Any, Any, None]:
    (yield trap).unwrap()


async def _sleep_documented(abort: Callable[[Any], Abort]) -> None:
    await wait_task_rescheduled(abort)


def _keep(abort: Callable[[Any], Abort]) -> object:
    return abort


def _wake_with_one(task: Task) -> None:  # a `partial` would cost three times this frame
    reschedule(task, WAKE)


prepare: Final[Callable[[Callable[[Any], Abort]], object]] = _TRAP or _keep
"""Prepares an abort function for `sleep`; called once per waiting place."""
sleep: Final[Callable[[Any], Awaitable[None]]] = _sleep_on_trap if SHORTCUTS else _sleep_documented
"""Sleeps until `wake`, or until cancelled."""
wake: Final[Callable[[Task], None]] = _wake_with_one if SHORTCUTS else reschedule
"""Reschedules a sleeping task."""


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ParkingSpot:
    """A place where one task at a time sleeps until it is woken; or a callback, for those without a task."""

    callback: Callable[[], None] | None = None
    """Called if no task sleeps here."""
    task: Task | None = None
    """The task that sleeps here."""
    trap: object = None
    """Created on first use, and only once."""

    def parked(self, task: Task) -> Awaitable[None]:
        """Return an awaitable that sleeps until `unpark`; `task` has to await it at once."""
        if self.trap is None:
            self.trap = prepare(self._forget)
        self.task = task
        return sleep(self.trap)

    def unpark(self) -> None:
        """Wake the sleeping task, or call the callback, if there is one."""
        task = self.task
        if task is not None:
            self.task = None
            wake(task)
        elif self.callback is not None:
            self.callback()

    def _forget(self, _: object) -> Abort:
        self.task = None
        return Abort.SUCCEEDED

"""A Trio run that stands still between calls, for tests driven from outside: Hypothesis state machines.

Nothing moves between two calls, so a plain function may inspect the state of every task. Time stands still too, until
`advance`. A failing task ends the run, and the next call raises its error.
"""

from __future__ import annotations

import queue
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Final, TypeVar, TypeVarTuple, final

import outcome
import trio
import trio.testing

from greenroom.core import InternalError, is_cancelled

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

PUMP_TIMEOUT_S: Final = 10.0
"""Real-time limit within which Trio must call its host, or it hangs."""


@final
class VirtualLoop:
    """A Trio run in guest mode whose host is the test itself, in the same thread. Close it, or use it in `with`."""

    def __init__(self) -> None:
        self._wishes: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._done: outcome.Outcome[None] | None = None
        self._nursery: trio.Nursery | None = None
        self.clock: Final = trio.testing.MockClock()
        """Stands still; `advance` moves it."""
        trio.lowlevel.start_guest_run(
            self._main,
            run_sync_soon_threadsafe=self._wishes.put,
            run_sync_soon_not_threadsafe=self._wishes.put,
            done_callback=self._finish,
            clock=self.clock,
            restrict_keyboard_interrupt_to_checkpoints=True,
        )
        self._pump(lambda: self._nursery is not None)

    def __repr__(self) -> str:
        return f"<VirtualLoop at {self.clock.current_time():g} s>"

    def __enter__(self) -> VirtualLoop:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            await trio.sleep_forever()

    def _finish(self, result: outcome.Outcome[None]) -> None:
        self._done = result

    def _pump(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            if self._done is not None:
                self._done.unwrap()
                raise InternalError("the run has ended")
            self._wishes.get(timeout=PUMP_TIMEOUT_S)()

    def run(self, function: Callable[[*Ts], Awaitable[T]], *args: *Ts) -> T:
        """Run an async function to its end, with all other tasks beside it, and return its result."""
        results: list[outcome.Outcome[T]] = []

        async def capture() -> None:
            results.append(await outcome.acapture(_call, function, args))

        self.start_soon(capture)
        self._pump(lambda: bool(results))
        if isinstance(results[0], outcome.Error) and is_cancelled(results[0].error):
            self._pump(lambda: False)  # a task in the background has failed: raise its error
        return results[0].unwrap()

    def start_soon(self, function: Callable[[*Ts], Awaitable[object]], *args: *Ts) -> None:
        """Start a Trio task in the background; it moves during later calls."""
        assert self._nursery is not None
        self._nursery.start_soon(function, *args)

    def settle(self) -> None:
        """Run all tasks until each of them waits; time stands still."""
        self.run(trio.testing.wait_all_tasks_blocked)

    def advance(self, seconds: float) -> None:
        """Advance virtual time, stopping at each deadline on the way, and settle."""
        end = self.clock.current_time() + seconds
        self.settle()
        while (now := self.clock.current_time()) < end:
            self.clock.jump(min(end - now, self.run(_seconds_to_next_deadline)))
            self.settle()

    def close(self) -> None:
        """Cancel running tasks and wait for their end; raise their errors. A second call does nothing.

        Shielded tasks get the virtual time that they need.
        """
        if self._done is None:
            assert self._nursery is not None
            self.clock.autojump_threshold = 0
            nursery = self._nursery
            self.start_soon(_cancel, nursery)
            while self._done is None:
                self._wishes.get(timeout=PUMP_TIMEOUT_S)()
            self._done.unwrap()


async def _call(function: Callable[..., Awaitable[T]], args: tuple[Any, ...]) -> T:
    return await function(*args)


async def _cancel(nursery: trio.Nursery) -> None:
    nursery.cancel_scope.cancel("the test is over")


async def _seconds_to_next_deadline() -> float:
    # A deadline that has passed is handled in the next settling; a small jump leads there.
    return max(trio.lowlevel.current_statistics().seconds_to_next_deadline, 1e-6)

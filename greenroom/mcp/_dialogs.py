"""Open questions of one server to a person, and the deadlines suspended meanwhile.

Rule 1: the person's time does not count: while a question is open, no deadline of the server's calls passes. Rule 2: a
question that was asked during calls is withdrawn when none of them is pending any longer.

Must not know: what is asked, and whom.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar, final

import attrs
import trio

T = TypeVar("T")


class PausableDeadline(Protocol):
    """A deadline that can be suspended."""

    def suspend(self) -> None:
        """Suspend the deadline."""
        ...

    def resume(self) -> None:
        """Resume the deadline."""
        ...


@final
@attrs.define(eq=False)
class _ScopeClock:
    _scope: trio.CancelScope
    _left_s: float = math.inf

    def suspend(self) -> None:
        self._left_s, self._scope.deadline = self._scope.deadline - trio.current_time(), math.inf

    def resume(self) -> None:
        self._scope.deadline = trio.current_time() + self._left_s


@final
class Dialogs:
    """The open questions of one server."""

    def __init__(self) -> None:
        self._open: dict[trio.CancelScope, bool] = {}
        """True for those asked during calls, by their scopes."""
        self._clocks: dict[PausableDeadline, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def ask(self, put: Callable[[], Awaitable[T]], *, is_in_call: bool) -> T | None:
        """Ask a person and return the answer; None if the question was withdrawn.

        Args:
            put: Shows the question. Cancelled with this call.
            is_in_call: True if it was asked during calls, and is withdrawn when they end.
        """
        scope = trio.CancelScope()
        if not self._open:
            for clock in self._clocks:
                clock.suspend()
        self._open[scope] = is_in_call
        try:
            with scope:
                return await put()
        finally:
            del self._open[scope]
            if not self._open:
                for clock in self._clocks:
                    clock.resume()
        return None

    def end_calls(self) -> None:
        """Withdraw the questions asked during calls: none of them is pending any longer."""
        for scope, is_in_call in self._open.items():
            if is_in_call:
                scope.cancel("no call waits for the answer")

    @contextmanager
    def holding(self, clock: PausableDeadline) -> Iterator[None]:
        """Suspend a deadline while a question is open, as long as the block lasts."""
        if self._open:
            clock.suspend()
        self._clocks[clock] = None
        try:
            yield
        finally:
            del self._clocks[clock]

    def pausing(self, scope: trio.CancelScope) -> AbstractContextManager[None]:
        """Suspend the deadline of a cancel scope in the same way."""
        return self.holding(_ScopeClock(scope))

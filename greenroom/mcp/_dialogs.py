"""The questions of one server that a person looks at now, and the clocks that stand still meanwhile.

Rule 1: a person's time is nobody's fault: while a question is open, no deadline of the server's calls passes. Rule 2: a question that
came during calls is taken back when none of them waits any more.
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


class Clock(Protocol):
    """A deadline that can stand still."""

    def stop(self) -> None:
        """Let no time pass from now on."""
        ...

    def go_on(self) -> None:
        """Let time pass again."""
        ...


@final
@attrs.define(eq=False)
class _ScopeClock:
    _scope: trio.CancelScope
    _left_s: float = math.inf

    def stop(self) -> None:
        self._left_s, self._scope.deadline = self._scope.deadline - trio.current_time(), math.inf

    def go_on(self) -> None:
        self._scope.deadline = trio.current_time() + self._left_s


@final
class Dialogs:
    """The open questions of one server."""

    def __init__(self) -> None:
        self._open: dict[trio.CancelScope, bool] = {}
        """By their scopes, whether they came during calls."""
        self._clocks: dict[Clock, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def ask(self, put: Callable[[], Awaitable[T]], *, is_in_call: bool) -> T | None:
        """Put a question before a person and return the answer; None where it was taken back.

        Args:
            put: Does it. Cancelled with this.
            is_in_call: Whether it came during calls, and ends with them.
        """
        scope = trio.CancelScope()
        if not self._open:
            for clock in self._clocks:
                clock.stop()
        self._open[scope] = is_in_call
        try:
            with scope:
                return await put()
        finally:
            del self._open[scope]
            if not self._open:
                for clock in self._clocks:
                    clock.go_on()
        return None

    def end_calls(self) -> None:
        """Take back what came during calls: none of them waits any more."""
        for scope, is_in_call in self._open.items():
            if is_in_call:
                scope.cancel("no call waits for the answer")

    @contextmanager
    def holding(self, clock: Clock) -> Iterator[None]:
        """Let a clock stand still while a question is open, for as long as the block lasts."""
        if self._open:
            clock.stop()
        self._clocks[clock] = None
        try:
            yield
        finally:
            del self._clocks[clock]

    def pausing(self, scope: trio.CancelScope) -> AbstractContextManager[None]:
        """Do the same with the deadline of a scope."""
        return self.holding(_ScopeClock(scope))

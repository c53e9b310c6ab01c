"""Limits of the working time of runs: each is watched from when its run works, and only while it works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, final

import trio

LIMIT_WHO: Final = "its time limit"
"""The one who ends a run whose time is over, for the record."""


@final
class RunLimits:
    """The limits of the runs that work."""

    def __init__(self) -> None:
        self._scopes: dict[str, trio.CancelScope] = {}

    def __repr__(self) -> str:
        return f"<RunLimits of {len(self._scopes)} runs>"

    async def watch(self, run: str, left_s: float, time_out: Callable[[str], Awaitable[object]]) -> None:
        """Call `time_out` when a run has worked for `left_s` seconds more, unless `end` comes first."""
        with trio.CancelScope() as scope:
            self._scopes[run] = scope
            await trio.sleep(left_s)
        if self._scopes.get(run) is scope:
            del self._scopes[run]
            if not scope.cancelled_caught:
                await time_out(run)

    def end(self, run: str) -> None:
        """Forget a run that has ended."""
        scope = self._scopes.pop(run, None)
        if scope is not None:
            scope.cancel()

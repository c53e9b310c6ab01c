"""Connection pools of one client.

A pool scans its connections whenever a request starts or ends, so the cost of a request grows with all the others in
flight: with 1,000 of them, it exceeds the request itself. Rule 1: a pool is small, and another is made when all are
full. Rule 2: a request takes the first pool with room, so that few requests use few, warm connections. Rule 3: the last
pool is closed once it has been unused for as long as an idle connection is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import anthropic
import trio

SIZE: Final = 40
"""Connections in one pool."""
KEPT_S: Final = 5.0
"""Seconds that an idle connection is kept; the HTTP library's own default, which its pools use."""


@final
class ConnectionPool:
    """One pool of connections, with the number of its requests."""

    __slots__ = ("idle_since_s", "in_flight", "sdk", "size")

    def __init__(self, sdk: anthropic.AsyncAnthropic, size: int) -> None:
        self.sdk = sdk
        self.size = size
        self.in_flight = 0
        self.idle_since_s = 0.0


@final
class ConnectionPools:
    """All pools of a client.

    Args:
        make: Makes the SDK's client with a pool of that size; called for the first one at once.
        most: Maximum number of connections in all pools together; further requests wait in their pool.
    """

    def __init__(self, make: Callable[[int], anthropic.AsyncAnthropic], most: int) -> None:
        self._make = make
        self._left = most
        """Connections not yet assigned to a pool."""
        self._lines: list[ConnectionPool] = []
        self._add()

    def __len__(self) -> int:
        return len(self._lines)

    def take(self) -> ConnectionPool:
        """Return the pool for one more request; `give_back` must follow."""
        line = next((pool for pool in self._lines if pool.in_flight < pool.size), None)
        if line is None:
            line = self._add() if self._left else min(self._lines, key=lambda pool: pool.in_flight / pool.size)
        line.in_flight += 1
        return line

    def give_back(self, line: ConnectionPool) -> None:
        """End a request."""
        line.in_flight -= 1
        line.idle_since_s = trio.current_time()

    async def close_unused(self) -> None:
        """Close the last pool if it has been unused for long."""
        last = self._lines[-1]
        if len(self._lines) > 1 and not last.in_flight and trio.current_time() - last.idle_since_s > KEPT_S:
            self._lines.pop()
            self._left += last.size
            await last.sdk.close()

    async def close(self) -> None:
        """Close every connection."""
        for line in self._lines:
            await line.sdk.close()

    def _add(self) -> ConnectionPool:
        size = min(SIZE, self._left)
        line = ConnectionPool(self._make(size), size)
        self._lines.append(line)
        self._left -= size
        return line

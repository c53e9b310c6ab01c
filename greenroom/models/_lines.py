"""The connections of one client, in several pools.

A pool looks at each of its connections whenever a request begins or ends, so what a request costs grows with all the others
in flight: with 1,000 of them, more than the request itself. Rule 1: a pool is small, and one more is made when
all are full. Rule 2: a request takes the first pool with room, so that few requests meet few, warm connections. Rule 3: the
last pool is closed once nobody has used it for as long as an idle connection is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import anthropic
import trio

SIZE: Final = 40
"""Connections in one pool."""
KEPT_S: Final = 5.0
"""How long an idle connection is kept; the HTTP library's own default, which its pools go by."""


@final
class Line:
    """One pool of so many connections, and how many requests it has."""

    __slots__ = ("idle_since_s", "in_flight", "sdk", "size")

    def __init__(self, sdk: anthropic.AsyncAnthropic, size: int) -> None:
        self.sdk = sdk
        self.size = size
        self.in_flight = 0
        self.idle_since_s = 0.0


@final
class Lines:
    """All pools of a client.

    Args:
        make: Makes the SDK's client with a pool of so many connections; called for the first one at once.
        most: Connections at once, all pools together; the requests beyond them wait in their pool.
    """

    def __init__(self, make: Callable[[int], anthropic.AsyncAnthropic], most: int) -> None:
        self._make = make
        self._left = most
        """Connections that no pool has yet."""
        self._lines: list[Line] = []
        self._add()

    def __len__(self) -> int:
        return len(self._lines)

    def take(self) -> Line:
        """Return the pool for one more request; `give_back` follows."""
        line = next((one for one in self._lines if one.in_flight < one.size), None)
        if line is None:
            line = self._add() if self._left else min(self._lines, key=lambda one: one.in_flight / one.size)
        line.in_flight += 1
        return line

    def give_back(self, line: Line) -> None:
        """End a request."""
        line.in_flight -= 1
        line.idle_since_s = trio.current_time()

    async def close_unused(self) -> None:
        """Close the last pool if nobody has used it for long."""
        last = self._lines[-1]
        if len(self._lines) > 1 and not last.in_flight and trio.current_time() - last.idle_since_s > KEPT_S:
            self._lines.pop()
            self._left += last.size
            await last.sdk.close()

    async def close(self) -> None:
        """Close every connection."""
        for line in self._lines:
            await line.sdk.close()

    def _add(self) -> Line:
        size = min(SIZE, self._left)
        line = Line(self._make(size), size)
        self._lines.append(line)
        self._left -= size
        return line

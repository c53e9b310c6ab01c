"""Connections in memory between two nodes: with delays, silence, and cuts that lose what is under way.

Rule: as on a real connection, what arrives is a prefix of what was sent, in order. Silence holds messages back, it loses none; a cut
loses the last ones of each direction.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Final, final

import trio

from greenroom.serving import ConnectionEnded, NotProven

_BUFFER: Final = 64
"""Messages under way that a direction holds; further senders wait."""
_ABNORMAL: Final = 1006
_WRONG_S: Final = 1.0


@final
class _Direction:
    """Messages from one end to the other."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.under_way: deque[tuple[float, str | bytes]] = deque()
        self.end: ConnectionEnded | None = None
        """Follows the last message."""
        self.is_silent = False

    @property
    def has_ended(self) -> bool:
        """True if the reader has taken everything, and knows of the end."""
        return self.end is not None and not self.is_silent and not self.under_way


@final
class MemoryConnection:
    """One end of a connection in memory, for either side of a link. Made by `connection_pair`."""

    def __init__(self, out: _Direction, into: _Direction, changed: trio.lowlevel.ParkingLot) -> None:
        self._out = out
        self._in = into
        self._changed = changed
        self.address: Final = "memory"
        self.closed: tuple[int, str] | None = None
        """Code and reason with which this end was closed; None while it is open here."""

    def __repr__(self) -> str:
        return f"<MemoryConnection: {len(self._out.under_way)} under way, {len(self._in.under_way)} coming>"

    @property
    def under_way(self) -> int:
        """Number of messages that this end has sent and that have not arrived."""
        return len(self._out.under_way)

    async def receive(self) -> str | bytes:
        """Return the next message. If cancelled, no message is lost.

        Raises:
            ConnectionEnded: The connection is over.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        while True:
            if self.closed is not None or self._in.has_ended:
                await trio.lowlevel.cancel_shielded_checkpoint()
                raise self._in.end or ConnectionEnded(_ABNORMAL)
            due_s = math.inf
            if self._in.under_way and not self._in.is_silent:
                due_s = self._in.under_way[0][0]
                if due_s <= trio.current_time():
                    _, message = self._in.under_way.popleft()
                    self._changed.unpark_all()
                    await trio.lowlevel.cancel_shielded_checkpoint()
                    return message
            with trio.move_on_at(due_s):
                await self._changed.park()

    async def send(self, message: str | bytes) -> None:
        """Send a message, and wait until there is room for it.

        Raises:
            ConnectionEnded: The connection is over.
        """
        await trio.lowlevel.checkpoint()
        while self.closed is None and self._out.end is None and not self._in.has_ended:
            if len(self._out.under_way) < _BUFFER:
                now_s = trio.current_time()
                last_s = self._out.under_way[-1][0] if self._out.under_way else now_s
                self._out.under_way.append((max(last_s, now_s + self._out.delay_s), message))
                self._changed.unpark_all()
                return
            await self._changed.park()
        raise self._in.end or ConnectionEnded(_ABNORMAL)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close this end. The other one learns of it behind the messages that are under way."""
        self.end(code, reason)
        await trio.lowlevel.checkpoint()

    def end(self, code: int = 1000, reason: str = "") -> None:
        """Close this end without waiting."""
        if self.closed is None:
            self.closed = (code, reason)
            self._out.end = self._out.end or ConnectionEnded(code, reason)
            self._changed.unpark_all()

    async def prove(self, credential: str, *, judge: Callable[[str], object] | None = None) -> object:
        """Judge what the other side has shown, and return what it means.

        Raises:
            NotProven: It is wrong, which is said after 1 s.
        """
        grant = judge(credential) if judge is not None else credential
        await trio.sleep(0 if grant is not None else _WRONG_S)
        if grant is None:
            raise NotProven(is_full=False)
        return grant

    # --- faults -------------------------------------------------------------------------------------------------------

    def silence(self) -> None:
        """Hold back what this end sends, and has sent, until `speak`; nobody is notified."""
        self._out.is_silent = True

    def speak(self) -> None:
        """End the silence: what was held back arrives."""
        self._out.is_silent = False
        self._changed.unpark_all()

    def cut(self, *, arrives: int = 0, arrives_here: int = 0) -> None:
        """Cut the connection; both ends learn of it.

        Args:
            arrives: Number of messages under way from here that still arrive; the ones behind them are lost.
            arrives_here: The same for those of the other end.
        """
        for direction, count in ((self._out, arrives), (self._in, arrives_here)):
            while len(direction.under_way) > count:
                direction.under_way.pop()
            direction.is_silent = False
            direction.end = direction.end or ConnectionEnded(_ABNORMAL)
        self._changed.unpark_all()


def connection_pair(*, delay_s: float = 0.0) -> tuple[MemoryConnection, MemoryConnection]:
    """Return both ends of a connection in memory.

    Args:
        delay_s: Time that a message is under way, in seconds.
    """
    there, back = _Direction(delay_s), _Direction(delay_s)
    changed = trio.lowlevel.ParkingLot()
    return MemoryConnection(there, back, changed), MemoryConnection(back, there, changed)

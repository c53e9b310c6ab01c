"""Lanes: turns of many sessions wait here for their places.

Rule 1: a place is held by a scope, so whatever ends a turn gives it back. Rule 2: an aborted wait leaves nothing behind. All of it
happens in the caller's step; `LaneModel` decides.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeAlias, TypeVar, final

import trio

from greenroom.gateway.lanes._places import ClaimState, LaneModel, LaneStatistics, Rank, TurnClaim

LONG_WAIT_S: Final = 2.0
"""Seconds after which a wait is reported, once."""
T = TypeVar("T")
OnLongWait: TypeAlias = Callable[[TurnClaim, int], object]
"""Called with a claim that has waited for `LONG_WAIT_S`, and the number of turns ahead of it."""


@final
class TurnLanes:
    """The lanes of a gateway.

    Args:
        widths: The number of turns that run at once in each lane; a lane that is not named runs one.
        on_long_wait: Called once for each wait that takes long; it may only store values and wake tasks.
    """

    def __init__(self, widths: Mapping[str, int], *, on_long_wait: OnLongWait | None = None) -> None:
        self._places = LaneModel(widths)
        self._on_long_wait = on_long_wait
        self._wakes: dict[TurnClaim, trio.Event] = {}

    def __repr__(self) -> str:
        return f"<TurnLanes {self._places!r}>"

    @asynccontextmanager
    async def place(self, session: str, lane: str, rank: Rank = Rank.PERSON) -> AsyncIterator[TurnClaim]:
        """Wait for a place, and hold it until the block is left. Cancelled while it waits, it takes nothing.

        Args:
            session: The key of the session whose turn it is.
            lane: The lane.
            rank: Who goes first.
        """
        claim, given = self._places.ask(session, lane, rank)
        self._wake(given)
        try:
            await self._wait(claim)
            yield claim
        finally:
            self._wakes.pop(claim, None)
            self._wake(self._places.leave(claim))

    async def lend(self, claim: TurnClaim, sessions: Iterable[str], wait: Callable[[], Awaitable[T]]) -> T:
        """Wait for other sessions while their turns may use this turn's place; return what `wait` returns.

        Before it returns or raises, the turn has its place again; cancelled, it need not.

        Args:
            claim: The claim of the turn that waits; it is active.
            sessions: The keys of the sessions that are waited for.
            wait: The wait.

        Raises:
            WaitsInCircle: One of them waits for the session of this turn; nothing was waited for.
        """
        self._wake(self._places.lend(claim, sessions))
        try:
            return await wait()
        finally:
            if claim.state is ClaimState.LENT:
                self._wake(self._places.take_back(claim))
                await self._wait(claim)  # noqa: ASYNC102 - a turn that is cancelled leaves its place anyhow

    def resize(self, lane: str, width: int) -> None:
        """Change the width of a lane at once; turns that run keep their places.

        Raises:
            UsageError: It is below 1.
        """
        self._wake(self._places.resize(lane, width))

    def ahead(self, claim: TurnClaim) -> int:
        """Return the number of turns that wait before one."""
        return self._places.ahead(claim)

    def statistics(self) -> dict[str, LaneStatistics]:
        """Return a snapshot of each lane."""
        return self._places.statistics()

    async def _wait(self, claim: TurnClaim) -> None:
        if claim.state is ClaimState.ACTIVE:
            await trio.lowlevel.checkpoint()
            return
        self._wakes[claim] = event = trio.Event()
        with trio.move_on_after(LONG_WAIT_S):
            await event.wait()
        if not event.is_set():
            if self._on_long_wait is not None:
                self._on_long_wait(claim, self._places.ahead(claim))
            await event.wait()

    def _wake(self, given: Iterable[TurnClaim]) -> None:
        for claim in given:
            event = self._wakes.pop(claim, None)
            if event is not None:
                event.set()

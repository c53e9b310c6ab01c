"""The places of running sub-agents, and the agents that wait for one.

A place is reserved while an agent is being started. An agent that waits is started in the step in which a place becomes
free; if the journal is busy then, when everything recorded so far is durable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import final

from greenroom.agents.subagents._subagent import Subagent
from greenroom.core import JournalBusy, JournalError, Stopping


@final
class StartQueue:
    """The places of one pool.

    Args:
        max_running: Number of places. Only agents that may wait are held up by it.
        launch: Starts the first run of an agent that has waited.
        fail: Ends an agent that cannot be started.
        run_aside: Runs an async function while the session is open.
        wait_durable: Returns when everything recorded so far is durable.
    """

    def __init__(
        self,
        *,
        max_running: int,
        launch: Callable[[Subagent], None],
        fail: Callable[[Subagent, Exception], None],
        run_aside: Callable[[Callable[[], Awaitable[None]]], None],
        wait_durable: Callable[[], Awaitable[None]],
    ) -> None:
        self._max_running = max_running
        self._launch = launch
        self._fail = fail
        self._run_aside = run_aside
        self._wait_durable = wait_durable
        self._waiting: deque[Subagent] = deque()
        self._starting = self._reserved = self._running = 0
        self._is_starting_next = self._is_held_up = self._is_closed = False

    @property
    def taken(self) -> int:
        """The number of places of running agents, and of those that are being started."""
        return self._running + self._reserved

    @property
    def is_full(self) -> bool:
        """True if an agent that may wait has to."""
        return bool(self._waiting) or self.taken >= self._max_running

    @property
    def is_closed(self) -> bool:
        """True if no agent is started any more."""
        return self._is_closed

    @property
    def is_idle(self) -> bool:
        """True if no agent runs, is being started or waits."""
        return not (self.taken or self._starting or self._waiting)

    @contextmanager
    def starting(self, *, takes_place: bool) -> Iterator[None]:
        """Reserve a place while an agent is being started.

        Args:
            takes_place: False for agents of the runtime, which take none, and for those that wait for theirs.
        """
        self._starting += 1
        self._reserved += takes_place
        try:
            yield
        finally:
            self._starting -= 1
            self._reserved -= takes_place
            self.start_next()

    def occupy(self) -> None:
        """Take a place for a run, even if none is free."""
        self._running += 1

    def vacate(self) -> None:
        """Free the place of a run; the caller calls `start_next` when the end of the run is processed."""
        self._running -= 1

    def add(self, subagent: Subagent) -> None:
        """Append an agent to those that wait."""
        self._waiting.append(subagent)

    def remove(self, subagent: Subagent) -> None:
        """Remove an agent that waits."""
        self._waiting.remove(subagent)

    def close(self) -> tuple[Subagent, ...]:
        """Start no more agents, and return those that wait."""
        self._is_closed = True
        return tuple(self._waiting)

    def start_next(self) -> None:
        """Start agents that wait while there are places."""
        if self._is_starting_next or self._is_held_up:  # the loop that runs, or is to come, starts them
            return
        self._is_starting_next = True
        try:
            while self._waiting and not self._is_closed and self.taken < self._max_running:
                subagent = self._waiting.popleft()
                try:
                    self._launch(subagent)
                except JournalBusy:
                    self._waiting.appendleft(subagent)
                    self._is_held_up = True
                    self._run_aside(self._start_when_durable)
                    return
                except (Stopping, JournalError) as error:
                    self._fail(subagent, error)
        finally:
            self._is_starting_next = False

    async def _start_when_durable(self) -> None:
        with suppress(JournalError):  # the next one that is started reports it
            await self._wait_durable()
        self._is_held_up = False
        self.start_next()

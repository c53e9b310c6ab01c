"""The watcher of turns of a gateway: runs first, so that everything is on record, then clients."""

from __future__ import annotations

from typing import final

from greenroom.gateway.keepers._seams import TurnEnd
from greenroom.gateway.process._event_feed import EventFeed
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.runs._runs import Runs
from greenroom.tasks import TaskState


@final
class TurnWatch:
    """Tells runs, and then the feed.

    Args:
        runs: The runs.
        feed: The feed of clients.
        registry: The registry.
    """

    def __init__(self, runs: Runs, feed: EventFeed, registry: Registry) -> None:
        self._runs = runs
        self._feed = feed
        self._registry = registry

    async def turn_queued(self, session: str, items: tuple[str, ...], lane: str) -> None:
        """Pass it on."""
        await self._runs.turn_queued(session, items, lane)

    async def turn_began(self, session: str, items: tuple[str, ...]) -> None:
        """Pass it on."""
        await self._runs.turn_began(session, items)

    async def turn_ended(self, end: TurnEnd) -> None:
        """Have the end recorded, then tell clients."""
        known = [row for item in end.items if (row := self._registry.inbound.get(item)) is not None and row.run]
        await self._runs.turn_ended(end)
        states = {TaskState.COMPLETED: "final", TaskState.KILLED: "aborted"}
        payload: dict[str, object] = {"state": states.get(end.state, "error"), "message": end.reply or end.said}
        if known:
            payload["runId"] = known[-1].run
        if end.error:
            payload["error"] = end.error
        self._feed.end_of_turn(end.session, payload)

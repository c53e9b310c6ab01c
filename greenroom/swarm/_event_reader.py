"""The reader of events that the views share: times from the first event, losses, and agents that wait for a model."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, final

import attrs
import trio

from greenroom.actors import ActorExited
from greenroom.agents.events import ModelBegan, ModelEnded, ModelRetried
from greenroom.core import Event, JournalError
from greenroom.session import EVENTS
from greenroom.terminal.screen import SwarmStory
from greenroom.trace import JOURNAL, follow

if TYPE_CHECKING:
    from greenroom.session import EventStream

FIRST_REMARK_S = 5.0
"""Seconds that a model may take before a log line says so; the next line follows after twice the time, and so on."""


@final
class Waits:
    """Agents that wait for their model, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._next_remark: dict[str, float] = {}

    def see(self, t: float, event: Event) -> None:
        """Take note of an event."""
        match event:
            case ModelBegan() if event.turn:  # what runs beside a turn is not waited for by it
                self._since[event.actor] = t
                self._next_remark[event.actor] = t + FIRST_REMARK_S
            case ModelEnded(turn=0) | ModelRetried(turn=0):
                pass
            case ModelRetried():  # until then nobody expects anything
                self._since[event.actor] = t + event.delay_s
                self._next_remark[event.actor] = t + event.delay_s + FIRST_REMARK_S
            case ModelEnded() | ActorExited():
                self._since.pop(event.actor, None)
                self._next_remark.pop(event.actor, None)

    def waited_s(self, actor: str, now: float) -> float:
        """Return how long an agent has been waiting for its model; 0 where it is not."""
        return max(0.0, now - self._since.get(actor, now))

    def remarks(self, now: float) -> list[tuple[str, float]]:
        """Return agents whose wait is worth a remark now, with its seconds; each is remarked on ever more rarely."""
        due = [actor for actor, at in self._next_remark.items() if at <= now]
        for actor in due:
            self._next_remark[actor] = now + self.waited_s(actor, now)
        return [(actor, self.waited_s(actor, now)) for actor in due]


@final
@attrs.define
class Reading:
    """A stream of events that is being read."""

    stream: EventStream
    waits: Waits = attrs.field(factory=Waits)
    began: float | None = None
    """The clock's reading at the first event."""
    newly_lost: int = 0
    """Events that came too fast to be read, since the last one that was."""
    _lost: int = 0

    async def next(self) -> tuple[int, float, Event] | None:
        """Return number, the clock's reading and event, or None at the end."""
        try:
            seq, t, event = await self.stream.next_numbered()
        except StopAsyncIteration:
            return None
        self.began = t if self.began is None else self.began
        self.newly_lost, self._lost = self.stream.lost - self._lost, self.stream.lost
        self.waits.see(t, event)
        return seq, t, event

    def since_began(self, t: float) -> float:
        """Return the seconds from the first event to a reading of the clock."""
        return t - (t if self.began is None else self.began)


async def fold_earlier(story: SwarmStory, run: Path, seq: int, t: float) -> None:
    """Fold the events of earlier processes of a resumed run before the first one of this process; later do nothing.

    Args:
        story: Takes them as far as they can be read; its time goes on from the last of them.
        run: The run folder.
        seq: The number of the first event of this process.
        t: The clock's reading at it.
    """
    if story.last_event or seq <= 1:
        return
    first_t: float | None = None
    # The screen then shows less; the run continues.
    with suppress(JournalError), closing(follow(run / JOURNAL, EVENTS)) as follower:
        while entries := [entry for entry in follower.take() if entry.seq < seq]:
            first_t = entries[0].t if first_t is None else first_t
            for entry in entries:
                story.take(entry.seq, t + entry.t - first_t, entry.event)
            await trio.lowlevel.checkpoint()
    story.began_t = t - story.last_s

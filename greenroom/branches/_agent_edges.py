"""The places at which an agent of a recorded run can be cut off: before a model request, and between its turns.

Rule 1: before a request of a turn the conversation is one that a provider accepts, and it is known exactly: the event names
the transcript's last line. Rule 2: between two turns it can be cut anywhere up to the lease of the next message.
Must not know: files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import final

import attrs

from greenroom.actors import State, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined, CompactBegan, CompactEnded, ModelBegan, ModelEnded
from greenroom.mailbox import MessageLeased
from greenroom.trace import Entry


@final
@attrs.frozen(kw_only=True)
class CutPlace:
    """A place, or a stretch of places, at which an agent can be cut off. A place is the number of the first event that is left out."""

    first: int
    last: int
    """The last such place; as `first` before a request."""
    line: str = ""
    """The uuid of the transcript's line that a request was sent after; of the latest request between turns. Empty before the first."""
    is_idle: bool
    """True between turns: the answer to the latest request, and the results behind it, belong to the conversation as well."""
    is_answered: bool = False
    """True if that request was answered."""
    first_s: float = 0.0
    """When the first place came, in seconds since the run began."""
    turn: int = 0
    round: int = 0
    """The request that comes next; 0 between turns."""


@final
@attrs.define
class AgentEdges:
    """The edges of one agent, over all its incarnations and runs."""

    agent: str
    """Its id."""
    definition: str
    path: str
    """Its path in the tree of actors, of its first run."""
    transcript: str
    owner: str
    """The id of the agent that asked for it; empty for none."""
    call: str
    """The call that asked for it; empty for none."""
    born: int
    """The first event of its task, or of its actor."""
    edges: list[CutPlace]
    lacks_lines: bool = False
    """True if a request does not name a line: an older version recorded the run."""

    def at(self, place: int) -> tuple[int, CutPlace | None]:
        """Return the last place that is not beyond a place, and its edge; before the agent is there its birth, and None."""
        at = bisect_right(self.edges, place, key=lambda edge: edge.first)
        if not at:
            return self.born, None
        edge = self.edges[at - 1]
        return min(place, edge.last), edge


def find_edges(entries: Sequence[Entry]) -> dict[str, AgentEdges]:
    """Return the edges of each agent of a run by its id.

    Args:
        entries: The whole journal.
    """
    agents: dict[str, AgentEdges] = {}
    by_actor: dict[str, _Follower] = {}
    born: dict[str, tuple[int, str]] = {}
    registered: dict[str, int] = {}
    for entry in entries:
        event, actor = entry.event, entry.event.actor
        if entry.kind == "actor.new":
            born[actor] = entry.seq, entry["path"]
        elif entry.kind == "task.new":
            registered.setdefault(entry["task"], entry.seq)
        elif isinstance(event, AgentDefined):
            agent = event.agent or actor
            if agent not in agents:
                first, path = born.get(actor, (entry.seq, ""))
                first = min(first, registered.get(agent, first))
                agents[agent] = AgentEdges(
                    agent, event.definition, path, event.transcript, event.owner, event.call, first, []
                )
                by_actor[actor] = _Follower(agents[agent])
                if not event.call:  # the words of a call are in no transcript before the agent's first request
                    by_actor[actor].rest(entry)
            else:  # another run of it
                by_actor[actor] = next(each for each in by_actor.values() if each.edges.agent == agent)
        elif actor in by_actor:
            by_actor[actor].follow(entry)
    for follower in by_actor.values():
        follower.finish()
    return agents


def find_compaction(entries: Iterable[Entry], number: int) -> int | None:
    """Return the first event of the compaction that is going on at an event; None if there is none."""
    open_at: dict[str, int] = {}
    for entry in entries:
        actor = entry.event.actor
        if isinstance(entry.event, CompactBegan):
            open_at[actor] = entry.seq
        elif isinstance(entry.event, CompactEnded):
            first = open_at.pop(actor, entry.seq)
            if first <= number < entry.seq:
                return first
    return next((first for first in open_at.values() if first <= number), None)


@final
class _Follower:
    """Follows the events of one agent."""

    def __init__(self, edges: AgentEdges) -> None:
        self.edges = edges
        self._line = ""
        self._is_answered = False
        self._request = 0
        self._idle_from: int | None = None
        self._idle_s = 0.0
        self._turns: set[int] = set()

    def rest(self, entry: Entry) -> None:
        """Open an edge between turns, from an event on."""
        self._idle_from, self._idle_s = entry.seq + 1, entry.t

    def follow(self, entry: Entry) -> None:
        """Take the next event of its actor."""
        event = entry.event
        if isinstance(event, MessageLeased) and self._idle_from is not None:
            self._end_rest(entry.seq)
        elif isinstance(event, TurnBegan):
            self._turns.add(entry.seq)
        elif isinstance(event, TurnEnded):
            self.rest(entry)
        elif isinstance(event, ModelBegan) and event.turn and event.parent in self._turns:
            self.edges.lacks_lines |= not event.after
            self._line, self._request, self._is_answered = event.after, entry.seq, False
            edge = CutPlace(
                first=entry.seq, last=entry.seq, line=event.after, is_idle=False, turn=event.turn, round=event.round
            )
            self.edges.edges.append(edge)
        elif isinstance(event, ModelEnded) and event.parent == self._request:
            self._is_answered = event.state == State.COMPLETED

    def finish(self) -> None:
        """Close the edge that is open at the end of the journal."""
        if self._idle_from is not None:
            self._end_rest(1 << 62)

    def _end_rest(self, place: int) -> None:
        first, self._idle_from = self._idle_from, None
        assert first is not None
        edge = CutPlace(
            first=first,
            last=place,
            line=self._line,
            is_idle=True,
            is_answered=self._is_answered,
            first_s=self._idle_s,
        )
        self.edges.edges.append(edge)

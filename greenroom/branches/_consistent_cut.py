"""A consistent cut of a recorded run: the part that is kept, in which every effect has its cause.

Each agent is cut at its last edge. Then an event that depends on one that is left out is left out as well, with all that its
actor did afterwards, until nothing changes: each actor keeps a beginning of its own events.

    message     belongs to its sender; its lease depends on it
    event       depends on its parent
    call        depends on the agent that it started, on the end of the one that it waited for, and on the turns that it
                asked other actors for
    agent       is not there before its first request, if a call asked for it

Must not know: files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

import attrs

from greenroom.actors import ActorExited, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined, ToolBegan, ToolEnded
from greenroom.branches._agent_edges import AgentEdges, CutPlace
from greenroom.inbox import InboxTaken
from greenroom.mailbox import MessageLeased, MessagePut
from greenroom.teams import TeammateJoined, TeamOpened
from greenroom.trace import Entry

HOST: Final = ""
"""The process of what no actor did."""


@final
@attrs.frozen(kw_only=True)
class Stand:
    """The place of an agent in a cut."""

    agent: AgentEdges
    place: int
    """Number of its first event that is left out."""
    edge: CutPlace

    def __str__(self) -> str:
        where = "between turns" if self.edge.is_idle else f"before request {self.edge.round} of turn {self.edge.turn}"
        return f"{self.agent.path or self.agent.agent}: {where}"


@final
@attrs.frozen(kw_only=True)
class Cut:
    """A consistent cut."""

    at: int
    """The event after which it was asked for."""
    kept: Sequence[int]
    """Numbers of the events that are kept, in order."""
    stands: Sequence[Stand]
    """The agents that there are, in the order in which they came."""

    @property
    def left_out(self) -> int:
        """Number of events up to `at` that are left out."""
        return self.at - len(self.kept)


def plan_cut(entries: Sequence[Entry], agents: Mapping[str, AgentEdges], at: int) -> Cut:
    """Return the latest consistent cut at or before an event.

    Args:
        entries: The whole journal.
        agents: The edges of its agents.
        at: The number of the last event that may be kept.
    """
    before = [entry for entry in entries if entry.seq <= at]
    graph = _Graph(before, agents)
    places: dict[str, int] = {}
    for agent in agents.values():
        places[agent.agent] = agent.at(at + 1)[0]
    while graph.lower(places):
        pass
    stands = [
        Stand(agent=agent, place=place, edge=edge)
        for agent in agents.values()
        for place, edge in [agent.at(places[agent.agent])]
        if edge is not None and agent.born < places[agent.agent]
    ]
    return Cut(at=at, kept=graph.kept(places), stands=stands)


@final
class _Graph:
    """The dependencies among events."""

    def __init__(self, entries: Sequence[Entry], agents: Mapping[str, AgentEdges]) -> None:
        self._agents = agents
        self._process: dict[int, str] = {}
        """Of each event, in order."""
        self._needs: dict[int, list[int]] = {}
        """Events without which an event cannot be kept."""
        self._actors: dict[str, str] = {
            entry.event.actor: entry.event.agent or entry.event.actor
            for entry in entries
            if isinstance(entry.event, AgentDefined)
        }
        self._tasks = {
            f"{entry.event.name}@{entry.event.team}": entry.event.agent
            for entry in entries
            if isinstance(entry.event, TeammateJoined)
        }
        for entry in entries:
            self._process[entry.seq] = self._process_of(entry)
            if entry.event.parent:
                self._need(entry.seq, entry.event.parent)
        self._tie_mail(entries)
        ties = _CallTies(agents, self._actors, self._need)
        for entry in entries:
            ties.follow(entry, self._process[entry.seq])

    def lower(self, places: dict[str, int]) -> bool:
        """Lower the places of the processes that keep an event although something it depends on is left out; return whether any did.

        Args:
            places: Of each process the number of its first event that is left out; none for a process that keeps all.
        """
        process, has_lowered = self._process, False
        for seq, needed in self._needs.items():
            mine = process[seq]
            if seq >= places.get(mine, seq + 1):
                continue
            for need in needed:
                theirs = process.get(need)
                if theirs is not None and need >= places.get(theirs, need + 1):
                    agent = self._agents.get(mine)
                    places[mine] = seq if agent is None else agent.at(seq)[0]
                    has_lowered = True
                    break
        return has_lowered

    def kept(self, places: Mapping[str, int]) -> list[int]:
        """Return the events that are kept."""
        return [seq for seq, process in self._process.items() if seq < places.get(process, seq + 1)]

    def _process_of(self, entry: Entry) -> str:
        event = entry.event
        if isinstance(event, MessagePut):
            return self._process.get(event.parent, HOST)
        if isinstance(event, InboxTaken):
            return next(iter(self._agents), HOST)
        if entry.kind.startswith("task."):
            task = entry["task"]
            if task in self._tasks:
                return self._tasks[task]
            if task in self._agents:
                return str(task)
        return self._actors.get(event.actor, event.actor)

    def _need(self, seq: int, need: int) -> None:
        self._needs.setdefault(seq, []).append(need)

    def _tie_mail(self, entries: Sequence[Entry]) -> None:
        """A message that is leased or read was put or sent."""
        puts: dict[tuple[str, int], int] = {}
        sent: dict[tuple[str, int], int] = {}
        for entry in entries:
            actor = entry.event.actor
            if isinstance(entry.event, MessagePut):
                puts[actor, entry.event.msg] = entry.seq
            elif isinstance(entry.event, MessageLeased):
                self._need(entry.seq, puts.get((actor, entry.event.msg), 0))
            elif entry.kind == "mail.sent":
                sent[entry["team"], entry["mail"]] = entry.seq
            elif entry.kind in {"mail.read", "mail.returned"}:
                self._need(entry.seq, sent.get((entry["team"], entry["mail"]), 0))


@final
class _CallTies:
    """The dependencies of calls, found as the events are followed.

    A call that has ended saw the beginning and the end of the agent that it started, and the ends of the turns that it asked for.

    Args:
        agents: Those of the run, by their ids.
        actors: The ids of agents by those of their actors.
        need: Takes an event, and one that it depends on.
    """

    def __init__(
        self, agents: Mapping[str, AgentEdges], actors: Mapping[str, str], need: Callable[[int, int], None]
    ) -> None:
        self._agents = agents
        self._actors = actors
        self._need = need
        self._births = {agent.born: agent for agent in agents.values() if agent.call}
        self._open: dict[str, dict[str, int]] = {}
        """The calls that run, with the events with which they began, by process."""
        self._asked: dict[tuple[str, int], tuple[str, frozenset[str]]] = {}
        """Messages to other actors: who asked, and the calls that ran then."""
        self._turns: dict[int, tuple[str, frozenset[str]]] = {}
        """The turns with these messages, by the event with which they began."""
        self._seen: dict[tuple[str, str], list[int]] = {}
        """The events that a call may have seen, by its process and its id."""

    def follow(self, entry: Entry, process: str) -> None:
        """Take the next event."""
        agent = self._births.get(entry.seq)
        if agent is not None:
            self._note(agent.owner, agent.call, entry.seq)
        match entry.event:
            case ToolBegan() | ToolEnded() as event:
                self._follow_call(entry.seq, event, process)
            case MessagePut() as event if event.actor not in self._actors and self._open.get(process):
                self._asked[event.actor, event.msg] = process, frozenset(self._open[process])
            case TurnBegan() as event if (event.actor, event.msg) in self._asked:
                self._turns[entry.seq] = self._asked.pop((event.actor, event.msg))
            case TurnEnded() as event if event.parent in self._turns:
                asker, calls = self._turns.pop(event.parent)
                for call in calls:
                    self._note(asker, call, entry.seq)
            case ActorExited() if process in self._agents:
                self._note(self._agents[process].owner, self._agents[process].call, entry.seq)
            case TeamOpened(is_of_program=False):
                for began in (seq for calls in self._open.values() for seq in calls.values()):
                    self._need(entry.seq, began)

    def _follow_call(self, seq: int, event: ToolBegan | ToolEnded, process: str) -> None:
        if isinstance(event, ToolBegan):
            self._open.setdefault(process, {})[event.call] = seq
            return
        self._open.get(process, {}).pop(event.call, None)
        for seen in self._seen.pop((process, event.call), ()):
            self._need(seq, seen)

    def _note(self, process: str, call: str, seq: int) -> None:
        """Note what a call may have seen, if it still runs."""
        if call in self._open.get(process, {}):
            self._seen.setdefault((process, call), []).append(seq)

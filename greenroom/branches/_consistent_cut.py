"""A consistent cut of a recorded run: the part that is kept, in which every effect has its cause.

Each agent is cut at its last edge. Then an event that depends on one that is left out is left out as well, with all that its
actor did afterwards, until nothing changes: each actor keeps a beginning of its own events.

    message     belongs to its sender; its lease depends on it
    event       depends on its parent
    call        depends on the agent that it started, on the end of the one that it waited for, and on the turns that it
                asked other actors for
    agent       depends on the call that asked for it

Must not know: files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

import attrs

from greenroom.actors import ActorExited, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined, ToolBegan, ToolEnded
from greenroom.branches._agent_edges import AgentEdges, Edge
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
    edge: Edge

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
        self._tie_calls(entries)

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

    def _tie_calls(self, entries: Sequence[Entry]) -> None:
        """A call that has ended saw the ends of the turns that it asked for, and of the agent that it waited for."""
        open_calls: dict[str, dict[str, int]] = {}
        calls: dict[tuple[str, str], int] = {}
        asked: dict[tuple[str, int], tuple[str, frozenset[str]]] = {}
        turns: dict[int, tuple[str, frozenset[str]]] = {}
        seen: dict[tuple[str, str], list[int]] = {}
        """Ends that a call may have seen, by the process and the call."""
        births = {agent.born: agent for agent in self._agents.values() if agent.call}
        for entry in entries:
            event, process = entry.event, self._process[entry.seq]
            if isinstance(event, ToolBegan):
                open_calls.setdefault(process, {})[event.call] = calls[process, event.call] = entry.seq
            elif isinstance(event, ToolEnded):
                open_calls.get(process, {}).pop(event.call, None)
                for end in seen.pop((process, event.call), ()):
                    self._need(entry.seq, end)
            elif isinstance(event, MessagePut) and event.actor not in self._actors and open_calls.get(process):
                asked[event.actor, event.msg] = process, frozenset(open_calls[process])
            elif isinstance(event, TurnBegan) and (event.actor, event.msg) in asked:
                turns[entry.seq] = asked.pop((event.actor, event.msg))
            elif isinstance(event, TurnEnded) and event.parent in turns:
                asker, of_calls = turns.pop(event.parent)
                for call in of_calls & open_calls.get(asker, {}).keys():
                    seen.setdefault((asker, call), []).append(entry.seq)
            elif isinstance(event, ActorExited) and process in self._agents:
                agent = self._agents[process]
                if agent.call in open_calls.get(agent.owner, {}):
                    seen.setdefault((agent.owner, agent.call), []).append(entry.seq)
            elif isinstance(event, TeamOpened) and not event.is_of_program:
                for mine in open_calls.values():
                    for began in mine.values():
                        self._need(entry.seq, began)
            if entry.seq in births:
                agent = births[entry.seq]
                self._need(entry.seq, calls.get((agent.owner, agent.call), 0))
                seen.setdefault((agent.owner, agent.call), []).append(entry.seq)

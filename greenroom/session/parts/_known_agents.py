"""The agents that a session has in memory, and the tokens of all that it ever had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

from greenroom.actors import Ref
from greenroom.agents import AgentState
from greenroom.models import Usage


@final
class KnownAgents:
    """All agents of one session: the main agent, sub-agents and teammates."""

    def __init__(self) -> None:
        self._agents: dict[str, tuple[Ref[Any], AgentState]] = {}
        self._former: dict[str, Usage] = {}
        """The tokens of agents that were released, by their ids."""
        self._is_closing = False

    def __len__(self) -> int:
        return len(self._agents)

    def __iter__(self) -> Iterator[tuple[Ref[Any], AgentState]]:
        """Iterate over the agents in the order in which they were started, including those that have ended."""
        return iter(self._agents.values())

    def adopt(self, ref: Ref[Any], home: AgentState) -> None:
        """Add an agent that was started."""
        agent_id = home.profile.id or ref.id
        home.count(self._former.pop(agent_id, Usage()))  # of its runs before it was released
        self._agents[agent_id] = (ref, home)
        if self._is_closing:
            home.close()

    def close(self) -> None:
        """Let no agent begin a turn any more, those neither that are started later."""
        self._is_closing = True
        for _, home in self._agents.values():
            home.close()

    def drop(self, agent_id: str) -> None:
        """Release an agent that nobody looks at any more; its tokens still count."""
        if agent_id in self._agents:
            _, home = self._agents.pop(agent_id)
            self._former[agent_id] = home.usage

    def find(self, agent_id: str) -> tuple[Ref[Any], AgentState] | None:
        """Return an agent by its id; None if it is not in memory."""
        return self._agents.get(agent_id)

    def living_children(self) -> Iterator[AgentState]:
        """Return the records of all agents but the main one that have not ended."""
        return (home for ref, home in self._agents.values() if home.profile.is_child and not ref.is_gone)

    @property
    def usage(self) -> Usage:
        """The tokens of all agents, including those that were released."""
        former = sum(self._former.values(), Usage())
        return sum((home.usage for _, home in self._agents.values()), former)

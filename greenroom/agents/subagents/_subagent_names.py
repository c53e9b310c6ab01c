"""Names of sub-agents: a name leads to the agent that got it last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import final


@final
class SubagentNames(Mapping[str, tuple[str, ...]]):
    """Every name that was given, with the ids of the agents that had it, in order."""

    def __init__(self) -> None:
        self._holders: dict[str, tuple[str, ...]] = {}

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._holders[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._holders)

    def __len__(self) -> int:
        return len(self._holders)

    def __repr__(self) -> str:
        return f"<SubagentNames {self._holders}>"

    def id_of(self, agent: str) -> str:
        """Return the id of the agent that has a name now; of an id, that id."""
        return self._holders.get(agent, (agent,))[-1]

    def add(self, name: str, agent_id: str) -> None:
        """Register an agent under a name; one of an earlier process, too."""
        holders = self._holders.get(name, ())
        if agent_id not in holders:
            self._holders[name] = (*holders, agent_id)

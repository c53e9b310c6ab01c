"""Orders for sub-agents, and the port to the session that carries them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, final

import attrs

from greenroom.actors import Ref
from greenroom.agents._definition import AgentDefinition
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.definitions import Definitions
from greenroom.tasks import Task


@final
@attrs.frozen(kw_only=True)
class SubagentSpec:
    """Specification of a new agent."""

    definition: AgentDefinition
    parent: AgentState | None
    """The agent that asked; None for the host."""
    lineage: Lineage
    model: str | None = None
    """The model that the call names."""
    is_background: bool
    is_teammate: bool = False
    is_planning: bool = False
    """True if it changes nothing until its plan is approved; of a teammate."""
    is_worker: bool = False
    """True if a coordinator leads it."""
    place: Path | None = None
    """The folder in which it begins; None for where its parent stands."""
    own_roots: tuple[Path, ...] | None = None
    exact_model: str | None = None
    """The model that it had in an earlier run."""
    approved_mode: str = ""
    """The permission mode that its plan was approved into in an earlier run; of a teammate."""


class SubagentHost(Protocol):
    """The services of the session for its sub-agents."""

    def make_child(self, wish: SubagentSpec) -> AgentState:
        """Return the state of a new agent.

        Raises:
            UsageError: Its definition cannot be used.
        """
        ...

    def forget(self, home: AgentState) -> None:
        """Forget an agent that has ended."""
        ...

    async def find_definitions(self) -> Definitions:
        """Return the definitions as they are now."""
        ...

    def adopt(self, ref: Ref[Any], home: AgentState) -> None:
        """Add an agent that was started."""
        ...

    def drop(self, agent_id: str) -> None:
        """Remove an agent; its tokens stay in the total."""
        ...

    def find(self, agent_id: str) -> tuple[Ref[Any], AgentState] | None:
        """Return an agent of the session by its id, teammates included; None if it is not in memory."""
        ...

    def living(self) -> Iterable[AgentState]:
        """Return the records of all agents but the main one that have not ended."""
        ...

    def has_budget(self) -> bool:
        """Return whether anything may still be spent."""
        ...

    async def report_to_main(self, report_id: str, text: str) -> bool:
        """Deliver what a running task has printed to the main agent; return False if it cannot take it now."""
        ...


@final
@attrs.frozen(kw_only=True)
class SpawnOrder:
    """One agent to start."""

    home: Callable[[Lineage], AgentState]
    """Makes what belongs to it."""
    definition: AgentDefinition
    prompt: str
    description: str
    caller: AgentState | None = None
    """The agent that asks; None for the host."""
    caller_id: str = ""
    owner: str = ""
    """The agent that is notified of its end; empty for the host."""
    call: str = ""
    is_background: bool
    is_fork: bool = False
    is_worker: bool = False
    """True if a coordinator leads it."""
    is_silent: bool = False
    """True if no notice reports its end, because the host looks at the task."""
    name: str = ""
    in_worktree: bool = False
    waits: bool = False
    """True if it waits for a place where too many run."""
    skill: str = ""
    """The skill that it runs; empty for none."""
    is_service: bool = False
    """True if the runtime itself starts it, for a hook: it takes no place and is not counted."""
    tell: Callable[[Task], bool] | None = None
    """Reports its end in place of the notice; returns False if it could not. None for the notice."""


def lineage_of(order: SpawnOrder, main: Ref[Any] | None) -> Lineage:
    """Return the lineage of the agent that an order starts."""
    caller = order.caller
    if caller is None:
        return Lineage(above=(main.id,) if main is not None else ())
    above = (order.caller_id, *caller.profile.lineage.above)
    skills = (*caller.profile.lineage.skills, *([order.skill] if order.skill else []))
    return Lineage(parent=order.caller_id, above=above, call=order.call, skill=order.skill, skills=skills)

"""The situation of a call of the tool Agent: the caller, the limits, the team, and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.agents.definitions import Definitions

MAX_DEPTH: Final = 3
MAX_RUNNING: Final = 20

ForkSetting: TypeAlias = Literal["off", "when_type_omitted", "explicit"]
"""The way a model forks: not at all, by leaving the type out, by the type `fork`."""


@final
@attrs.frozen(kw_only=True)
class Caller:
    """The agent that calls."""

    depth: int = 0
    """The number of agents above it; 0 for the session's own."""
    is_main: bool = True
    """True if it is the session's own."""
    is_fork: bool = False
    has_fork_tag: bool = False
    """True if its conversation holds what a fork is told first: the second guard, should `is_fork` be lost."""
    is_teammate: bool = False
    has_team_context: bool = False
    """True if it leads or belongs to `Teams.team`."""
    is_user: bool = False
    """True if a person starts it by hand, which the number of running agents does not hold up."""


@final
@attrs.frozen(kw_only=True)
class DelegationLimits:
    """The limits, and how much of them is used up."""

    max_depth: int = MAX_DEPTH
    """Levels below the session's own agent."""
    running: int = 0
    """Agents that run now; teammates do not count."""
    max_running: int = MAX_RUNNING
    spawned: int = 0
    """Agents that the session has started so far."""
    max_total: int | None = None
    has_budget: bool = True
    """True if money is left."""


@final
@attrs.frozen(kw_only=True)
class Teams:
    """The team of the session."""

    are_on: bool = False
    """True if teams are switched on and can be used in this session."""
    team: str | None = None
    """Its name; None where there is none (yet)."""
    is_implicit: bool = False
    """True if the session is a team by itself, so that a name alone makes a teammate."""


@final
@attrs.frozen(kw_only=True)
class Situation:
    """Everything that the way of a call depends on."""

    definitions: Definitions = attrs.field(factory=Definitions)
    denied_types: Mapping[str, str] = attrs.field(factory=dict)
    """Types that may not be started, `*` for any text, each with the rule that says so."""
    allowed_types: tuple[str, ...] | None = None
    """The types that `Agent(a, b)` in the definition of the session's own agent allows; None for all. Of others it is ignored."""
    fork: ForkSetting = "off"
    is_interactive: bool = True
    is_coordinator: bool = False
    is_assistant: bool = False
    is_proactive: bool = False
    background_by_default: bool = False
    background_enabled: bool = True
    has_remote_hosts: bool = False
    caller: Caller = attrs.field(factory=Caller)
    limits: DelegationLimits = attrs.field(factory=DelegationLimits)
    teams: Teams = attrs.field(factory=Teams)

    @property
    def is_fork_open(self) -> bool:
        """True if forks can be asked for; the older way never without a person, neither one in coordinator mode."""
        if self.fork == "off" or self.is_coordinator:
            return False
        return self.fork == "explicit" or self.is_interactive

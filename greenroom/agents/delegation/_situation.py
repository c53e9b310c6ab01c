"""The situation of a call of the Agent tool: the caller, the limits, the team, and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.agents.definitions import Definitions
from greenroom.core import frozen

MAX_DEPTH: Final = 3
MAX_RUNNING: Final = 20

ForkSetting: TypeAlias = Literal["off", "when_type_omitted", "explicit"]
"""The way in which a model can fork: not at all, by omitting the type, or with the type `fork`."""


@final
@frozen(kw_only=True)
class Caller:
    """The agent that makes the call."""

    depth: int = 0
    """The number of agents above it; 0 for the main agent."""
    is_main: bool = True
    """True if it is the main agent."""
    is_fork: bool = False
    has_fork_tag: bool = False
    """True if its conversation contains the first message of a fork: a second check, in case `is_fork` is lost."""
    is_teammate: bool = False
    has_team_context: bool = False
    """True if it leads or belongs to `Teams.team`."""
    is_user: bool = False
    """True if a person starts the agent by hand; the limit of running agents then does not apply."""


@final
@frozen(kw_only=True)
class DelegationLimits:
    """The limits of delegation, and how much of them is used up."""

    max_depth: int = MAX_DEPTH
    """Maximum number of levels below the main agent."""
    running: int = 0
    """Agents that run now; teammates do not count."""
    max_running: int = MAX_RUNNING
    spawned: int = 0
    """Agents that the session has started so far."""
    max_total: int | None = None
    has_budget: bool = True
    """True if the budget is not used up."""


@final
@frozen(kw_only=True)
class Teams:
    """The team of the session."""

    are_on: bool = False
    """True if teams are switched on and can be used in this session."""
    team: str | None = None
    """Name of the team; None if there is none (yet)."""
    is_implicit: bool = False
    """True if the session is a team by itself, so that a name alone makes a teammate."""


@final
@frozen(kw_only=True)
class Situation:
    """Everything that the routing of a call depends on."""

    definitions: Definitions = attrs.field(factory=Definitions)
    denied_types: Mapping[str, str] = attrs.field(factory=dict)
    """Types that may not be started, each with the rule that denies it; `*` matches any text."""
    allowed_types: tuple[str, ...] | None = None
    """The types that `Agent(a, b)` in the main agent's definition allows; None for all. In other definitions it is
    ignored."""
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
        """True if a call can fork: by omitting the type only if a person watches, and never in coordinator mode."""
        if self.fork == "off" or self.is_coordinator:
            return False
        return self.fork == "explicit" or self.is_interactive

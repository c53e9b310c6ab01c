"""Settings of agents: the section `agents`, with what each of its parts means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, final

import attrs

from greenroom.gateway.config._values import (
    Count,
    Duration,
    Model,
    Money,
    Number,
    PositiveInt,
    Range,
    Short,
    Text,
    Thinking,
    TimeOfDay,
)

SettingSource: TypeAlias = Literal["managed", "user", "project", "local"]
PermissionMode: TypeAlias = Literal["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]

MAIN_AGENT = "main"
"""The agent of a configuration that names none."""


@final
@attrs.frozen(kw_only=True)
class AnnounceConfig:
    """Announcing the result of a sub-agent."""

    mode: Literal["post", "turn", "silent"] = "post"
    """`post` sends the result to the chat and to the requester's session, `turn` only what the requester says about it, `silent`
    only tells the session.
    """
    wake: bool = True
    """True if a result begins a turn of an idle requester; otherwise it waits for the next one."""
    on_unknown: Literal["block", "again"] = "block"
    """What happens when nobody can tell whether a message was sent: it waits for an operator, or is sent again."""


@final
@attrs.frozen(kw_only=True)
class AgentSubagents:
    """Sub-agents of one agent."""

    model: Model | None = None
    """The model of its sub-agents; by default that of `agents.defaults.subagents`, then the caller's."""
    thinking: Thinking | None = None
    """How much its sub-agents think; by default as in `agents.defaults.subagents`, then as the caller."""
    allow_agents: tuple[Text, ...] | None = None
    """Ids of the agents that it may start beside itself; `*` allows all."""
    require_agent_id: bool | None = None
    """True if it has to name the agent that it starts."""
    max_children_per_agent: PositiveInt | None = None
    """Sub-agents of one session at the same time."""
    run_timeout_seconds: Number | None = None
    """Time limit of a run, in seconds, where the call names none; 0 for none."""
    announce: Annotated[AnnounceConfig, Short("mode")] | None = None
    """How results are announced."""


@final
@attrs.frozen(kw_only=True)
class DefaultSubagents:
    """Sub-agents of all agents."""

    model: Model | None = None
    """Their model; by default the caller's."""
    thinking: Thinking | None = None
    """How much they think; by default as the caller."""
    max_concurrent: PositiveInt = 8
    """Width of the lane `subagent`: turns of sub-agents at the same time."""
    archive_after_minutes: Count = 60
    """Minutes from the end of a run until its session is archived; 0 for never."""
    allow_agents: tuple[Text, ...] | None = None
    """For agents that do not say it: the ids that they may start beside themselves; `*` allows all."""
    require_agent_id: bool = False
    """True if a call has to name the agent that it starts."""
    max_spawn_depth: Annotated[int, Range(1, 5)] = 1
    """How deep sub-agents may be nested; with 1, a sub-agent starts none."""
    max_children_per_agent: PositiveInt = 5
    """Sub-agents of one session at the same time."""
    run_timeout_seconds: Number = 0
    """Time limit of a run, in seconds, where the call names none; 0 for none."""
    announce_timeout_ms: PositiveInt = 120_000
    """Milliseconds that the requester has for its words in the mode `turn`."""
    announce: Annotated[AnnounceConfig, Short("mode")] = AnnounceConfig()
    """How results are announced."""
    inherit_from: Literal["caller", "target"] = "caller"
    """Whose model and thinking a sub-agent has where nothing else names one."""


@final
@attrs.frozen(kw_only=True)
class SandboxConfig:
    """Confinement of sessions to the workspace of their agent."""

    mode: Literal["off", "children", "all"] | None = None
    """Which sessions are confined; by default none."""
    exec: Literal["none", "bwrap"] | None = None
    """How commands are confined: not at all, or by bubblewrap."""
    network: bool | None = None
    """True if confined commands reach the network."""
    session_tools_visibility: Literal["spawned", "all"] | None = None
    """Which sessions a confined session sees; by default those that it started."""


@final
@attrs.frozen(kw_only=True)
class ActiveHours:
    """A part of the day."""

    start: TimeOfDay = "00:00"
    """First minute."""
    end: TimeOfDay = "24:00"
    """First minute that no longer belongs to it."""
    timezone: str = ""
    """Time zone; by default `session.timezone`."""


@final
@attrs.frozen(kw_only=True)
class HeartbeatConfig:
    """Turns of the main session that nobody asked for."""

    every: Duration
    """Time between two of them, such as `30m`."""
    active_hours: ActiveHours | None = None
    """The part of the day in which they happen."""
    target: Text = "last"
    """Where replies go: `last`, `none`, or a channel."""
    prompt: str = ""
    """The prompt; by default the built-in one."""
    model: Model | None = None
    """The model; by default the agent's."""
    ack_max_chars: Count = 300
    """Characters beside `HEARTBEAT_OK` up to which a reply is not delivered."""


@final
@attrs.frozen(kw_only=True)
class Amount:
    """An amount of tokens and of money."""

    tokens: PositiveInt | None = None
    """Tokens."""
    usd: Money | None = None
    """US dollars."""


@final
@attrs.frozen(kw_only=True)
class BudgetConfig:
    """What an agent may use."""

    per_day: Amount = Amount()
    """In a day of `session.timezone`, all its sessions together."""
    per_run: Amount = Amount()
    """In a turn of a session; its sub-agents have as much each."""


@final
@attrs.frozen(kw_only=True)
class ToolRules:
    """Which tools are offered."""

    allow: tuple[Text, ...] | None = None
    """Patterns of tools; where it is set, only these are offered."""
    deny: tuple[Text, ...] = ()
    """Patterns of tools that are not offered, whatever `allow` says."""


@final
@attrs.frozen(kw_only=True)
class DefaultAgent:
    """Settings of agents that do not say them."""

    workspace: str = ""
    """Folder that they work in; by default `workspace` beside the configuration file, and the agent's id below it where there are
    several agents. It is made if it is missing.
    """
    model: Model | None = None
    """Their model; by default the newest Sonnet."""
    thinking: Thinking | None = None
    """How much they think; by default as the model does."""
    max_concurrent: PositiveInt = 4
    """Width of the lane `main`: turns of people's sessions at the same time."""
    subagents: DefaultSubagents = DefaultSubagents()
    """Sub-agents of all agents."""
    sandbox: SandboxConfig = SandboxConfig()
    """Confinement of their sessions."""
    heartbeat: HeartbeatConfig | None = None
    """Turns that nobody asked for; none unless it is set."""
    sources: tuple[SettingSource, ...] = ()
    """Settings files that their sessions read."""
    permission_mode: PermissionMode | None = None
    """Permission mode of their sessions; by default `default`."""
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Variables for their commands."""
    budget: BudgetConfig = BudgetConfig()
    """What each of them may use."""


@final
@attrs.frozen(kw_only=True)
class AgentConfig:
    """One agent. What it does not say is taken from `agents.defaults`."""

    id: Text
    """Its id; it is used in lower case, and other characters than letters, digits, `_` and `-` become `-`."""
    name: str = ""
    """Its name, for people."""
    default: bool = False
    """True for the agent of messages that no binding fits; of several agents, exactly one."""
    workspace: str = ""
    """Folder that it works in; it must exist when a session opens."""
    agent_dir: str = ""
    """Folder of its credentials; by default `agents/<id>/agent` in the state folder."""
    model: Model | None = None
    """Its model."""
    thinking: Thinking | None = None
    """How much it thinks."""
    tools: ToolRules = ToolRules()
    """Tools of its sessions."""
    subagents: AgentSubagents = AgentSubagents()
    """Sub-agents that it starts."""
    sandbox: SandboxConfig = SandboxConfig()
    """Confinement of its sessions."""
    heartbeat: HeartbeatConfig | None = None
    """Turns that nobody asked for."""
    sources: tuple[SettingSource, ...] | None = None
    """Settings files that its sessions read."""
    permission_mode: PermissionMode | None = None
    """Permission mode of its sessions."""
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Variables for its commands, beside those of `agents.defaults`."""
    budget: BudgetConfig | None = None
    """What it may use."""


@final
@attrs.frozen(kw_only=True)
class AgentsConfig:
    """The agents of a gateway."""

    defaults: DefaultAgent = DefaultAgent()
    """Settings of agents that do not say them."""
    list: tuple[AgentConfig, ...] = ()
    """The agents; none means one, `main`."""

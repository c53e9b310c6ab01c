"""Settings of the parts of a gateway beside its agents and channels, a class for each section."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias, final

import attrs

from greenroom.gateway.config._agents import ToolRules
from greenroom.gateway.config._values import (
    Count,
    Duration,
    Hour,
    Money,
    Name,
    Number,
    PeerName,
    Port,
    PositiveInt,
    Range,
    Secret,
    Short,
    Text,
)

# --- gateway ----------------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class TokenConfig:
    """A token for programs."""

    name: Name
    """Its name, in the log and in listings."""
    token: Secret
    """The token."""
    scopes: tuple[Literal["read", "write", "approve", "admin"], ...] = ("read",)
    """What it is good for."""
    session_keys: tuple[Text, ...] | None = None
    """The sessions that it is good for; by default all."""


@final
@attrs.frozen(kw_only=True)
class AuthConfig:
    """Credentials of clients."""

    tokens: tuple[TokenConfig, ...] = ()
    """Tokens beside that of the state folder."""


@final
@attrs.frozen(kw_only=True)
class TlsConfig:
    """Encryption of the port."""

    cert: Text
    """File with the certificates."""
    key: Text
    """File with the private key."""


@final
@attrs.frozen(kw_only=True)
class DoorConfig:
    """The port of a gateway, and its stop."""

    port: Port = 18789
    """TCP port; 0 for any free one."""
    bind: Text = "loopback"
    """Address to listen on: `loopback`, or an address of the machine, which requires `tls`."""
    auth: AuthConfig = AuthConfig()
    """Credentials of clients."""
    tls: TlsConfig | None = None
    """Encryption."""
    allowed_hosts: tuple[Text, ...] = ()
    """Names under which clients may ask, beside those of the address."""
    allowed_origins: tuple[Text, ...] = ()
    """Web pages that may connect: scheme, host and port."""
    drain_seconds: Number = 20
    """Seconds that turns have to end when the gateway stops."""
    state: str = ""
    """State folder; by default `~/.greenroom/gateway`."""


# --- bindings and sessions --------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class PeerMatch:
    """One chat."""

    kind: Literal["direct", "group", "channel"]
    """What it is."""
    id: Text
    """Its id in the channel."""


@final
@attrs.frozen(kw_only=True)
class BindingMatch:
    """Messages that a binding fits."""

    channel: Text
    """The channel."""
    account_id: Text | None = None
    """The account; by default all of the channel."""
    peer: PeerMatch | None = None
    """The chat; by default all of the account."""


@final
@attrs.frozen(kw_only=True)
class Binding:
    """The agent of some messages. The first of the most specific bindings decides: chat, account, channel."""

    agent_id: Text
    """The agent."""
    match: BindingMatch
    """Its messages."""


@final
@attrs.frozen(kw_only=True)
class ResetConfig:
    """When a conversation begins anew by itself."""

    mode: Literal["none", "daily", "idle"] = "none"
    """Never, at an hour of the day, or after people have not used it for a while."""
    at_hour: Hour = 4
    """The hour for `daily`, in `session.timezone`."""
    idle_minutes: PositiveInt = 60
    """The minutes for `idle`."""


@final
@attrs.frozen(kw_only=True)
class PingPongConfig:
    """Talk between agents."""

    max_ping_pong_turns: Annotated[int, Range(0, 5)] = 5
    """Replies after the first one, at most."""


@final
@attrs.frozen(kw_only=True)
class MaintenanceConfig:
    """Removal of what is no longer needed."""

    prune_after: Duration = 30 * 86400
    """Time for which archived sessions are kept; at least a day."""


DmScope: TypeAlias = Literal["owner-main", "main", "per-peer", "per-channel-peer", "per-account-channel-peer"]


@final
@attrs.frozen(kw_only=True)
class SessionConfig:
    """Which messages share a conversation, and how long it is kept open."""

    scope: Literal["per-sender", "global"] = "per-sender"
    """`global` for one conversation of everybody."""
    dm_scope: DmScope = "owner-main"
    """Conversations of direct messages: with `owner-main`, owners share the main session, and everybody else has one for each
    channel.
    """
    identity_links: Mapping[str, tuple[PeerName, ...]] = attrs.field(factory=dict)
    """People with several names: a name for each, with `channel:id` of all."""
    reset: Annotated[ResetConfig, Short("mode")] = ResetConfig()
    """When a conversation begins anew by itself."""
    timezone: str = ""
    """Time zone, such as `Europe/Berlin`; by default that of the machine."""
    close_after_minutes: PositiveInt = 10
    """Minutes without use after which a session is closed; the next message opens it again."""
    agent_to_agent: PingPongConfig = PingPongConfig()
    """Talk between agents."""
    maintenance: MaintenanceConfig = MaintenanceConfig()
    """Removal of what is no longer needed."""


@final
@attrs.frozen(kw_only=True)
class RestartConfig:
    """What happens to turns that the end of the process cut."""

    resume: Literal["all", "children", "none"] = "all"
    """Whose turns are resumed."""


# --- messages and tools -----------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class QueueConfig:
    """Messages that arrive during a turn."""

    mode: Literal["steer", "followup", "collect", "steer-backlog", "interrupt"] = "steer"
    """`steer` adds them to the turn, `followup` and `collect` keep them for the next one, one by one or together, `interrupt` ends
    the turn. `steer-backlog` is `steer`.
    """
    debounce_ms: Count = 1000
    """Milliseconds of silence before kept messages are handed in."""
    cap: PositiveInt = 20
    """Messages that are kept."""
    drop: Literal["summarize", "old", "new"] = "summarize"
    """What happens to more: the oldest become a line of a summary, the oldest are dropped, or the new one is refused."""


@final
@attrs.frozen(kw_only=True)
class GroupChatConfig:
    """Messages in groups."""

    mention_patterns: tuple[Text, ...] = ()
    """Names by which the agent is addressed, beside its own."""
    history_limit: Count = 50
    """Messages that are kept as context until the agent is addressed."""


@final
@attrs.frozen(kw_only=True)
class MessagesConfig:
    """Messages of chats."""

    queue: Annotated[QueueConfig, Short("mode")] = QueueConfig()
    """Messages that arrive during a turn."""
    group_chat: GroupChatConfig = GroupChatConfig()
    """Messages in groups."""
    prefix: str = ""
    """Text in front of each reply."""


@final
@attrs.frozen(kw_only=True)
class SubagentTools:
    """Tools of sub-agents."""

    tools: ToolRules = ToolRules()  # noqa: RUF009  frozen
    """Which are offered, of those that the agent has."""


@final
@attrs.frozen(kw_only=True)
class SessionTools:
    """The session tools."""

    visibility: Literal["self", "tree", "agent", "all"] = "agent"
    """Which sessions they reach: the caller's own, what descends from it, those of its agent, or all."""


@final
@attrs.frozen(kw_only=True)
class AgentToAgent:
    """Access to sessions of other agents."""

    enabled: bool = False
    """True if the session tools reach sessions of other agents."""
    allow: tuple[Text, ...] = ("*",)
    """Ids of the agents that take part, on both sides."""


_GUARDED = ToolRules(deny=("group:runtime", "group:automation", "write", "edit"))


@final
@attrs.frozen(kw_only=True)
class OriginTools:
    """Tools of sessions that others than owners write to."""

    group: ToolRules = _GUARDED
    """Those of groups."""
    people: ToolRules = _GUARDED
    """Those of people's direct messages."""


@final
@attrs.frozen(kw_only=True)
class ToolsConfig:
    """Which tools are offered. A denial always wins, and each list can only take tools away."""

    allow: tuple[Text, ...] | None = None
    """Patterns of tools; where it is set, only these are offered."""
    deny: tuple[Text, ...] = ()
    """Patterns of tools that are not offered."""
    vocabulary: Literal["sessions", "agent"] = "sessions"
    """Whether sessions have the session tools, or `Agent`, `SendMessage` and the tools of teams."""
    subagents: SubagentTools = SubagentTools()
    """Tools of sub-agents."""
    sessions: SessionTools = SessionTools()
    """The session tools."""
    agent_to_agent: AgentToAgent = AgentToAgent()
    """Access to sessions of other agents."""
    by_origin: OriginTools = OriginTools()
    """Tools of sessions that others than owners write to."""


# --- models -----------------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class CostConfig:
    """US dollars for a million tokens of each kind."""

    input: Money
    """Tokens of requests."""
    output: Money
    """Tokens of answers."""
    cache_read: Money = Decimal(0)
    """Tokens read from the cache."""
    cache_write: Money = Decimal(0)
    """Tokens written to the cache."""


@final
@attrs.frozen(kw_only=True)
class ProviderModel:
    """A model of a provider."""

    id: Text
    """Its exact name."""
    name: str = ""
    """Its name, for people."""
    cost: CostConfig | None = None
    """Its price; without one, no cost is shown."""


@final
@attrs.frozen(kw_only=True)
class ProviderConfig:
    """A provider of models."""

    base_url: str = ""
    """Where it is; by default its own address."""
    api_key: Secret | None = None
    """Its key, where no agent has one."""
    models: tuple[ProviderModel, ...] = ()
    """Models, for their prices; others may be used as well."""


@final
@attrs.frozen(kw_only=True)
class ModelsConfig:
    """Models, and where they are."""

    providers: Mapping[str, ProviderConfig] = attrs.field(factory=dict)
    """Providers by their names; `anthropic` is always there."""
    aliases: Mapping[str, Text] = attrs.field(factory=dict)
    """Names of your own for models."""

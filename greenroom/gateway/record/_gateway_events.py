"""Events of the gateway's journal: everything between its sessions and the world.

Times are the wall clock's: after a restart, what is past is done at once. Texts of models and people are in it only where nothing else
keeps them; secrets never are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, final

import attrs

from greenroom.core import OneOf
from greenroom.gateway.record._run_events import RUN_EVENTS, GatewayEvent
from greenroom.session import EVENTS as SESSION_EVENTS

# --- the process ------------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class GatewayBegan(GatewayEvent):
    """A process has begun to run the gateway; what an earlier one had open is closed."""

    kind: ClassVar[str] = "gateway.begin"

    process: int
    """Id of the process."""


@final
@attrs.frozen(kw_only=True)
class GatewayEnded(GatewayEvent):
    """The gateway was stopped in order."""

    kind: ClassVar[str] = "gateway.end"

    why: str
    """The reason."""


@final
@attrs.frozen(kw_only=True)
class GatewaySnapshot(GatewayEvent):
    """The state that all earlier events add up to; they are in another file."""

    kind: ClassVar[str] = "gateway.snapshot"

    state: Mapping[str, Any]
    """The state, as a JSON value."""
    former: str = ""
    """Name of the file that holds the earlier events."""
    skipped_lines: int = 0
    """Lines of the former file that were damaged: what they said is unknown."""


@final
@attrs.frozen(kw_only=True)
class ConfigLoaded(GatewayEvent):
    """A configuration is in force."""

    kind: ClassVar[str] = "config.loaded"

    digest: str
    """Digest of its effective values."""
    warnings: int = 0
    """Number of values that were replaced."""


# --- sessions ---------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _SessionEvent(GatewayEvent):
    session: str
    """Key of the session."""


@final
@attrs.frozen(kw_only=True)
class SessionMade(_SessionEvent):
    """A session is known under its key."""

    kind: ClassVar[str] = "session.made"

    session_id: str
    """Id of its run folder."""
    spawned_by: str = ""
    """Key of the session that spawned it; empty for none."""
    label: str = ""
    """Its label."""
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    """What differs for this session from what the configuration says."""


@final
@attrs.frozen(kw_only=True)
class SessionOpened(_SessionEvent):
    """A session was opened."""

    kind: ClassVar[str] = "session.opened"


@final
@attrs.frozen(kw_only=True)
class SessionClosed(_SessionEvent):
    """A session was closed; it is opened for its next message."""

    kind: ClassVar[str] = "session.closed"

    why: str = ""
    """The reason."""


@final
@attrs.frozen(kw_only=True)
class SessionReset(_SessionEvent):
    """A key has a new, empty session."""

    kind: ClassVar[str] = "session.reset"

    session_id: str
    """Id of the new run folder."""
    transcript: str = ""
    """Name that the former transcript has in the archive."""
    why: str = ""
    """The reason."""


@final
@attrs.frozen(kw_only=True)
class SessionPatched(_SessionEvent):
    """Settings of a session were changed."""

    kind: ClassVar[str] = "session.patched"

    settings: Mapping[str, Any] = attrs.field(factory=dict)
    """The changed ones; None takes one away."""
    label: str | None = None
    """The new label; None for the old one."""


@final
@attrs.frozen(kw_only=True)
class SessionArchived(_SessionEvent):
    """A session takes no message any more; its files are kept."""

    kind: ClassVar[str] = "session.archived"

    transcript: str = ""
    """Name of its transcript in the archive."""
    why: str = ""
    """The reason."""


@final
@attrs.frozen(kw_only=True)
class SessionRemoved(_SessionEvent):
    """The files of an archived session are gone."""

    kind: ClassVar[str] = "session.removed"


# --- channels and people ----------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _ChannelEvent(GatewayEvent):
    channel: str
    """Name of the channel."""
    account: str = ""
    """Its account."""


@final
@attrs.frozen(kw_only=True)
class ChannelConnected(_ChannelEvent):
    """An account of a channel is connected."""

    kind: ClassVar[str] = "channel.connected"


@final
@attrs.frozen(kw_only=True)
class ChannelLost(_ChannelEvent):
    """An account of a channel lost its connection."""

    kind: ClassVar[str] = "channel.lost"

    why: str = ""
    """The reason."""


@final
@attrs.frozen(kw_only=True)
class ChannelCursor(_ChannelEvent):
    """Everything up to a mark of the channel is durable here."""

    kind: ClassVar[str] = "channel.cursor"

    cursor: str
    """The mark."""


@attrs.frozen(kw_only=True)
class _PairingEvent(GatewayEvent):
    channel: str
    """Name of the channel."""
    account: str = ""
    """Its account."""
    sender: str
    """Id of the person."""


@final
@attrs.frozen(kw_only=True)
class PairingAsked(_PairingEvent):
    """A stranger was given a code."""

    kind: ClassVar[str] = "pairing.asked"

    digest: str
    """Digest of the code."""
    expires_s: float
    """When the code expires."""
    item: str = ""
    """Id of the message that asked for it."""


@final
@attrs.frozen(kw_only=True)
class PairingApproved(_PairingEvent):
    """A person may write direct messages to this account."""

    kind: ClassVar[str] = "pairing.approved"

    who: str
    """Who approved."""
    item: str = ""
    """Id of the message with the command; empty if there was none."""


@final
@attrs.frozen(kw_only=True)
class PairingRemoved(_PairingEvent):
    """A person, or an open code, was removed."""

    kind: ClassVar[str] = "pairing.removed"

    who: str = ""
    """Who removed it; empty if the code expired."""


@final
@attrs.frozen(kw_only=True)
class ApprovalAsked(GatewayEvent):
    """A call waits for somebody's permission."""

    kind: ClassVar[str] = "approval.asked"

    approval: str
    """Its id."""
    session: str
    """Key of the session that asks."""
    tool: str
    """The tool."""
    expires_s: float
    """When it counts as denied."""


@final
@attrs.frozen(kw_only=True)
class ApprovalAnswered(GatewayEvent):
    """A question about a call has its answer."""

    kind: ClassVar[str] = "approval.answered"

    approval: str
    """Its id."""
    answer: Annotated[str, OneOf("once", "always", "deny")]
    """The answer."""
    who: str
    """Who answered."""


# --- the clock, and calls from outside --------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _JobEvent(GatewayEvent):
    job: str
    """Id of the job."""


@final
@attrs.frozen(kw_only=True)
class CronAdded(_JobEvent):
    """A job of the clock was added."""

    kind: ClassVar[str] = "cron.added"

    job_spec: Mapping[str, Any]
    """When and what."""


@final
@attrs.frozen(kw_only=True)
class CronChanged(_JobEvent):
    """A job of the clock was changed."""

    kind: ClassVar[str] = "cron.changed"

    job_spec: Mapping[str, Any]
    """When and what from now on."""


@final
@attrs.frozen(kw_only=True)
class CronRemoved(_JobEvent):
    """A job of the clock was removed."""

    kind: ClassVar[str] = "cron.removed"

    who: str = ""
    """Who removed it."""


@final
@attrs.frozen(kw_only=True)
class CronDue(_JobEvent):
    """A job is due: its run follows."""

    kind: ClassVar[str] = "cron.due"

    planned_s: float
    """The time that it is for."""
    run: str = ""
    """Id of the run."""


@final
@attrs.frozen(kw_only=True)
class CronEnded(_JobEvent):
    """The run of a job has ended, or was skipped."""

    kind: ClassVar[str] = "cron.ended"

    planned_s: float
    """The time that it was for."""
    outcome: str
    """What became of it."""


@final
@attrs.frozen(kw_only=True)
class RpcDone(GatewayEvent):
    """A call that changes something is done; the same call again has the same answer."""

    kind: ClassVar[str] = "rpc.done"

    token: str
    """Name of the caller's token."""
    key: str
    """The caller's key of the call."""
    digest: str
    """Digest of the method and its parameters."""
    answer: Mapping[str, Any] = attrs.field(factory=dict)
    """The answer."""


OWN_EVENTS: Final = (
    GatewayBegan,
    GatewayEnded,
    GatewaySnapshot,
    ConfigLoaded,
    SessionMade,
    SessionOpened,
    SessionClosed,
    SessionReset,
    SessionPatched,
    SessionArchived,
    SessionRemoved,
    *RUN_EVENTS,
    ChannelConnected,
    ChannelLost,
    ChannelCursor,
    PairingAsked,
    PairingApproved,
    PairingRemoved,
    ApprovalAsked,
    ApprovalAnswered,
    CronAdded,
    CronChanged,
    CronRemoved,
    CronDue,
    CronEnded,
    RpcDone,
)
"""The events that are the gateway's own."""
EVENTS: Final = (*SESSION_EVENTS, *OWN_EVENTS)
"""Every event that the gateway's journal can hold: its actors are those of any session."""

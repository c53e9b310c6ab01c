"""Events of what sessions are given to do, of their runs, and of what is told about them.

Times are the wall clock's: after a restart, what is past is done at once. Texts of models and people are in it only where nothing else
keeps them; secrets never are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, final

import attrs

from greenroom.actors import EndState
from greenroom.core import Event, OneOf
from greenroom.gateway.record._machines import EndCause, SendResult


@attrs.frozen(kw_only=True)
class GatewayEvent(Event):
    """A fact of the gateway's journal."""

    at_s: float
    """Wall clock: seconds since 1970."""


# --- what comes in ----------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _InboundEvent(GatewayEvent):
    item: str
    """Id of the item in the inbox store."""


@final
@attrs.frozen(kw_only=True)
class InboundAccepted(_InboundEvent):
    """An item for a session is in the inbox store."""

    kind: ClassVar[str] = "inbound.accepted"

    session: str
    """Key of the session."""
    route: Mapping[str, Any] = attrs.field(factory=dict)
    """Where the answer goes."""
    run: str = ""
    """The run that it begins; empty for none."""
    why: str = ""
    """The reason for which its sender may write; empty for items of the gateway's own."""


@final
@attrs.frozen(kw_only=True)
class InboundTaken(_InboundEvent):
    """A turn has taken up an item."""

    kind: ClassVar[str] = "inbound.taken"


@final
@attrs.frozen(kw_only=True)
class InboundSettled(_InboundEvent):
    """An item needs nothing any more."""

    kind: ClassVar[str] = "inbound.settled"

    why: str
    """What became of it."""


@final
@attrs.frozen(kw_only=True)
class InboundRefused(GatewayEvent):
    """A message was not accepted; its text is not kept."""

    kind: ClassVar[str] = "inbound.refused"

    route: Mapping[str, Any] = attrs.field(factory=dict)
    """Where it came from."""
    why: str
    """The reason."""


# --- runs -------------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _RunEvent(GatewayEvent):
    run: str
    """Id of the run."""


@final
@attrs.frozen(kw_only=True)
class RunRegistered(_RunEvent):
    """A run of a session was accepted."""

    kind: ClassVar[str] = "run.registered"

    session: str
    """Key of the session in which it runs."""
    session_id: str
    """Id of that session's run folder."""
    requester: str = ""
    """Key of the session that asked for it; empty for a person or the clock."""
    route: Mapping[str, Any] = attrs.field(factory=dict)
    """Where its result goes: the route of the message that led to it."""
    task: str
    """What it is to do."""
    label: str = ""
    """Its label."""
    cleanup: Annotated[str, OneOf("keep", "delete")] = "keep"
    """`delete`: its session is archived once its result is delivered."""
    announce: Annotated[str, OneOf("post", "turn", "silent", "none")] = "post"
    """How its result is told; `none`: its caller waits for it."""
    limit_s: float = 0.0
    """Limit of its working time; 0 for none."""


@final
@attrs.frozen(kw_only=True)
class RunQueued(_RunEvent):
    """A run waits for a place of its lane."""

    kind: ClassVar[str] = "run.queued"

    lane: str
    """The lane."""


@final
@attrs.frozen(kw_only=True)
class RunBegan(_RunEvent):
    """A run has a place and works; again after the end of a process that had cut it."""

    kind: ClassVar[str] = "run.began"


@final
@attrs.frozen(kw_only=True)
class RunEnded(_RunEvent):
    """A run has ended."""

    kind: ClassVar[str] = "run.ended"

    state: EndState
    """`completed`, `failed` or `killed`."""
    cause: Annotated[str, OneOf(*EndCause)]
    """The kind of cause."""
    who: str = ""
    """Who ended it; empty if it ended by itself."""
    error: str = ""
    """The error, or the reason of the stop."""
    archive_at_s: float = 0.0
    """When its session is archived, once the result is delivered; 0 for never."""


# --- what goes out ----------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class CompletionBegan(_RunEvent):
    """The text about the end of a run is being made."""

    kind: ClassVar[str] = "completion.composing"


@final
@attrs.frozen(kw_only=True)
class CompletionComposed(_RunEvent):
    """The text about the end of a run is final."""

    kind: ClassVar[str] = "completion.composed"

    text: str
    """The text; empty if nothing is to be shown."""
    is_skipped: bool = False
    """True if nothing is to be shown."""
    why: str = ""
    """Why nothing is shown."""


@attrs.frozen(kw_only=True)
class _DeliveryEvent(GatewayEvent):
    delivery: str
    """Id of the delivery: `run:` and the id of the run, or the id of the turn and of the line that is told."""


@final
@attrs.frozen(kw_only=True)
class DeliveryDue(_DeliveryEvent):
    """A text is to be sent, or sent again after it was blocked."""

    kind: ClassVar[str] = "delivery.due"

    session: str = ""
    """Key of the session; empty for a completion."""
    route: Mapping[str, Any] = attrs.field(factory=dict)
    """Where it goes; empty for a completion."""
    text: str = ""
    """The text; empty for a completion."""
    who: str = ""
    """Who asked for another try."""
    call: str = ""
    """Id of the message that it answers: that is done, and does nothing if it comes in again. Empty for none."""


@final
@attrs.frozen(kw_only=True)
class DeliveryBegan(_DeliveryEvent):
    """A part is handed to the channel."""

    kind: ClassVar[str] = "delivery.began"

    part: int
    """Its number, from 1."""
    parts: int
    """Number of parts."""
    key: str
    """Its key, the same at each try."""
    digest: str
    """Digest of its bytes, the same at each try."""


@final
@attrs.frozen(kw_only=True)
class DeliveryEnded(_DeliveryEvent):
    """The result of a try to send a part is known, or known to be unknown."""

    kind: ClassVar[str] = "delivery.ended"

    part: int
    """Its number; 0 if no channel gets the text, because the requester's session has it or has told it."""
    result: Annotated[str, OneOf(*SendResult)]
    """The result."""
    why: str = ""
    """The reason."""
    wait_s: float = 0.0
    """The wait that the channel asked for; 0 for none."""


@final
@attrs.frozen(kw_only=True)
class DeliveryBlocked(_DeliveryEvent):
    """A text is not tried any more, and kept."""

    kind: ClassVar[str] = "delivery.blocked"

    why: str
    """The reason."""


@final
@attrs.frozen(kw_only=True)
class DeliveryDismissed(_DeliveryEvent):
    """A blocked text was given up."""

    kind: ClassVar[str] = "delivery.dismissed"

    who: str
    """Who gave it up."""


RUN_EVENTS: Final = (
    InboundAccepted,
    InboundTaken,
    InboundSettled,
    InboundRefused,
    RunRegistered,
    RunQueued,
    RunBegan,
    RunEnded,
    CompletionBegan,
    CompletionComposed,
    DeliveryDue,
    DeliveryBegan,
    DeliveryEnded,
    DeliveryBlocked,
    DeliveryDismissed,
)

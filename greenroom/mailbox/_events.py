"""Events of a mailbox."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

from greenroom.core import Event, Level, OneOf, frozen
from greenroom.mailbox._envelope import DeadReason, Lane


@frozen(kw_only=True)
class _MessageEvent(Event):
    level: ClassVar[Level] = Level.FULL

    msg: int
    """Number of the message in its mailbox."""
    lane: Annotated[str, OneOf(*Lane)]
    """`now`, `next` or `later`."""


@final
@frozen(kw_only=True)
class MessagePut(_MessageEvent):
    """The mailbox accepted a message."""

    kind: ClassVar[str] = "message.put"

    type: str
    """Class name of the message; its content is not recorded."""
    is_counted: bool = True
    """True if it counts against the capacity; also true, whatever its lane, in journals without this field."""


@final
@frozen(kw_only=True)
class MessageLeased(_MessageEvent):
    """A message was leased to the owner; it still belongs to the mailbox."""

    kind: ClassVar[str] = "message.leased"

    is_picked: bool = False
    """True if it was selected from the waiting messages, so that it may have overtaken some of them."""


@final
@frozen(kw_only=True)
class MessageAcked(_MessageEvent):
    """The owner acknowledged a message."""

    kind: ClassVar[str] = "message.acked"


@final
@frozen(kw_only=True)
class MessagePostponed(_MessageEvent):
    """A leased message was set aside until its owner changes state."""

    kind: ClassVar[str] = "message.postponed"


@final
@frozen(kw_only=True)
class MessageReturned(_MessageEvent):
    """A leased or postponed message was returned to the front of its lane."""

    kind: ClassVar[str] = "message.returned"

    attempts: int
    """Number of turns that started to process it and did not finish; the third makes it poison."""


@final
@frozen(kw_only=True)
class MessageDied(_MessageEvent):
    """A message became a dead letter."""

    kind: ClassVar[str] = "message.died"
    level: ClassVar[Level] = Level.LIFECYCLE
    fails: ClassVar[str] = "reason"

    type: str
    """Class name of the message; its content is not recorded."""
    reason: Annotated[str, OneOf(*DeadReason)]
    """The reason: a value of `DeadReason`, such as `full`, `aborted` or `withdrawn`."""
    was_put: bool
    """False for a message that was refused and never was in the mailbox."""


EVENTS: Final = (MessagePut, MessageLeased, MessageAcked, MessagePostponed, MessageReturned, MessageDied)

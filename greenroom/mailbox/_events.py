"""What a mailbox puts on record: the facts about a message."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, final

import attrs

from greenroom.core import Event, Level, OneOf, Recorder
from greenroom.mailbox._envelope import DeadReason, Envelope, Lane


@attrs.frozen(kw_only=True)
class _MessageEvent(Event):
    level: ClassVar[Level] = Level.FULL

    msg: int
    """Number of the message in its mailbox."""
    lane: Annotated[str, OneOf(*Lane)]
    """`now`, `next` or `later`."""


@final
@attrs.frozen(kw_only=True)
class MessagePut(_MessageEvent):
    """The mailbox accepted a message."""

    kind: ClassVar[str] = "message.put"

    type: str
    """Class name of the message; its content is not recorded."""
    is_counted: bool = True
    """Whether it takes a place of the capacity; also true in journals that do not say, whatever its lane."""


@final
@attrs.frozen(kw_only=True)
class MessageLeased(_MessageEvent):
    """A message was handed to the owner and is still the mailbox's."""

    kind: ClassVar[str] = "message.leased"

    is_picked: bool = False
    """Chosen by its class from among those that wait, so that it may have overtaken some of them."""


@final
@attrs.frozen(kw_only=True)
class MessageAcked(_MessageEvent):
    """The owner is done with a message."""

    kind: ClassVar[str] = "message.acked"


@final
@attrs.frozen(kw_only=True)
class MessagePostponed(_MessageEvent):
    """A leased message waits outside its lane for another state of its owner."""

    kind: ClassVar[str] = "message.postponed"


@final
@attrs.frozen(kw_only=True)
class MessageReturned(_MessageEvent):
    """A leased or postponed message went back to the front of its lane."""

    kind: ClassVar[str] = "message.returned"

    attempts: int
    """Turns that had it and did not finish; three make it poison."""


@final
@attrs.frozen(kw_only=True)
class MessageDied(_MessageEvent):
    """A message became a dead letter."""

    kind: ClassVar[str] = "message.died"
    level: ClassVar[Level] = Level.LIFECYCLE
    fails: ClassVar[str] = "reason"

    type: str
    """Class name of the message; its content is not recorded."""
    reason: Annotated[str, OneOf(*DeadReason)]
    """Why, such as `full`, `aborted` or `withdrawn`: a value of `DeadReason`."""
    was_put: bool
    """False for a message that was refused, so that it was never in the mailbox."""


EVENTS: Final = (MessagePut, MessageLeased, MessageAcked, MessagePostponed, MessageReturned, MessageDied)


# `_value_` is what `value` returns, through one attribute: before Python 3.12 that one costs as much as the record itself.


def record_put(recorder: Recorder, owner: str, incarnation: int, envelope: Envelope[Any]) -> None:
    """Record that a message was accepted."""
    name = type(envelope.message).__name__
    fields = (envelope.parent, envelope.number, envelope.lane._value_, name, envelope.is_counted)
    recorder.emit_fields(MessagePut, owner, incarnation, *fields)


def record_leased(
    recorder: Recorder, owner: str, incarnation: int, envelope: Envelope[Any], *, is_picked: bool = False
) -> None:
    """Record that a message was handed out."""
    fields = (envelope.parent, envelope.number, envelope.lane._value_, is_picked)
    recorder.emit_fields(MessageLeased, owner, incarnation, *fields)


def record_acked(recorder: Recorder, owner: str, incarnation: int, envelope: Envelope[Any]) -> None:
    """Record that the owner is done with a message."""
    recorder.emit_fields(MessageAcked, owner, incarnation, 0, envelope.number, envelope.lane._value_)


def record_postponed(recorder: Recorder, owner: str, incarnation: int, envelope: Envelope[Any]) -> None:
    """Record that a message was set aside."""
    recorder.emit_fields(MessagePostponed, owner, incarnation, 0, envelope.number, envelope.lane._value_)


def record_returned(recorder: Recorder, owner: str, incarnation: int, envelope: Envelope[Any], parent: int) -> None:
    """Record that a message went back to its lane."""
    fields = (parent, envelope.number, envelope.lane._value_, envelope.attempts)
    recorder.emit_fields(MessageReturned, owner, incarnation, *fields)


def record_died(
    recorder: Recorder, owner: str, incarnation: int, envelope: Envelope[Any], reason: DeadReason, parent: int
) -> None:
    """Record that a message became a dead letter."""
    name = type(envelope.message).__name__
    fields = (parent, envelope.number, envelope.lane._value_, name, reason.value, True)
    recorder.emit_fields(MessageDied, owner, incarnation, *fields)

"""The kinds of frames: what crosses a link between two nodes.

A frame is `[number, kind, field, ...]` in JSON, its fields in the order of its class. Rule: orders that end or withdraw something travel
on the control channel, which is never behind data. This module must not know of numbers, connections or actors.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, final

import attrs
from attrs.validators import instance_of, optional

from greenroom.core import frozen

_text: Final = instance_of(str)
_MAX_NUMBER: Final = 2**53


def _count(_instance: object, attribute: attrs.Attribute[int], value: object) -> None:
    """Refuse what is not a whole number from 0 on."""
    if type(value) is not int or not 0 <= value < _MAX_NUMBER:
        raise TypeError(f"{attribute.name} must be a whole number from 0 on")


def _seconds(_instance: object, attribute: attrs.Attribute[float], value: object) -> None:
    """Refuse what is not a finite number of seconds from 0 on."""
    if type(value) not in (int, float) or not 0 <= float(value) < _MAX_NUMBER:  # type: ignore[arg-type]
        raise TypeError(f"{attribute.name} must be a number of seconds from 0 on")


class ChannelName(StrEnum):
    """The two channels of a link; each has numbers and a window of its own."""

    CONTROL = "control"
    DATA = "data"


@frozen
class LinkFrame:
    """One frame; subclasses add fields."""

    kind: ClassVar[str] = ""
    """Its word on the wire."""
    channel: ClassVar[ChannelName] = ChannelName.DATA
    is_refusable: ClassVar[bool] = False
    """True if it is refused while the window is full. All others answer something, or are one for each call of a limited number."""


@final
@frozen
class TellFrame(LinkFrame):
    """A message for an actor."""

    kind: ClassVar[str] = "tell"
    is_refusable: ClassVar[bool] = True

    to: int = attrs.field(validator=_count)
    """The actor, as the receiver of the frame has numbered it."""
    lane: str = attrs.field(validator=_text)
    value: Any = None
    """The message, as the codec wrote it."""
    size: int = attrs.field(default=0, validator=_count)
    """Its size for the mailbox, in bytes, as the sender says."""
    parent: int = attrs.field(default=0, validator=_count)
    """Number of the event in the journal of the sender that led to it; 0 if unknown."""


@final
@frozen
class AskFrame(LinkFrame):
    """A message that wants an answer."""

    kind: ClassVar[str] = "ask"
    is_refusable: ClassVar[bool] = True

    ask: int = attrs.field(validator=_count)
    """Number of the ask, given by the asker."""
    to: int = attrs.field(validator=_count)
    lane: str = attrs.field(validator=_text)
    left_s: float = attrs.field(validator=_seconds)
    """Time until it expires, in seconds."""
    value: Any = None
    size: int = attrs.field(default=0, validator=_count)
    cascade: bool = attrs.field(default=False, validator=instance_of(bool))
    parent: int = attrs.field(default=0, validator=_count)


@final
@frozen
class AnswerFrame(LinkFrame):
    """The end of an ask."""

    kind: ClassVar[str] = "answer"

    ask: int = attrs.field(validator=_count)
    error: str = attrs.field(default="", validator=_text)
    """Name of the class of the error; empty if there was an answer."""
    why: str = attrs.field(default="", validator=_text)
    """Text of the error."""
    value: Any = None
    """The answer, as the codec wrote it."""


@final
@frozen
class CancelFrame(LinkFrame):
    """Withdraws an ask."""

    kind: ClassVar[str] = "cancel"
    channel: ClassVar[ChannelName] = ChannelName.CONTROL

    ask: int = attrs.field(validator=_count)


@final
@frozen
class WatchFrame(LinkFrame):
    """Watches an actor for its end."""

    kind: ClassVar[str] = "watch"

    watch: int = attrs.field(validator=_count)
    """Number of the watch, given by the watcher."""
    to: int = attrs.field(validator=_count)


@final
@frozen
class UnwatchFrame(LinkFrame):
    """Withdraws a watch."""

    kind: ClassVar[str] = "unwatch"
    channel: ClassVar[ChannelName] = ChannelName.CONTROL

    watch: int = attrs.field(validator=_count)


@final
@frozen
class DownFrame(LinkFrame):
    """The end of a watched actor."""

    kind: ClassVar[str] = "down"

    watch: int = attrs.field(validator=_count)
    state: str = attrs.field(validator=_text)
    incarnation: int = attrs.field(validator=_count)
    who: str = attrs.field(default="", validator=_text)
    why: str = attrs.field(default="", validator=_text)
    error: str = attrs.field(default="", validator=_text)
    """Class and text of the error, if it failed."""
    parent: int = attrs.field(default=0, validator=_count)


@final
@frozen
class AbortFrame(LinkFrame):
    """Orders the abort of the present turn."""

    kind: ClassVar[str] = "abort"
    channel: ClassVar[ChannelName] = ChannelName.CONTROL

    abort: int = attrs.field(validator=_count)
    """Number of the order, given by its sender."""
    to: int = attrs.field(validator=_count)
    why: str = attrs.field(default="", validator=_text)


@final
@frozen
class AbortedFrame(LinkFrame):
    """The answer to an abort."""

    kind: ClassVar[str] = "aborted"

    abort: int = attrs.field(validator=_count)
    status: str = attrs.field(validator=_text)


@final
@frozen
class StopFrame(LinkFrame):
    """Orders an actor to stop after its present turn."""

    kind: ClassVar[str] = "stop"
    channel: ClassVar[ChannelName] = ChannelName.CONTROL

    to: int = attrs.field(validator=_count)
    grace_s: float | None = attrs.field(default=None, validator=optional(_seconds))
    why: str = attrs.field(default="", validator=_text)


@final
@frozen
class KillFrame(LinkFrame):
    """Orders the end of an actor."""

    kind: ClassVar[str] = "kill"
    channel: ClassVar[ChannelName] = ChannelName.CONTROL

    to: int = attrs.field(validator=_count)
    why: str = attrs.field(default="", validator=_text)


@final
@frozen
class RefusedFrame(LinkFrame):
    """A message that was accepted over here and could not be delivered over there."""

    kind: ClassVar[str] = "refused"
    channel: ClassVar[ChannelName] = ChannelName.CONTROL

    tell: int = attrs.field(validator=_count)
    """Number of its frame on the data channel."""
    to: int = attrs.field(validator=_count)
    why: str = attrs.field(validator=_text)
    """`no_actor`, `ended` or `unreadable`."""


@final
@frozen
class CreditFrame(LinkFrame):
    """Places that the mailbox of an actor keeps for the receiver of this frame, in addition to those it has."""

    kind: ClassVar[str] = "credit"
    channel: ClassVar[ChannelName] = ChannelName.CONTROL

    to: int = attrs.field(validator=_count)
    places: int = attrs.field(validator=_count)


@final
@frozen
class FindFrame(LinkFrame):
    """Looks for a published actor."""

    kind: ClassVar[str] = "find"

    find: int = attrs.field(validator=_count)
    """Number of the search, given by its sender."""
    path: str = attrs.field(validator=_text)


@final
@frozen
class FoundFrame(LinkFrame):
    """The answer to a search."""

    kind: ClassVar[str] = "found"

    find: int = attrs.field(validator=_count)
    to: int = attrs.field(validator=_count)
    """The number under which it is reached; 0 if nothing is published under that path."""
    path: str = attrs.field(default="", validator=_text)
    """Its path in the tree over there."""
    places: int = attrs.field(default=0, validator=_count)
    """Its credit at first."""


FRAMES: Final[tuple[type[LinkFrame], ...]] = (
    TellFrame,
    AskFrame,
    AnswerFrame,
    CancelFrame,
    WatchFrame,
    UnwatchFrame,
    DownFrame,
    AbortFrame,
    AbortedFrame,
    StopFrame,
    KillFrame,
    RefusedFrame,
    CreditFrame,
    FindFrame,
    FoundFrame,
)
FRAME_OF: Final[Mapping[str, type[LinkFrame]]] = {each.kind: each for each in FRAMES}

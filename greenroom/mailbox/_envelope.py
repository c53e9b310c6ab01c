"""Envelopes, lanes, and the vocabulary for delivery results and dead letters."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Generic, TypeVar, final

import attrs

if TYPE_CHECKING:  # it brings Trio, which the events of mailboxes do not need
    from greenroom.waiting import ReplySlot

M = TypeVar("M")


class Lane(StrEnum):
    """The queue of a message. First in, first out within a lane; there is no order across lanes."""

    NOW = "now"
    """Control and steering: served first, outside the capacity. It aborts nothing by itself."""
    NEXT = "next"
    """Ordinary messages."""
    LATER = "later"
    """Served when `next` is empty, and once after every 16 of `next`."""


# Once per message each: reading a member from its class costs 90 ns before Python 3.12.
NOW: Final = Lane.NOW
NEXT: Final = Lane.NEXT


class Delivery(StrEnum):
    """The immediate result of a send."""

    ACCEPTED = "accepted"
    FULL = "full"
    """The mailbox is full. The sender decides: drop the message, retry later, or report it."""
    CLOSED = "closed"
    """The owner has ended or is ending."""


class DeadReason(StrEnum):
    """Why a message was never fully processed."""

    NO_ACTOR = "no_actor"
    """No actor has that address."""
    ENDED = "ended"
    """Its receiver has ended, before or after the message reached its mailbox."""
    CLOSED = "closed"
    """The mailbox was closed with the message in it."""
    FULL = "full"
    """The mailbox was full."""
    ABORTED = "aborted"
    """Its turn was aborted, and `unfinished` does not keep the message."""
    FAILED = "failed"
    """Its turn failed, and `unfinished` does not keep the message."""
    POISON = "poison"
    """Too many turns started to process it and did not finish."""
    EXPIRED = "expired"
    """The asker no longer waits for the answer."""
    LATE_REPLY = "late_reply"
    """It is the answer to an ask that was already over."""
    WITHDRAWN = "withdrawn"
    """Its sender took it back before it was processed: a cancelled asker, a timer, a watch."""
    STASH_OVERFLOW = "stash_overflow"
    """It was postponed while the maximum number of messages (`stash_capacity`) was already postponed."""
    UNHANDLED = "unhandled"
    """Its receiver does not know this type of message; for instance, any message to a supervisor."""


@final
@attrs.define(eq=False)
class Envelope(Generic[M]):
    """A message and its metadata.

    Mutable and without equality on purpose: a frozen one costs three times as much to create, once per message
    (`benchmarks/`). Only the mailbox writes to it.
    """

    message: M
    lane: Lane
    number: int
    """Counter of this mailbox: 1 for its first message; 0 for a tombstone (a withdrawn message)."""
    parent: int
    """`seq` of the event that led to this message; 0 if unknown."""
    reply: ReplySlot | None
    """The slot for the answer, if this is an ask."""
    size_bytes: int
    """Its size, counted against the byte capacity."""
    is_counted: bool
    """True if it counts against the capacity: false in lane `now` and for system mail."""
    attempts: int = 0
    """Number of turns that started to process it and did not finish."""
    is_pinned: bool = False
    """True if it is meant for the current incarnation only, and dies with it."""


MAX_ATTEMPTS: Final = 3
"""Maximum number of turns that may fail to finish a message before it becomes a dead letter `poison`."""

"""What travels: the envelope, the lane it waits in, and the words for what became of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Generic, TypeVar, final

import attrs

from greenroom.waiting import ReplySlot

M = TypeVar("M")


class Lane(StrEnum):
    """Where a message waits. First in, first out within a lane; across lanes there is no order."""

    NOW = "now"
    """Control and steering: served first, outside the capacity. It aborts nothing by itself."""
    NEXT = "next"
    """Ordinary messages."""
    LATER = "later"
    """Served when `next` is empty, and once after every 16 of `next`."""


class Delivery(StrEnum):
    """What became of a send, known at once."""

    ACCEPTED = "accepted"
    FULL = "full"
    """No room. The sender decides: drop it, try later, or tell somebody."""
    CLOSED = "closed"
    """The owner is gone or going."""


class DeadReason(StrEnum):
    """Why a message was never processed to its end."""

    NO_ACTOR = "no_actor"
    """Nobody has that address."""
    ENDED = "ended"
    """Its receiver has ended, or did with the message still in its mailbox."""
    CLOSED = "closed"
    """The mailbox was closed with the message in it."""
    FULL = "full"
    """There was no room."""
    ABORTED = "aborted"
    """Its turn was aborted, and `unfinished` does not keep the message."""
    FAILED = "failed"
    """Its turn failed, and `unfinished` does not keep the message."""
    POISON = "poison"
    """Too many turns had it and did not finish."""
    EXPIRED = "expired"
    """Nobody waits for the answer any more."""
    LATE_REPLY = "late_reply"
    """It is the answer to an ask that was over."""
    WITHDRAWN = "withdrawn"
    """Whoever sent it took it back before it was served: an asker that was cancelled, a timer, a watch."""
    STASH_OVERFLOW = "stash_overflow"
    """It was postponed, and as many as may wait for another state already did."""
    UNHANDLED = "unhandled"
    """It is nothing that its receiver knows, such as a letter to a supervisor."""


@final
@attrs.define(eq=False)
class Envelope(Generic[M]):
    """A message with what the runtime knows of it.

    Mutable and without equality on purpose: a frozen one costs three times as much to make, once per message
    (`benchmarks/`). Only the mailbox writes to it.
    """

    message: M
    lane: Lane
    number: int
    """Counter of this mailbox: 1 for its first message; 0 for the husk of one that was withdrawn."""
    parent: int
    """`seq` of the event that led to this message; 0 where none is known."""
    reply: ReplySlot | None
    """Where the answer goes, for an ask."""
    size_bytes: int
    """What it counts against the byte capacity."""
    is_counted: bool
    """Whether it takes a place of the capacity: not in lane `now`, not for system mail."""
    attempts: int = 0
    """How often it was handed out again after a turn that did not finish."""


MAX_ATTEMPTS: Final = 3
"""After so many turns that did not finish, a message is poison (kernel 9.2)."""

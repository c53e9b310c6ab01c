"""Mailboxes of actors: three lanes, a capacity that control mail ignores, and leases, so that no message is lost."""

from greenroom.mailbox._contents import LATER_CREDIT
from greenroom.mailbox._envelope import MAX_ATTEMPTS, DeadReason, Delivery, Envelope, Lane
from greenroom.mailbox._events import (
    EVENTS,
    MessageAcked,
    MessageDied,
    MessageLeased,
    MessagePostponed,
    MessagePut,
    MessageReturned,
)
from greenroom.mailbox._lease import Lease
from greenroom.mailbox._mailbox import BUDGET, Mailbox
from greenroom.mailbox._policy import MailboxPolicy, MailboxStatistics

__all__ = [
    "BUDGET",
    "EVENTS",
    "LATER_CREDIT",
    "MAX_ATTEMPTS",
    "DeadReason",
    "Delivery",
    "Envelope",
    "Lane",
    "Lease",
    "Mailbox",
    "MailboxPolicy",
    "MailboxStatistics",
    "MessageAcked",
    "MessageDied",
    "MessageLeased",
    "MessagePostponed",
    "MessagePut",
    "MessageReturned",
]

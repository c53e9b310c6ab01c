"""Mailboxes of actors: three lanes, a capacity that control mail ignores, and leases, so that no message is lost."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
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
    from greenroom.mailbox._lanes import BUDGET, LATER_CREDIT
    from greenroom.mailbox._lease import Lease
    from greenroom.mailbox._mailbox import Mailbox
    from greenroom.mailbox._policy import MailboxPolicy, MailboxStatistics
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.mailbox._envelope": ("MAX_ATTEMPTS", "DeadReason", "Delivery", "Envelope", "Lane"),
            "greenroom.mailbox._events": (
                "EVENTS",
                "MessageAcked",
                "MessageDied",
                "MessageLeased",
                "MessagePostponed",
                "MessagePut",
                "MessageReturned",
            ),
            "greenroom.mailbox._lanes": ("BUDGET", "LATER_CREDIT"),
            "greenroom.mailbox._lease": ("Lease",),
            "greenroom.mailbox._mailbox": ("Mailbox",),
            "greenroom.mailbox._policy": ("MailboxPolicy", "MailboxStatistics"),
        },
    )

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

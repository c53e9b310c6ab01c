"""Folds of the kernel's events into the state of mailboxes, actors and supervisors."""

from greenroom.views._actors import FOLDS, ActorView
from greenroom.views._mailboxes import MailboxView

__all__ = [
    "FOLDS",
    "ActorView",
    "MailboxView",
]

"""Folds of the kernel's events into the state of mailboxes, actors and supervisors."""

from greenroom.views._actors import ActorView, NameView, TurnCounts
from greenroom.views._mailboxes import MailboxView
from greenroom.views._supervisors import FOLDS, SupervisorView

__all__ = [
    "FOLDS",
    "ActorView",
    "MailboxView",
    "NameView",
    "SupervisorView",
    "TurnCounts",
]

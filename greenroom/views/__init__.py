"""The state of mailboxes, actors and supervisors as their journal tells it: pure folds over what the three record."""

from greenroom.views._actors import ActorView, NameView, TurnCounts
from greenroom.views._catalog import FOLDS
from greenroom.views._mailboxes import MailboxView
from greenroom.views._supervisors import SupervisorView

__all__ = [
    "FOLDS",
    "ActorView",
    "MailboxView",
    "NameView",
    "SupervisorView",
    "TurnCounts",
]

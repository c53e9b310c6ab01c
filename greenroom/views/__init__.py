"""Folds of the kernel's events into the state of mailboxes, actors and supervisors."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.views._actors import FOLDS, ActorView
    from greenroom.views._mailboxes import MailboxView
else:
    __getattr__, __dir__ = lazy_names(
        globals(), {"greenroom.views._actors": ("FOLDS", "ActorView"), "greenroom.views._mailboxes": ("MailboxView",)}
    )

__all__ = [
    "FOLDS",
    "ActorView",
    "MailboxView",
]

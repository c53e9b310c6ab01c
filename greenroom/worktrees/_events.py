"""What worktrees put on record: the intent before each act, and what came of it."""

from __future__ import annotations

from typing import Any, ClassVar, Final, final

import attrs

from greenroom.core import Event
from greenroom.worktrees._claims import Worktree


@attrs.frozen(kw_only=True)
class WorktreeEvent(Event):
    """A fact about one worktree."""

    name: str
    """Its name."""
    path: str
    """The folder that it is in."""
    branch: str
    """Its branch; empty if a hook made it, or its head is detached."""


@final
@attrs.frozen(kw_only=True)
class WorktreeIntended(WorktreeEvent):
    """A worktree is about to be made."""

    kind: ClassVar[str] = "worktree.intended"

    base: str
    """The commit that it is made from."""


@final
@attrs.frozen(kw_only=True)
class WorktreeMade(WorktreeEvent):
    """It is there, and locked."""

    kind: ClassVar[str] = "worktree.made"


@final
@attrs.frozen(kw_only=True)
class WorktreeNotMade(WorktreeEvent):
    """It could not be made."""

    kind: ClassVar[str] = "worktree.not_made"

    error: str
    """Text of the error."""


@final
@attrs.frozen(kw_only=True)
class WorktreeAdopted(WorktreeEvent):
    """One that was there is used again."""

    kind: ClassVar[str] = "worktree.adopted"


@final
@attrs.frozen(kw_only=True)
class WorktreeRemovalIntended(WorktreeEvent):
    """A worktree is about to be removed."""

    kind: ClassVar[str] = "worktree.removal_intended"


@final
@attrs.frozen(kw_only=True)
class WorktreeRemoved(WorktreeEvent):
    """It is gone, with its branch."""

    kind: ClassVar[str] = "worktree.removed"


@final
@attrs.frozen(kw_only=True)
class WorktreeKept(WorktreeEvent):
    """Nobody of ours uses it any more, and it stays."""

    kind: ClassVar[str] = "worktree.kept"

    why: str
    """Why it stays, in words."""


def about(event_class: type[WorktreeEvent], worktree: Worktree, **more: Any) -> WorktreeEvent:
    """Return an event about a worktree."""
    return event_class(name=worktree.name, path=str(worktree.path), branch=worktree.branch, **more)


EVENTS: Final = (
    WorktreeIntended,
    WorktreeMade,
    WorktreeNotMade,
    WorktreeAdopted,
    WorktreeRemovalIntended,
    WorktreeRemoved,
    WorktreeKept,
)
"""Every event of this folder."""

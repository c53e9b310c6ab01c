"""What worktrees put on record: the intent before each act, and what came of it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, final

import attrs

from greenroom.core import Event, OneOf
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


@final
@attrs.frozen(kw_only=True)
class WorktreeEntered(WorktreeEvent):
    """An agent works in it from now on; without an actor it is the main agent, and the session goes on there when it is resumed."""

    kind: ClassVar[str] = "worktree.entered"

    original_cwd: str
    """The folder that it comes from, and goes back to."""
    base: str
    """The commit that the worktree was made from; empty where that is not known."""
    was_there: bool
    """Whether it was there already and was named by its path: then it is not removed on leaving."""
    is_hook_based: bool
    """Whether a hook made it."""
    used_sparse_paths: bool
    """Whether only some folders were checked out."""


@final
@attrs.frozen(kw_only=True)
class WorktreeLeft(WorktreeEvent):
    """An agent works in the folder again that it came from."""

    kind: ClassVar[str] = "worktree.left"

    action: Annotated[str, OneOf("keep", "remove", "gone")]
    """What became of the worktree: `keep`, `remove`, or `gone` where it was not there any more."""


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
    WorktreeEntered,
    WorktreeLeft,
)
"""Every event of this folder."""

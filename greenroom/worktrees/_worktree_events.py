"""Events of worktrees: the intent before each act, and its outcome."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, final

from greenroom.core import Event, OneOf, frozen
from greenroom.worktrees._claims import Worktree


@frozen(kw_only=True)
class WorktreeEvent(Event):
    """A fact about one worktree."""

    name: str
    """Name of the worktree."""
    path: str
    """Its folder."""
    branch: str
    """Its branch; empty if a hook made it, or its head is detached."""


@final
@frozen(kw_only=True)
class WorktreeIntended(WorktreeEvent):
    """A worktree is about to be created."""

    kind: ClassVar[str] = "worktree.intended"

    base: str
    """The commit that it is created from."""


@final
@frozen(kw_only=True)
class WorktreeMade(WorktreeEvent):
    """A worktree was created and locked."""

    kind: ClassVar[str] = "worktree.made"


@final
@frozen(kw_only=True)
class WorktreeNotMade(WorktreeEvent):
    """A worktree could not be created."""

    kind: ClassVar[str] = "worktree.not_made"

    error: str
    """Text of the error."""


@final
@frozen(kw_only=True)
class WorktreeAdopted(WorktreeEvent):
    """An existing worktree is used again."""

    kind: ClassVar[str] = "worktree.adopted"


@final
@frozen(kw_only=True)
class WorktreeRemovalIntended(WorktreeEvent):
    """A worktree is about to be removed."""

    kind: ClassVar[str] = "worktree.removal_intended"


@final
@frozen(kw_only=True)
class WorktreeRemoved(WorktreeEvent):
    """A worktree was removed, with its branch."""

    kind: ClassVar[str] = "worktree.removed"


@final
@frozen(kw_only=True)
class WorktreeKept(WorktreeEvent):
    """An unused worktree was kept."""

    kind: ClassVar[str] = "worktree.kept"

    why: str
    """The reason, in words."""


@final
@frozen(kw_only=True)
class WorktreeEntered(WorktreeEvent):
    """An agent works in a worktree from now on; without an actor it is the main agent, and a resumed session continues
    there.
    """

    kind: ClassVar[str] = "worktree.entered"

    original_cwd: str
    """The folder that it came from, and will return to."""
    base: str
    """The commit that the worktree was created from; empty if unknown."""
    was_there: bool
    """True if it existed already and was named by its path: then it is not removed on leaving."""
    is_hook_based: bool
    """True if a hook made it."""
    used_sparse_paths: bool
    """True if only some folders were checked out."""


@final
@frozen(kw_only=True)
class WorktreeLeft(WorktreeEvent):
    """An agent has returned to its previous folder."""

    kind: ClassVar[str] = "worktree.left"

    action: Annotated[str, OneOf("keep", "remove", "gone")]
    """Outcome for the worktree: `keep`, `remove`, or `gone` if it no longer existed."""


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

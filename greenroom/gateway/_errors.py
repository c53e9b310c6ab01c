"""Errors of the gateway that its callers tell apart."""

from __future__ import annotations

from typing import final

from greenroom.core import UsageError


@final
class NotFound(UsageError):
    """The session, run or delivery is unknown, or gone.

    Attributes:
        kind: `session`, `run` or `delivery`.
        id: The key or id that was asked for.
    """

    def __init__(self, kind: str, id: str) -> None:  # noqa: A002 - the word of the field
        super().__init__(f"unknown {kind} {id!r}")
        self.kind = kind
        self.id = id


@final
class Conflict(UsageError):
<<<<<<< HEAD
    """The call does not fit the present state; the message says which."""
=======
    """The state of something does not allow it; nothing was changed."""
>>>>>>> wip/keepers


@final
class Forbidden(UsageError):
<<<<<<< HEAD
    """A rule forbids the call; the message names it."""
=======
    """A rule does not allow it; nothing was changed."""
>>>>>>> wip/keepers

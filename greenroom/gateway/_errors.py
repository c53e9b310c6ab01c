"""Errors of the gateway's parts, as clients and tools read them."""

from __future__ import annotations

from typing import final

from greenroom.core import UsageError


@final
class NotFound(UsageError):
    """Nothing has that name."""


@final
class Conflict(UsageError):
<<<<<<< HEAD
<<<<<<< HEAD
    """The call does not fit the present state; the message says which."""
=======
    """The state of something does not allow it; nothing was changed."""
>>>>>>> wip/keepers
=======
    """The state of something does not allow it; nothing was changed."""
>>>>>>> wip/runs


@final
class Forbidden(UsageError):
<<<<<<< HEAD
<<<<<<< HEAD
    """A rule forbids the call; the message names it."""
=======
    """A rule does not allow it; nothing was changed."""
>>>>>>> wip/keepers
=======
    """A rule does not allow it; nothing was changed."""
>>>>>>> wip/runs

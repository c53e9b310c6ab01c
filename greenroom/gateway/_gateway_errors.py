"""Errors of the gateway's parts, as clients and tools read them."""

from __future__ import annotations

from typing import final

from greenroom.core import UsageError


@final
class NotFound(UsageError):
    """Nothing has that name."""


@final
class Conflict(UsageError):
    """The state of something does not allow it; nothing was changed."""


@final
class Forbidden(UsageError):
    """A rule does not allow it; nothing was changed."""

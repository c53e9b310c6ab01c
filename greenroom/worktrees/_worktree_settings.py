"""Settings of worktrees: the part `worktree` of the settings."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.validation import checked

FETCH_AGE_S: Final = 24 * 3600.0
FETCH_TIMEOUT_S: Final = 5.0
PULL_TIMEOUT_S: Final = 60.0
CLEANUP_PERIOD_DAYS: Final = 30
CLEANUP_TIMEOUT_S: Final = 30.0


class BaseRef(StrEnum):
    """Commit that a worktree starts from."""

    FRESH = "fresh"
    """The remote's default branch, fetched if the last fetch was a day ago; without a remote, the current commit."""
    HEAD = "head"
    """The current commit of the checkout that the agent would otherwise work in."""


def _days(_: Any, __: attrs.Attribute[int], value: int) -> None:
    if value < 1:
        raise UsageError(f"cleanup_period_days must be 1 or more, got {value!r}")


def _paths(_: Any, __: attrs.Attribute[tuple[str, ...]], value: tuple[str, ...]) -> None:
    for path in value:
        if not path or path.startswith(("-", "/")) or ".." in path.split("/"):
            raise UsageError(f"sparse_paths must be folders within the repository, got {path!r}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class WorktreeSettings:
    """Creation and clean-up of worktrees."""

    base_ref: BaseRef = BaseRef.FRESH
    sparse_paths: tuple[str, ...] = attrs.field(default=(), validator=_paths)
    """Folders to check out besides the files at the root; empty for everything."""
    cleanup_period_days: int = attrs.field(default=CLEANUP_PERIOD_DAYS, validator=_days)
    """Age in days at which a worktree of an ended agent is removed, if nothing would be lost."""

"""Permission modes: the treatment of calls that no deny or ask rule matches, and the mode of a child."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from greenroom.core import UsageError


class Mode(StrEnum):
    """The treatment of calls that no rule decides."""

    DEFAULT = "default"
    """Reading in the working directories is allowed; everything else is asked."""
    ACCEPT_EDITS = "acceptEdits"
    """Edits, and `mkdir touch rm rmdir mv cp sed`, are allowed in the working directories as well."""
    PLAN = "plan"
    """Only calls that change nothing run; allow rules do not permit changes."""
    AUTO = "auto"
    """As acceptEdits; the remaining calls are reviewed by a classifier instead of a person."""
    DONT_ASK = "dontAsk"
    """As default, but calls that would be asked are denied."""
    BYPASS = "bypassPermissions"
    """Everything runs, except calls that always require a person."""
    BUBBLE = "bubble"
    """As default, but the parent's terminal is asked: the mode of forks."""


_NAMED: Final = {mode.value: mode for mode in Mode if mode is not Mode.BUBBLE} | {"manual": Mode.DEFAULT}
_PARENT_WINS: Final = frozenset((Mode.BYPASS, Mode.ACCEPT_EDITS, Mode.AUTO))

ChildPermission: TypeAlias = Literal["definition", "inherit", "clamped"]
"""The setting `child_permission`: the source of a child's mode."""


def parse_mode(text: str) -> Mode:
    """Return the mode of that name; `manual` is an alias of `default`.

    Raises:
        UsageError: It does not exist, or is `bubble`, which only the runtime sets.
    """
    mode = _NAMED.get(text)
    if mode is None:
        names = ", ".join(_NAMED)
        raise UsageError(f"unknown permission mode {text!r}; expected one of: {names}")
    return mode


def child_mode(parent: Mode, definition: Mode | None, *, setting: ChildPermission, may_bypass: bool) -> Mode:
    """Return the mode of a child.

    Args:
        parent: The mode of the agent that starts it.
        definition: The mode in its definition, or None.
        setting: `definition`: the definition's mode, else acceptEdits, whatever the parent has. `inherit`: the
            definition's mode, else the parent's. `clamped`: like `inherit`, but a parent in bypassPermissions,
            acceptEdits or
            auto passes its mode on in any case.
        may_bypass: True if the user enabled skipping permissions; otherwise a definition's bypassPermissions is
            ignored.
    """
    if definition is Mode.BYPASS and not may_bypass:
        definition = None
    if setting == "definition":
        return definition or Mode.ACCEPT_EDITS
    if setting == "clamped" and parent in _PARENT_WINS:
        return parent
    return definition or parent


_BY_FREEDOM: Final = (
    *(Mode.PLAN, Mode.DONT_ASK, Mode.DEFAULT, Mode.BUBBLE),
    *(Mode.ACCEPT_EDITS, Mode.AUTO, Mode.BYPASS),
)


def stricter_mode(first: Mode, second: Mode) -> Mode:
    """Return the mode of the two in which less runs unasked."""
    return min(first, second, key=_BY_FREEDOM.index)


def may_do_more(child: Mode, session: Mode) -> bool:
    """True if a child in its mode makes changes unasked that its session's mode asks about or forbids."""
    return child in _PARENT_WINS and session not in _PARENT_WINS

"""Permission modes: what happens to a call that no deny or ask rule speaks about, and which mode a child has.

Must not know: rules, tools, clock, disk, Trio.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from greenroom.core import UsageError


class Mode(StrEnum):
    """How a session or an agent treats calls that nothing else decides (agents 1.110, 1.111)."""

    DEFAULT = "default"
    """Reading in the working directories runs; the rest is asked."""
    ACCEPT_EDITS = "acceptEdits"
    """Also edits, and `mkdir touch rm rmdir mv cp sed`, in the working directories."""
    PLAN = "plan"
    """Only what changes nothing runs; allow rules do not let anything be changed."""
    AUTO = "auto"
    """As acceptEdits; what is left is asked of a classifier instead of a person."""
    DONT_ASK = "dontAsk"
    """As default, but what would be asked is denied."""
    BYPASS = "bypassPermissions"
    """All runs, save what is never approved without a person (agents 1.113)."""
    BUBBLE = "bubble"
    """As default, and the parent's terminal is asked: the mode of forks."""


_NAMED: Final = {mode.value: mode for mode in Mode if mode is not Mode.BUBBLE} | {"manual": Mode.DEFAULT}
_PARENT_WINS: Final = frozenset((Mode.BYPASS, Mode.ACCEPT_EDITS, Mode.AUTO))

ChildPermission: TypeAlias = Literal["definition", "inherit", "clamped"]
"""The setting `child_permission` (agents 0.0): where a child's mode comes from."""


def parse_mode(text: str) -> Mode:
    """Return the mode of that name; `manual` is another name of `default`.

    Raises:
        UsageError: There is none, or it is `bubble`, which only the runtime gives.
    """
    mode = _NAMED.get(text)
    if mode is None:
        names = ", ".join(_NAMED)
        raise UsageError(f"there is no permission mode {text!r}; use one of {names}")
    return mode


def child_mode(parent: Mode, definition: Mode | None, *, setting: ChildPermission, may_bypass: bool) -> Mode:
    """Return the mode of a child (agents 1.45, 20.21).

    Args:
        parent: The mode of the agent that starts it.
        definition: What its definition says, or None.
        setting: `definition`: what the definition says, else acceptEdits, whatever the parent has. `inherit`: what the
            definition says, else the parent's. `clamped`: as `inherit`, but a parent in bypassPermissions, acceptEdits or
            auto passes its mode on in any case.
        may_bypass: Whether the user switched on skipping permissions; without, a definition's bypassPermissions is taken
            as absent.
    """
    if definition is Mode.BYPASS and not may_bypass:
        definition = None
    if setting == "definition":
        return definition or Mode.ACCEPT_EDITS
    if setting == "clamped" and parent in _PARENT_WINS:
        return parent
    return definition or parent


def may_do_more(child: Mode, session: Mode) -> bool:
    """True if a child in its mode changes things unasked that its session's mode asks about or forbids."""
    return child in _PARENT_WINS and session not in _PARENT_WINS

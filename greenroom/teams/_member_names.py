"""Names of team members: pure functions over all names ever used.

A name belongs to its member permanently: a second member of the same name gets a number, so that items and messages
never change hands. The lead has one name and two aliases. Names are data: files and actors are named after generated
ids.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import count
from typing import Final

from greenroom.core import UsageError

LEAD: Final = "team-lead"
"""The name of a team's lead."""
LEAD_ALIASES: Final = ("lead", "main")
"""Aliases of the lead in messages."""
EVERYBODY: Final = "*"
"""Stands for all members except the sender."""
COLORS: Final = ("blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red")
"""Assigned in this order, cyclically."""
NAME_CHARACTERS: Final = 64
_NAME: Final = re.compile(r"\w[\w.-]*")


def check_name(name: str) -> None:
    """Check that a text can be the name of a teammate.

    Raises:
        UsageError: It is reserved, or is not a word of letters, digits, `-`, `_` and `.`.
    """
    if name.lower() in {LEAD, *LEAD_ALIASES, EVERYBODY}:
        raise UsageError(f"cannot name a teammate {name!r}: the name is reserved")
    if len(name) > NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise UsageError(
            f"cannot name a teammate {name!r}: use letters, digits, '-', '_' and '.', at most {NAME_CHARACTERS}"
        )


def free_name(wanted: str, used: Collection[str]) -> str:
    """Return a name that was never used: the wanted one, or that with `-2`, `-3` and so on appended."""
    if wanted not in used:
        return wanted
    return next(name for number in count(2) if (name := f"{wanted}-{number}") not in used)


def member_id(name: str, team: str) -> str:
    """Return a member's name outside its team."""
    return f"{name}@{team}"


def color_of(number: int) -> str:
    """Return the color of the teammate that joins as number `number`, from 0."""
    return COLORS[number % len(COLORS)]


def plain_name(to: str, team: str) -> str:
    """Return the name that an address stands for, whether or not a member has it."""
    name = to.strip().removesuffix(f"@{team}")
    return LEAD if name.lower() in {LEAD, *LEAD_ALIASES} else name

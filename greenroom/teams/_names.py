"""How the members of a team are called: pure functions over names that were ever used.

Rule 1: a name is its member's for good: whoever wants one that was ever used gets it with a number (agents 7.11), so that an item
or a message never becomes another's. Rule 2: the lead has one name, and two more that it is reached by. Rule 3: names are data:
files and actors are called after ids of ours.
Must not know: actors, clock, disk.
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
"""What else the lead is called in messages."""
EVERYBODY: Final = "*"
"""Stands for all members but the one who says it."""
COLORS: Final = ("blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red")
"""Given out in this order, again and again."""
NAME_CHARACTERS: Final = 64
_NAME: Final = re.compile(r"\w[\w.-]*")


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a teammate.

    Raises:
        UsageError: It stands for somebody else, or is no word of letters, digits, `-`, `_` and `.`.
    """
    if name.lower() in {LEAD, *LEAD_ALIASES, EVERYBODY}:
        raise UsageError(f"a teammate cannot be called {name!r}: that stands for somebody else")
    if len(name) > NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise UsageError(
            f"a teammate cannot be called {name!r}: use letters, digits, '-', '_' and '.', at most {NAME_CHARACTERS}"
        )


def free_name(wanted: str, used: Collection[str]) -> str:
    """Return a name that was never used: the wanted one, or that with `-2`, `-3` and so on behind it."""
    if wanted not in used:
        return wanted
    return next(name for number in count(2) if (name := f"{wanted}-{number}") not in used)


def member_id(name: str, team: str) -> str:
    """Return what a member is called outside its team."""
    return f"{name}@{team}"


def color_of(number: int) -> str:
    """Return the color of the teammate that joins as number `number`, from 0."""
    return COLORS[number % len(COLORS)]


def plain_name(to: str, team: str) -> str:
    """Return the name that an address means, whether or not anybody has it."""
    name = to.strip().removesuffix(f"@{team}")
    return LEAD if name.lower() in {LEAD, *LEAD_ALIASES} else name

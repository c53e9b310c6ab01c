"""Lists of what a model may choose from, agents or skills, in a bounded text.

Rule 1: every name is listed, as long as names fit; descriptions become shorter first, then fall away. Rule 2: a list that leaves
something out says so at its end. Rule 3: the same entries give the same bytes, so that prompts stay cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import attrs

LISTING_CHARACTERS: Final = 16_000
"""The most that a list of agents comes to, unless a setting says otherwise; some 4,000 tokens, 2 % of a context of 200,000."""
_SHORTEST: Final = 20


@final
@attrs.frozen
class Listed:
    """One entry of a list."""

    name: str
    words: str
    """What it is for; may be cut."""
    behind: str = ""
    """What follows its words; left out with them."""


def bounded_listing(entries: Sequence[Listed], *, most: int, words: int, left_out: str) -> str:
    """Return one line for each entry.

    Args:
        entries: In the order in which they are listed.
        most: Characters of the whole list.
        words: Characters of one description at most.
        left_out: What the last line of a list without descriptions says; empty for nothing.
    """
    room = words
    while room >= _SHORTEST:
        text = "\n".join(_line(one, room) for one in entries)
        if len(text) <= most:
            return text
        room = room * 3 // 4
    names = [f"- {one.name}" for one in entries]
    end = [left_out] if left_out else []
    if len("\n".join([*names, *end])) <= most:
        return "\n".join([*names, *end])
    kept: list[str] = []
    left = most - len("\n".join([f"- and {len(names)} more", *end]))
    for name in names:
        left -= len(name) + 1
        if left < 0:
            break
        kept.append(name)
    return "\n".join([*kept, f"- and {len(names) - len(kept)} more", *end])


def _line(one: Listed, room: int) -> str:
    if not one.words:
        return f"- {one.name}{one.behind}"
    shown = one.words if len(one.words) <= room else one.words[: room - 1] + "…"
    return f"- {one.name}: {shown}{one.behind}"

"""Bounded lists of agents or skills for a model to choose from.

Every name is listed as long as the names fit; descriptions are shortened first, then dropped. A list that omits
something says so at its end. The same entries give the same bytes, so that prompts stay cached. Descriptions are other
people's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import attrs

from greenroom.core.texts._frames import escape_text

LISTING_CHARACTERS: Final = 16_000
"""Default maximum length of a list of agents: some 4,000 tokens, 2 % of a context of 200,000."""
_SHORTEST: Final = 20


@final
@attrs.frozen
class Listed:
    """An entry of a list."""

    name: str
    words: str
    """Description; may be cut."""
    behind: str = ""
    """Text behind the description; dropped together with it."""


def bounded_listing(entries: Sequence[Listed], *, most: int, words: int, left_out: str) -> str:
    """Return one line for each entry.

    Args:
        entries: The entries, in listing order.
        most: Maximum length of the whole list, in characters.
        words: Maximum length of one description, in characters.
        left_out: Last line of a list without descriptions; empty for none.
    """
    entries = [Listed(*map(escape_text, (entry.name, entry.words, entry.behind))) for entry in entries]
    room = words
    while room >= _SHORTEST:
        text = "\n".join(_line(entry, room) for entry in entries)
        if len(text) <= most:
            return text
        room = room * 3 // 4
    names = [f"- {entry.name}" for entry in entries]
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


def _line(entry: Listed, room: int) -> str:
    if not entry.words:
        return f"- {entry.name}{entry.behind}"
    shown = entry.words if len(entry.words) <= room else entry.words[: room - 1] + "…"
    return f"- {entry.name}: {shown}{entry.behind}"

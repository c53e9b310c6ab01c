"""What a model is told about the skills that it may call: names and descriptions, in a bounded text.

Rule 1: every skill that may be called is named, as long as names fit. Rule 2: the text of a skill is not in it. Rule 3: the
same skills give the same bytes, so that prompts stay cached.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from greenroom.skills._skill import Skill

DESCRIPTION_CHARACTERS: Final = 1_536
"""So much of description and `when_to_use` is shown at most."""
LISTING_CHARACTERS: Final = 15_000
"""The most that a listing comes to."""
_LEAST: Final = 20


def listing(skills: Iterable[Skill], *, most: int = LISTING_CHARACTERS) -> str:
    """Return one line for each skill that a model may call; empty where there is none.

    Args:
        skills: In the order in which they are listed.
        most: Characters; where they do not suffice, descriptions become shorter, then fall away, then names do.
    """
    shown = [(one.name, " ".join(f"{one.description} {one.when_to_use}".split())) for one in skills if one.for_models]
    room = DESCRIPTION_CHARACTERS
    while room >= _LEAST:
        text = "\n".join(_line(name, words, room) for name, words in shown)
        if len(text) <= most:
            return text
        room = room * 3 // 4
    names = [f"- {name}" for name, _ in shown]
    if len("\n".join(names)) <= most:
        return "\n".join(names)
    kept: list[str] = []
    left = most - len(f"- and {len(names)} more")
    for name in names:
        left -= len(name) + 1
        if left < 0:
            break
        kept.append(name)
    return "\n".join([*kept, f"- and {len(names) - len(kept)} more"])


def _line(name: str, words: str, room: int) -> str:
    if not words:
        return f"- {name}"
    return f"- {name}: {words if len(words) <= room else words[: room - 1] + '…'}"

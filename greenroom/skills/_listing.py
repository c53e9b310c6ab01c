"""What a model is told about the skills that it may call: names and descriptions, in a bounded text.

Rule 1: every skill that may be called is named, as long as names fit. Rule 2: the text of a skill is not in it. Rule 3: the
same skills give the same bytes, so that prompts stay cached.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from greenroom.core import Listed, bounded_listing
from greenroom.skills._skill import Skill

DESCRIPTION_CHARACTERS: Final = 1_536
"""So much of description and `when_to_use` is shown at most."""
LISTING_CHARACTERS: Final = 15_000
"""The most that a listing comes to."""


def listing(skills: Iterable[Skill], *, most: int = LISTING_CHARACTERS) -> str:
    """Return one line for each skill that a model may call; empty where there is none.

    Args:
        skills: In the order in which they are listed.
        most: Characters; where they do not suffice, descriptions become shorter, then fall away, then names do.
    """
    shown = [
        Listed(one.name, " ".join(f"{one.description} {one.when_to_use}".split())) for one in skills if one.for_models
    ]
    return bounded_listing(shown, most=most, words=DESCRIPTION_CHARACTERS, left_out="")

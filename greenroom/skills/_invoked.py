"""Skills invoked in a conversation: each text is inserted once, and restored after a compaction.

The same skill with the same text is not inserted twice. After a compaction the latest text of each is restored, newest
first, within two limits.
"""

from __future__ import annotations

from typing import Final, final

from greenroom.skills._render import Rendered

SKILL_TOKENS: Final = 5_000
ALL_TOKENS: Final = 25_000
_CHARACTERS_PER_TOKEN: Final = 4
"""A rough estimate, sufficient for a limit."""


@final
class InvokedSkills:
    """The invoked skills of one conversation; created with it, empty after `clear`."""

    def __init__(self) -> None:
        self._latest: dict[str, Rendered] = {}

    def copy(self) -> InvokedSkills:
        """Return a copy for another conversation that begins with this one."""
        made = InvokedSkills()
        made._latest.update(self._latest)
        return made

    def say(self, rendered: Rendered) -> str:
        """Return the text for the conversation: the skill's, or a note if the same text is there already."""
        name = rendered.skill.name
        before = self._latest.pop(name, None)
        self._latest[name] = rendered
        if before is not None and before.text == rendered.text:
            return f"The skill {name} is loaded already, with the same text; go on with it."
        return rendered.text

    def texts_after_compaction(self) -> tuple[str, ...]:
        """Return the texts to restore, the newest first."""
        left = ALL_TOKENS * _CHARACTERS_PER_TOKEN
        found: list[str] = []
        for rendered in reversed(self._latest.values()):
            text = rendered.text[: min(SKILL_TOKENS * _CHARACTERS_PER_TOKEN, left)]
            if not text:
                break
            found.append(text)
            left -= len(text)
        return tuple(found)

    def clear(self) -> None:
        """Remove all; the conversation starts over."""
        self._latest.clear()

"""The line that a user is typing."""

from __future__ import annotations

from typing import final

from greenroom.terminal import Key, Press


@final
class LineEditor:
    """A line, with the lines before it."""

    def __init__(self) -> None:
        self.text = ""
        self._before: list[str] = []
        self._at = 0

    def press(self, key: Press) -> str | None:
        """Take a key into account; return the line if it is complete."""
        match key:
            case Key.ENTER:
                done, self.text = self.text, ""
                if done.strip():
                    self._before.append(done)
                self._at = len(self._before)
                return done
            case Key.BACKSPACE:
                self.text = self.text[:-1]
            case Key.UP | Key.DOWN:
                self._at = max(0, min(len(self._before), self._at + (1 if key is Key.DOWN else -1)))
                self.text = self._before[self._at] if self._at < len(self._before) else ""
            case str():
                self.text += key
        return None

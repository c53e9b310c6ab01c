"""Removal of control characters from text for terminals and for models.

Each character is judged by itself, so a text may be cut anywhere before or after. Removed characters are replaced by
U+FFFD so that a reader sees that something was there.
"""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
_BIDI: Final = "\u202a-\u202e\u2066-\u2069"
_TAG_CHARACTERS: Final = "\U000e0000-\U000e007f"  # a second, invisible ASCII
_C0_C1: Final = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f"
_SURROGATES: Final = "\ud800-\udfff"
_NONCHARACTERS: Final = "\ufffe\uffff"
# Characters of no width and direction marks, which hide or reorder text. The two joiners stay: emoji, Persian and the
# Indic scripts need them.
_INVISIBLE: Final = (
    "\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufeff\ufff9-\ufffb"
)
_FOR_MODELS: Final = re.compile(f"[{_C0_C1}{_SURROGATES}{_NONCHARACTERS}{_BIDI}{_TAG_CHARACTERS}]")
_FOR_TERMINALS: Final = re.compile(f"[\r{_C0_C1}{_SURROGATES}{_NONCHARACTERS}{_BIDI}{_TAG_CHARACTERS}{_INVISIBLE}]")


def without_control(text: str) -> str:
    """Return text for a model: line breaks, tabs and visible characters stay; other characters become U+FFFD."""
    return text if text.isprintable() else _FOR_MODELS.sub(REPLACEMENT, text)


def printable_text(text: str) -> str:
    """Return text for a terminal: nothing in it moves the cursor, changes colors, or hides or reorders text.

    Line feeds and tabs stay, and a carriage return before a line feed is dropped.
    """
    return _FOR_TERMINALS.sub(REPLACEMENT, text.replace("\r\n", "\n"))


def printable_json(text: str) -> str:
    """Return JSON text for a terminal: characters that `printable_text` would replace are escaped, so the value is
    unchanged.
    """
    return _FOR_TERMINALS.sub(_as_escape, text)


def _as_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

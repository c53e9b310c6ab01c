"""Characters that act instead of being read: which a terminal must not get, and which a model must not get.

Rule 1: each character is judged by itself, so a text may be cut anywhere before or after. Rule 2: what is taken out is replaced by
U+FFFD, so that a reader sees that something was there.
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
# Blanks of no width and marks of direction, which hide or reorder what a person reads. The two joiners stay: emoji, Persian and
# the scripts of India need them.
_INVISIBLE: Final = (
    "\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufeff\ufff9-\ufffb"
)
_FOR_MODELS: Final = re.compile(f"[{_C0_C1}{_SURROGATES}{_NONCHARACTERS}{_BIDI}{_TAG_CHARACTERS}]")
_FOR_TERMINALS: Final = re.compile(f"[\r{_C0_C1}{_SURROGATES}{_NONCHARACTERS}{_BIDI}{_TAG_CHARACTERS}{_INVISIBLE}]")


def without_control(text: str) -> str:
    """Return text for a model: line breaks, tabs and every visible character stay; the rest is U+FFFD."""
    return _FOR_MODELS.sub(REPLACEMENT, text)


def printable_text(text: str) -> str:
    """Return text for a terminal: nothing in it moves the cursor, changes colors, or hides or reorders what a person reads.

    Line feeds and tabs stay, and a carriage return before a line feed is dropped.
    """
    return _FOR_TERMINALS.sub(REPLACEMENT, text.replace("\r\n", "\n"))


def printable_json(text: str) -> str:
    """Return JSON text for a terminal: what `printable_text` would take out is written as an escape, so it stays the same JSON."""
    return _FOR_TERMINALS.sub(_as_escape, text)


def _as_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

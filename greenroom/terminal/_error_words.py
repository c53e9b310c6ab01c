"""Errors in words for people: what happened, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from greenroom.core import GreenroomError, ProviderError

HINTS: Final[Mapping[str, str]] = {
    "authentication": "check the key in ANTHROPIC_API_KEY",
    "permission": "check what the key in ANTHROPIC_API_KEY is for",
    "billing": "check the account that the key belongs to",
    "not_found": "check --model",
    "connection": "check the network, and ANTHROPIC_BASE_URL where that is set",
    "too_large": "the prompt /compact shortens the conversation of a run that is resumed",
    "truncated": "ask for less at a time, or raise max_tokens",
}
"""What to do, for each kind of `ProviderError` about which a user can do something."""
_CLASS: Final = re.compile(r"^([A-Z]\w*): ")


def explained(error: ProviderError) -> str:
    """Return what happened to a request and what to do about it, in one sentence."""
    text = str(error).rstrip(". ")
    return f"{text}; {HINTS[error.kind]}" if error.kind in HINTS else text


def without_class(text: str) -> str:
    """Return the description of an error, as events have it, without the name of its class; that of a bug keeps it."""
    found = _CLASS.match(text)
    return text[found.end() :] if found is not None and found[1] in _names_of(GreenroomError) else text


def _names_of(kind: type[GreenroomError]) -> set[str]:
    return {kind.__name__}.union(*map(_names_of, kind.__subclasses__()))

"""Texts for models and terminals: frames, listings, printable characters, errors."""

from greenroom.core.texts._control_characters import printable_json, printable_text
from greenroom.core.texts._error_text import cut_text, error_text, message_of, single_error, stand_in
from greenroom.core.texts._frames import (
    FRAMES,
    NO_PERSON,
    REMINDER,
    begins_with,
    escape_text,
    fields,
    frame,
    reminder,
    wrap,
)
from greenroom.core.texts._json_text import as_json, json_default, safe_repr
from greenroom.core.texts._listings import LISTING_CHARACTERS, Listed, bounded_listing

__all__ = [
    "FRAMES",
    "LISTING_CHARACTERS",
    "NO_PERSON",
    "REMINDER",
    "Listed",
    "as_json",
    "begins_with",
    "bounded_listing",
    "cut_text",
    "error_text",
    "escape_text",
    "fields",
    "frame",
    "json_default",
    "message_of",
    "printable_json",
    "printable_text",
    "reminder",
    "safe_repr",
    "single_error",
    "stand_in",
    "wrap",
]

"""Size limit for the texts of hooks: the rest is written to a file of the session, and a preview names it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs

from greenroom.hooks._outcomes import Extras, HookAnswer, PermissionDecision

OUTPUT_CHARS: Final = 10_000
"""Maximum number of characters of one hook text in a conversation."""
PREVIEW_CHARS: Final = 2_000


async def cap_answer(answer: HookAnswer, keep: Callable[[str], Awaitable[str]]) -> HookAnswer:
    """Return an answer whose texts all have at most `OUTPUT_CHARS` characters.

    Args:
        answer: The answer of the handler.
        keep: Writes a whole text to a file and returns its path; "" if it could not.
    """
    changes: dict[str, Any] = {}
    for field in attrs.fields(type(answer)):
        value = getattr(answer, field.name)
        capped = await _cap(value, keep)
        if capped is not value:
            changes[field.name] = capped
    return attrs.evolve(answer, **changes) if changes else answer


async def _cap(value: Any, keep: Callable[[str], Awaitable[str]]) -> Any:
    if isinstance(value, str):
        return value if len(value) <= OUTPUT_CHARS else preview(value, await keep(value))
    if isinstance(value, tuple) and any(isinstance(item, str) and len(item) > OUTPUT_CHARS for item in value):
        return tuple([await _cap(item, keep) for item in value])
    if isinstance(value, Extras | PermissionDecision):
        changes: dict[str, Any] = {}
        for field in attrs.fields(type(value)):
            inner = getattr(value, field.name)
            if isinstance(inner, str) and len(inner) > OUTPUT_CHARS:
                changes[field.name] = await _cap(inner, keep)
        return attrs.evolve(value, **changes) if changes else value
    return value


def preview(text: str, path: str) -> str:
    """Return the beginning of a text, with the path of the whole."""
    rest = f"the whole text is in {path}" if path else "the rest could not be saved"
    return f"{text[:PREVIEW_CHARS]}\n[{PREVIEW_CHARS} of {len(text)} characters shown; {rest}]"

"""What a call came to, as text for a model: what is no text, or too much of it, is kept in files that are named.

Rule 1: nothing is dropped silently. Rule 2: file names are ours, never a server's.
Must not know: the SDK, actors.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from greenroom.mcp._peer import BinaryPart, CallResult, LinkPart, Part, ResourcePart, TextPart

MOST_OUTPUT_CHARS: Final = 500_000
"""More than this is not shown, whatever a server asks for."""
_SUFFIXES: Final = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "text/html": ".html",
    "text/plain": ".txt",
}

Keep: TypeAlias = Callable[[str, bytes], Awaitable[Path | None]]
"""Writes a file, given the end of its name, and returns where it is; None where nothing can be kept."""


async def render(result: CallResult, keep: Keep, most: int) -> str:
    """Return what a model gets.

    Args:
        result: What the server answered.
        keep: Where files go.
        most: How many characters are shown.
    """
    lines = [await _part(part, keep) for part in result.parts]
    if not any(lines) and result.structured is not None:
        lines = [_json(result.structured)]
    # A NUL is legal in text, and poison for terminals and some readers of JSON; a lone surrogate is no text at all.
    text = "\n".join(lines).replace("\0", "\ufffd").encode(errors="replace").decode().strip("\r\n")
    if len(text) <= most:
        return text
    path = await keep(".txt", text.encode())
    where = f"the whole output: {path}" if path is not None else "nothing more of it was kept"
    return f"{text[:most]}\n... (cut: {len(text)} characters in all, of which this is the start; {where}) ..."


async def _part(part: Part, keep: Keep) -> str:
    match part:
        case TextPart():
            return part.text
        case ResourcePart():
            return f"[resource {part.uri}]\n{part.text}"
        case LinkPart():
            about = ", ".join(filter(None, (part.mime_type, part.description)))
            return f"[link to {part.name}: {part.uri}{f' ({about})' if about else ''}]"
        case BinaryPart():
            return await _binary(part, keep)


async def _binary(part: BinaryPart, keep: Keep) -> str:
    name = " ".join(filter(None, (part.kind, part.uri, part.mime_type or "of an unknown kind")))
    try:
        content = base64.b64decode(part.base64, validate=True)
    except (binascii.Error, ValueError):
        return f"[{name}: it is no base64, so nobody can read it]"
    path = await keep(_SUFFIXES.get(part.mime_type.partition(";")[0].strip().lower(), ".bin"), content)
    where = f"kept as {path}" if path is not None else "it was not kept"
    return f"[{name}, {len(content)} bytes: {where}]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)

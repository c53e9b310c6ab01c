"""Results of calls for a model: text and images; other content, and text beyond the limit, is saved to files that are
named.

Nothing is dropped silently. File names are ours, never a server's. The limit covers text and images together: text is
guaranteed half of it, images get what it leaves.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs

from greenroom.core import BadImage, Image, read_image
from greenroom.core.texts import escape_text
from greenroom.mcp._mcp_errors import CallFailed
from greenroom.mcp._mcp_settings import CHARS_PER_TOKEN
from greenroom.mcp._peer import BinaryPart, CallResult, LinkPart, Part, ResourcePart, TextPart

MAX_OUTPUT_CHARS: Final = 500_000
"""Upper limit, whatever a server requests."""
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
"""Writes a file, given the end of its name, and returns its path; None if nothing can be saved."""


@final
@attrs.frozen
class Shown:
    """The part of a result for a model."""

    text: str
    images: tuple[Image, ...] = ()
    """In the order in which the text names them."""


async def render(result: CallResult, keep: Keep, most: int, *, may_show: bool = True) -> Shown:
    """Return the part of a result for a model.

    Args:
        result: The server's answer.
        keep: Saves files.
        most: The limit in characters; an image counts with its estimated tokens.
        may_show: True if images can be shown; those of an error never are.
    """
    written = sum(len(part.text) for part in result.parts if isinstance(part, TextPart | ResourcePart))
    room = most - min(written, most // 2) if may_show and not result.is_error else 0
    frame = _Frame(keep, room, why_not="" if room else "only text is supported here")
    lines = [await frame.line(part) for part in result.parts]
    if not any(lines) and result.structured is not None:
        lines = [json.dumps(result.structured, ensure_ascii=False, indent=2)]
    text = await _cut(escape_text("\n".join(lines)).strip("\r\n"), most - (room - frame.room), keep)
    return Shown(text, tuple(frame.images))


def text_of(result: CallResult, tool: str, server: str) -> str:
    """Return the text of a result for the program itself, without its other parts.

    Raises:
        CallFailed: The tool failed.
    """
    text = "\n".join(part.text for part in result.parts if isinstance(part, TextPart | ResourcePart))
    if result.is_error:
        raise CallFailed(text or f"{tool} of {server} failed without a reason")
    return text


def clean(text: str) -> str:
    """Return a text without NUL characters, which disturb terminals, and lone surrogates, which are not valid text."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


async def _cut(text: str, most: int, keep: Keep) -> str:
    if len(text) <= most:
        return text
    path = await keep(".txt", text.encode())
    where = f"the whole output: {path}" if path is not None else "the rest was discarded"
    return f"{text[:most]}\n... (cut: {len(text)} characters in total, this is the start; {where}) ..."


@final
class _Frame:
    """Builder of the text: one line for each part, and the images that fit."""

    def __init__(self, keep: Keep, room: int, *, why_not: str) -> None:
        self.room = room
        self.images: list[Image] = []
        self._keep = keep
        self._why_not = why_not

    async def line(self, part: Part) -> str:
        match part:
            case TextPart():
                return part.text
            case ResourcePart():
                return f"[resource {part.uri}]\n{part.text}"
            case LinkPart():
                about = ", ".join(filter(None, (part.mime_type, part.description)))
                return f"[link to {part.name}: {part.uri}{f' ({about})' if about else ''}]"
            case BinaryPart():
                return await self._binary(part)

    async def _binary(self, part: BinaryPart) -> str:
        name = " ".join(filter(None, (part.kind, part.uri, part.mime_type or "of an unknown kind")))
        try:
            content = base64.b64decode(part.base64, validate=True)
        except (binascii.Error, ValueError):
            return f"[{name}: invalid base64]"
        is_image = part.kind == "image" or part.mime_type.startswith("image/")
        why = self._take(content) if is_image else "cannot be shown to a model"
        path = await self._keep(_SUFFIXES.get(part.mime_type.partition(";")[0].strip().lower(), ".bin"), content)
        where = f"saved as {path}" if path is not None else "it was not saved"
        return f"[{name}, {len(content)} bytes: {why or f'shown below as image {len(self.images)}'}; {where}]"

    def _take(self, content: bytes) -> str:
        """Attach an image, or return why it is not shown."""
        if self._why_not:
            return f"not shown, {self._why_not}"
        try:
            image = read_image(content)
        except BadImage as problem:
            return f"not shown, {problem}"
        cost = image.tokens * CHARS_PER_TOKEN
        if cost > self.room:
            return "not shown, no room is left in this result"
        self.room -= cost
        self.images.append(image)
        return ""

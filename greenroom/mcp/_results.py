"""What a call came to, as a model gets it: text and images; what is neither, or too much of it, is kept in files that are named.

Rule 1: nothing is dropped silently. Rule 2: file names are ours, never a server's. Rule 3: the limit is one of both together:
text has half of it for certain, and the images as much as it leaves.
Must not know: the SDK, actors.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs

from greenroom.core import BadImage, Image, escape_text, read_image
from greenroom.mcp._errors import CallFailed
from greenroom.mcp._peer import BinaryPart, CallResult, LinkPart, Part, ResourcePart, TextPart
from greenroom.mcp._settings import CHARS_PER_TOKEN

MAX_OUTPUT_CHARS: Final = 500_000
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


@final
@attrs.frozen
class Shown:
    """What a model gets of a result."""

    text: str
    images: tuple[Image, ...] = ()
    """In the order in which the text names them."""


async def render(result: CallResult, keep: Keep, most: int, *, may_show: bool = True) -> Shown:
    """Return what a model gets.

    Args:
        result: What the server answered.
        keep: Where files go.
        most: How much is shown, in characters; an image counts with what its tokens are taken for.
        may_show: Whether images can be shown; those of an error never are.
    """
    written = sum(len(part.text) for part in result.parts if isinstance(part, TextPart | ResourcePart))
    room = most - min(written, most // 2) if may_show and not result.is_error else 0
    frame = _Frame(keep, room, why_not="" if room else "here there is text alone")
    lines = [await frame.line(part) for part in result.parts]
    if not any(lines) and result.structured is not None:
        lines = [json.dumps(result.structured, ensure_ascii=False, indent=2)]
    text = await _cut(escape_text("\n".join(lines)).strip("\r\n"), most - (room - frame.room), keep)
    return Shown(text, tuple(frame.images))


def text_of(result: CallResult, tool: str, server: str) -> str:
    """Return the text of a result, for the program itself; what is no text is left out.

    Raises:
        CallFailed: The tool failed.
    """
    text = "\n".join(part.text for part in result.parts if isinstance(part, TextPart | ResourcePart))
    if result.is_error:
        raise CallFailed(text or f"{tool} of {server} failed, and does not say why")
    return text


def clean(text: str) -> str:
    """Return a text without what no text should hold: a NUL is poison for terminals, a lone surrogate is no text at all."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


async def _cut(text: str, most: int, keep: Keep) -> str:
    if len(text) <= most:
        return text
    path = await keep(".txt", text.encode())
    where = f"the whole output: {path}" if path is not None else "nothing more of it was kept"
    return f"{text[:most]}\n... (cut: {len(text)} characters in all, of which this is the start; {where}) ..."


@final
class _Frame:
    """Writes a line for each part, and takes the images that there is room for."""

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
            return f"[{name}: it is no base64, so nobody can read it]"
        is_image = part.kind == "image" or part.mime_type.startswith("image/")
        why = self._take(content) if is_image else "a model cannot be shown it"
        path = await self._keep(_SUFFIXES.get(part.mime_type.partition(";")[0].strip().lower(), ".bin"), content)
        where = f"kept as {path}" if path is not None else "it was not kept"
        return f"[{name}, {len(content)} bytes: {why or f'shown below as image {len(self.images)}'}; {where}]"

    def _take(self, content: bytes) -> str:
        """Take an image, or say why it is not shown."""
        if self._why_not:
            return f"not shown, {self._why_not}"
        try:
            image = read_image(content)
        except BadImage as problem:
            return f"not shown, {problem}"
        cost = image.tokens * CHARS_PER_TOKEN
        if cost > self.room:
            return "not shown, there is no room left for it in this result"
        self.room -= cost
        self.images.append(image)
        return ""

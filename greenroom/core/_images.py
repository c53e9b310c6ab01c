"""Images that a model can be shown: what their bytes say of them, and about what they cost.

Rule 1: bytes say what an image is, and nobody's word for it: a provider refuses a request whose image is of another kind than it
is said to be, and with it every later one of the conversation. Rule 2: only the first bytes are looked at; nothing is decoded.
Must not know: providers' clients, disk.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final, TypeAlias, final

import attrs

from greenroom.core._errors import PeerError

MAX_BASE64: Final = 5 * 1024**2
"""The longest image that the Messages API takes, as base64."""
MAX_SIDE: Final = 8_000
"""The longest side that it takes, in pixels."""
MAX_TOKENS: Final = 1_600
"""About what an image costs at most: a larger one is made smaller before the model sees it."""
_PIXELS_PER_TOKEN: Final = 750
_HEAD_BASE64: Final = 256 * 1024
"""So much of an image is looked at for its size; a multiple of four."""

Size: TypeAlias = tuple[int, int]


@final
class BadImage(PeerError):
    """These bytes are no image that a model can be shown; the message says why."""


@final
@attrs.frozen
class Image:
    """An image as a model is shown it. Made by `read_image`, or of what a transcript holds."""

    media_type: str
    base64: str = attrs.field(repr=False)

    @cached_property
    def tokens(self) -> int:
        """About what it costs: a token for 750 pixels, 1,600 at most, which is also what an unknown size is taken for."""
        try:
            _, size = _look(base64.b64decode(self.base64[:_HEAD_BASE64]))
        except (BadImage, ValueError):
            return MAX_TOKENS
        width, height = size
        return max(1, min(-(-width * height // _PIXELS_PER_TOKEN), MAX_TOKENS))


def read_image(content: bytes) -> Image:
    """Return the image that these bytes are.

    Raises:
        BadImage: They are no PNG, JPEG, GIF or WebP, or more than providers take.
    """
    media_type, (width, height) = _look(content)
    if max(width, height) > MAX_SIDE:
        raise BadImage(f"it has {width} x {height} pixels, and no side may have more than {MAX_SIDE:,}")
    text = base64.b64encode(content).decode()
    if len(text) > MAX_BASE64:
        raise BadImage(f"it has {len(content):,} bytes, and an image may have {MAX_BASE64 // 4 * 3:,}")
    return Image(media_type, text)


def _look(content: bytes) -> tuple[str, Size]:
    for media_type, (is_one, size_of) in _KINDS.items():
        if is_one(content):
            try:
                size = size_of(content)
            except IndexError:
                size = (0, 0)
            if min(size) < 1:
                raise BadImage(f"it begins as {media_type} does, and does not say how large it is")
            return media_type, size
    raise BadImage(f"it is none of {', '.join(IMAGE_TYPES)}")


def _number(content: bytes, at: int, count: int, *, is_little: bool = False) -> int:
    if at + count > len(content):
        raise IndexError(at)
    return int.from_bytes(content[at : at + count], "little" if is_little else "big")


def _png_size(content: bytes) -> Size:
    return _number(content, 16, 4), _number(content, 20, 4)


def _gif_size(content: bytes) -> Size:
    return _number(content, 6, 2, is_little=True), _number(content, 8, 2, is_little=True)


def _webp_size(content: bytes) -> Size:
    match content[12:16]:
        case b"VP8X":
            return _number(content, 24, 3, is_little=True) + 1, _number(content, 27, 3, is_little=True) + 1
        case b"VP8L":
            bits = _number(content, 21, 4, is_little=True)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return (
                _number(content, 26, 2, is_little=True) & 0x3FFF,
                _number(content, 28, 2, is_little=True) & 0x3FFF,
            )
    return (0, 0)


_ALONE: Final = frozenset((0x01, *range(0xD0, 0xD9)))
"""Marks of a JPEG that nothing belongs to."""
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def _jpeg_size(content: bytes) -> Size:
    at = 2
    while True:
        while content[at] != 0xFF:
            at += 1
        while content[at] == 0xFF:
            at += 1
        mark = content[at]
        if mark in _FRAMES:
            return _number(content, at + 6, 2), _number(content, at + 4, 2)
        at += 1 if mark in _ALONE else 1 + _number(content, at + 1, 2)


_Kind: TypeAlias = tuple[Callable[[bytes], bool], Callable[[bytes], Size]]
_KINDS: Final[Mapping[str, _Kind]] = {
    "image/png": (lambda content: content.startswith(b"\x89PNG\r\n\x1a\n"), _png_size),
    "image/jpeg": (lambda content: content.startswith(b"\xff\xd8\xff"), _jpeg_size),
    "image/gif": (lambda content: content.startswith((b"GIF87a", b"GIF89a")), _gif_size),
    "image/webp": (lambda content: content.startswith(b"RIFF") and content[8:12] == b"WEBP", _webp_size),
}
IMAGE_TYPES: Final = tuple(_KINDS)
"""The kinds of images that models are shown."""

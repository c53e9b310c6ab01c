"""Images for models: their type and size from their bytes, and their approximate cost.

The bytes decide the type, not a declared one: a provider refuses a request whose image is of another type than
declared, and with it every later request of the conversation. Only the first bytes are read; nothing is decoded.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final, TypeAlias, final

import attrs

from greenroom.core._errors import PeerError

MAX_BASE64: Final = 5 * 1024**2
"""Maximum length of an image in the Messages API, as base64."""
MAX_SIDE: Final = 8_000
"""Maximum side of an image in the Messages API, in pixels."""
MAX_TOKENS: Final = 1_600
"""Approximate maximum cost of an image: larger ones are scaled down before the model sees them."""
_PIXELS_PER_TOKEN: Final = 750
_HEAD_BASE64: Final = 256 * 1024
"""Length of the base64 that is searched for the size; a multiple of four."""

Size: TypeAlias = tuple[int, int]


@final
class BadImage(PeerError):
    """The bytes are not an image that a model can be shown; the message says why."""


@final
@attrs.frozen
class Image:
    """An image for a model. Made by `read_image`, or from a transcript."""

    media_type: str
    base64: str = attrs.field(repr=False)

    @cached_property
    def tokens(self) -> int:
        """Approximate cost: one token for 750 pixels, at most 1,600, which is also the value for an unknown size."""
        try:
            _, size = _look(base64.b64decode(self.base64[:_HEAD_BASE64]))
        except (BadImage, ValueError):
            return MAX_TOKENS
        width, height = size
        return max(1, min(-(-width * height // _PIXELS_PER_TOKEN), MAX_TOKENS))


def read_image(content: bytes) -> Image:
    """Return the image of these bytes.

    Raises:
        BadImage: The bytes are not a PNG, JPEG, GIF or WebP image, or exceed the limits of providers.
    """
    media_type, (width, height) = _look(content)
    if max(width, height) > MAX_SIDE:
        raise BadImage(f"it has {width} x {height} pixels; no side may exceed {MAX_SIDE:,}")
    text = base64.b64encode(content).decode()
    if len(text) > MAX_BASE64:
        raise BadImage(f"it has {len(content):,} bytes; the maximum is {MAX_BASE64 // 4 * 3:,}")
    return Image(media_type, text)


def _look(content: bytes) -> tuple[str, Size]:
    for media_type, (matches, size_of) in _KINDS.items():
        if matches(content):
            try:
                size = size_of(content)
            except IndexError:
                size = (0, 0)
            if min(size) < 1:
                raise BadImage(f"it begins as {media_type} but does not state its size")
            return media_type, size
    raise BadImage(f"it is not an image of a supported type: {', '.join(IMAGE_TYPES)}")


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
"""JPEG markers without a segment."""
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
"""Media types of images that models can be shown."""

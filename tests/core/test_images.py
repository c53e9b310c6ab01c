"""Images: what their bytes say, whatever bytes they are."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import IMAGE_TYPES, BadImage, Image, read_image
from tests.core.images import png

SIDES = st.integers(1, 8_000)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height)


def jpeg(width: int, height: int) -> bytes:
    comment = b"\xff\xfe" + struct.pack(">H", 2 + 300) + b"\xff\xc0\x00" * 100  # what looks like a frame, inside of it
    return b"\xff\xd8" + comment + b"\xff\xff\xc2" + struct.pack(">HBHH", 11, 8, height, width)


def webp_extended(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + sides


def webp_lossless(width: int, height: int) -> bytes:
    return b"RIFF\x1e\0\0\0WEBPVP8L\x0a\0\0\0\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)


def webp_lossy(width: int, height: int) -> bytes:
    return b"RIFF\x1e\0\0\0WEBPVP8 \x0a\0\0\0\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)


MAKERS = [png, gif, jpeg, webp_extended, webp_lossless, webp_lossy]


@pytest.mark.parametrize("make", MAKERS)
@given(width=SIDES, height=SIDES)
def test_an_image_is_what_its_bytes_say(make: Callable[[int, int], bytes], width: int, height: int) -> None:
    content = make(width, height)
    image = read_image(content)

    assert image.media_type == f"image/{make.__name__.partition('_')[0]}"
    assert base64.b64decode(image.base64) == content
    assert image.tokens == min(-(-width * height // 750), 1_600)


@given(st.sampled_from(MAKERS), st.integers(0, 400), st.binary(max_size=40))
def test_whatever_the_bytes_are_there_is_an_image_or_a_reason(
    make: Callable[[int, int], bytes], cut: int, more: bytes
) -> None:
    for content in (make(7, 9)[:cut] + more, more):
        try:
            image = read_image(content)
        except BadImage:
            continue
        assert image.media_type in IMAGE_TYPES
        assert 1 <= image.tokens <= 1_600


def test_images_that_providers_refuse_are_none() -> None:
    with pytest.raises(BadImage, match="8001 x 5 pixels"):
        read_image(png(8_001, 5))
    with pytest.raises(BadImage, match="4,000,000 bytes"):
        read_image(png(5, 5).ljust(4_000_000, b"\0"))
    with pytest.raises(BadImage, match="does not state its size"):
        read_image(gif(0, 5))
    with pytest.raises(BadImage, match="supported type: image/png"):
        read_image(b"<svg/>")


def test_an_image_of_an_unknown_size_costs_the_most() -> None:
    assert Image("image/png", "!").tokens == Image("image/png", "").tokens == 1_600

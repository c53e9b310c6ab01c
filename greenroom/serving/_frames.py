"""Size of the WebSocket message that a peer is sending, read from the headers of its frames before anything of it is kept.

Rule 1: payloads are skipped, never kept. Rule 2: an empty fragment counts, too, because whoever puts messages together keeps a
place for it. This module must not know of streams, or of what a frame says.
"""

from __future__ import annotations

from typing import Final, final

MAX_FRAGMENTS: Final = 4_096
"""Maximum number of fragments of one message."""
_FINAL: Final = 0x80
_MASKED: Final = 0x80
_CONTROL: Final = 0x08
_LONGER: Final = {126: 2, 127: 8}
"""Bytes of an extended length, by the value in its place."""


@final
class FrameGauge:
    """Running size of one peer's current message."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        """Maximum size of a message, in bytes; it may be changed at any time."""
        self._header = bytearray()
        self._payload_left = 0
        self._message_bytes = 0
        self._fragments = 0

    def take(self, chunk: bytes | bytearray) -> bool:
        """Read on, and return True while the current message fits; after that, what it returns has no meaning."""
        at = 0
        while at < len(chunk):
            if self._payload_left:
                step = min(self._payload_left, len(chunk) - at)
                self._payload_left -= step
                at += step
                continue
            self._header.append(chunk[at])
            at += 1
            if len(self._header) == _header_bytes(self._header) and not self._begin_frame():
                return False
        return True

    def _begin_frame(self) -> bool:
        first, second = self._header[:2]
        length = second & 0x7F
        if length in _LONGER:
            length = int.from_bytes(self._header[2 : 2 + _LONGER[length]], "big")
        self._header.clear()
        self._payload_left = length
        if first & _CONTROL:
            return True  # the protocol itself limits these
        self._message_bytes += length
        self._fragments += 1
        fits = self._message_bytes <= self.max_bytes and self._fragments <= MAX_FRAGMENTS
        if first & _FINAL:
            self._message_bytes = self._fragments = 0
        return fits


def _header_bytes(header: bytearray) -> int:
    if len(header) < 2:
        return 2
    return 2 + _LONGER.get(header[1] & 0x7F, 0) + (4 if header[1] & _MASKED else 0)

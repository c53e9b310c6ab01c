"""One numbered channel of a link: what was sent is kept until it is acknowledged, and what comes in is taken once, in order.

Rule 1: a number is given once, and counts from 1 without gaps. Rule 2: a frame is kept until the other side has said that it
has it, so that a new connection can carry it again. Rule 3: a frame that was taken before is absorbed; one that leaves a gap
ends the connection. This module must not know of clocks, Trio, JSON, or what a frame says.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final, final

from greenroom.core import PeerError

MAX_FRAMES: Final = 4_096
"""Default maximum number of frames that wait to be acknowledged, for each channel."""
MAX_BYTES: Final = 8 * 1_048_576
"""Default maximum size of them together, in bytes."""


@final
class WireError(PeerError):
    """The other side has broken the rules of the wire; its connection is closed.

    Attributes:
        code: The close code of the WebSocket: 4002 for numbers that cannot be, 4004 for what cannot be read.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


BAD_NUMBER: Final = 4002
UNREADABLE: Final = 4004


@final
class NumberedChannel:
    """Both directions of one channel, over any number of connections, one after the other.

    Args:
        max_frames: Frames that may wait to be acknowledged.
        max_bytes: Their size together, in bytes.
    """

    __slots__ = (
        "_ahead",
        "_bytes",
        "_first",
        "_max_bytes",
        "_max_frames",
        "_sent_bytes",
        "_told",
        "_top",
        "_waiting",
        "absorbed",
        "got",
    )

    def __init__(self, *, max_frames: int = MAX_FRAMES, max_bytes: int = MAX_BYTES) -> None:
        self.got = 0
        """Number of the last frame that was taken."""
        self.absorbed = 0
        """Frames that came again, so far."""
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._waiting: deque[bytes] = deque()  # not acknowledged, the oldest first
        self._first = 1  # number of the oldest of them
        self._ahead = 0  # how many of them the present connection was given
        self._top = 0  # highest number that any connection was given
        self._bytes = 0
        self._sent_bytes = 0  # size of those that the present connection was given
        self._told = 0  # the `got` that the other side was told last

    # --- out -----------------------------------------------------------------------------------------------------------

    @property
    def next_number(self) -> int:
        """The number that the next frame gets."""
        return self._first + len(self._waiting)

    @property
    def waiting(self) -> int:
        """Number of frames that the other side has not acknowledged."""
        return len(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        """Their size together."""
        return self._bytes

    def has_room(self, size: int = 0) -> bool:
        """Return True if a frame of this size fits into the window. One that is alone fits always."""
        return not self._waiting or (len(self._waiting) < self._max_frames and self._bytes + size <= self._max_bytes)

    def put(self, frame: bytes) -> int:
        """Keep a frame until it is acknowledged, and return its number, which must stand in it: `next_number`.

        The window is the caller's to keep: `has_room`.
        """
        self._waiting.append(frame)
        self._bytes += len(frame)
        return self._first + len(self._waiting) - 1

    def next_batch(
        self, *, max_frames: int, max_bytes: int, in_flight: int | None = None, allows_large: bool = True
    ) -> list[bytes]:
        """Return what the present connection is given next, in order; empty if there is nothing, or no more may be in flight.

        Args:
            max_frames: Maximum number of frames.
            max_bytes: Maximum size of them together, each with one byte for the comma.
            in_flight: Maximum number of frames that the connection was given and that are not acknowledged; None for no limit.
            allows_large: True if a first one that is larger may go alone.
        """
        count = min(max_frames, len(self._waiting) - self._ahead)
        if in_flight is not None:
            count = min(count, in_flight - self._ahead)
        batch: list[bytes] = []
        size = 0
        for frame in islice(self._waiting, self._ahead, self._ahead + max(count, 0)):
            size += len(frame) + 1
            if size > max_bytes and (batch or not allows_large):
                break
            batch.append(frame)
        self._ahead += len(batch)
        self._sent_bytes += sum(map(len, batch))
        self._top = max(self._top, self._first + self._ahead - 1)
        return batch

    def was_sent(self, number: int) -> bool:
        """Return True if any connection was given the frame with this number."""
        return number <= self._top

    def unacknowledged(self) -> list[bytes]:
        """Return the frames that the other side has not acknowledged, oldest first."""
        return list(self._waiting)

    @property
    def in_flight_bytes(self) -> int:
        """Size of the frames that the present connection was given and that are not acknowledged."""
        return self._sent_bytes

    @property
    def has_more(self) -> bool:
        """True if there are frames that the present connection was not given."""
        return self._ahead < len(self._waiting)

    def acknowledge(self, got: int) -> int:
        """Forget the frames up to a number, and return how many those were; an older acknowledgement changes nothing.

        Raises:
            WireError: A frame of this number was never sent.
        """
        if got > self._top:
            raise WireError(BAD_NUMBER, f"frame {got} was acknowledged, and the last one sent was {self._top}")
        gone = max(got - self._first + 1, 0)
        for _ in range(gone):
            size = len(self._waiting.popleft())
            self._bytes -= size
            if self._ahead:
                self._ahead -= 1
                self._sent_bytes -= size
        self._first += gone
        return gone

    def resume(self, got: int) -> None:
        """Begin with a new connection, whose other side has all frames up to a number: the rest is sent again.

        Raises:
            WireError: A frame of this number was never sent, or the other side has lost some that it had acknowledged.
        """
        if got < self._first - 1:
            raise WireError(BAD_NUMBER, f"the other side had frame {self._first - 1}, and now says {got}")
        self.acknowledge(got)
        self._ahead = 0
        self._sent_bytes = 0
        self._told = self.got

    # --- in ------------------------------------------------------------------------------------------------------------

    def take(self, number: int) -> bool:
        """Return True if a frame is the next one, and False if it came before.

        Raises:
            WireError: Frames before it are missing.
        """
        if number == self.got + 1:
            self.got = number
            return True
        if number <= self.got:
            self.absorbed += 1
            return False
        raise WireError(BAD_NUMBER, f"frame {number} came after frame {self.got}")

    @property
    def owed(self) -> int:
        """Number of frames that were taken and not acknowledged yet."""
        return self.got - self._told

    def acknowledged(self) -> int:
        """Return the number to acknowledge, which is told by sending it."""
        self._told = self.got
        return self.got

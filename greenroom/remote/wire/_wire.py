"""The numbered conversation of two nodes: frames in, messages out, and the other way round.

    wire.put(TellFrame(to=1, lane="next", value=5))
    message = wire.next_message()                    # b'[[0],[0,[1,"tell",1,"next",5,0,0]]]'
    other.receive(message, lambda number, frame: ...)

A message has a batch of the control channel and one of the data channel, each `[got, frame, ...]`, where `got` acknowledges the frames
of the other side. Rule 1: control goes first, and data is given to a connection in small pieces, so that an order is never behind a flood.
Rule 2: a frame is delivered in the step in which it is taken, so what is acknowledged has been delivered. Rule 3: whatever comes
in, the worst is a `WireError`. This module must not know of clocks, Trio, sockets or actors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

import attrs
import orjson

from greenroom.core import UsageError
from greenroom.remote.wire._link_frames import FRAME_OF, FRAMES, AnswerFrame, ChannelName, LinkFrame
from greenroom.remote.wire._numbered_channel import (
    BAD_NUMBER,
    MAX_BYTES,
    MAX_FRAMES,
    UNREADABLE,
    NumberedChannel,
    WireError,
)

MAX_MESSAGE: Final = 4 * 1_048_576
"""Default maximum size of a message, in bytes."""
MAX_DEPTH: Final = 64
"""Maximum nesting of a value."""
_BATCH_FRAMES: Final = 256
_BATCH_BYTES: Final = 256 * 1_024
_IN_FLIGHT_FRAMES: Final = 512
_IN_FLIGHT_BYTES: Final = 128 * 1_024
_FRAME_OVERHEAD: Final = 64
"""Bytes of a message around a frame that goes alone."""
_SMALL_BYTES: Final = 16_384
"""Size up to which an answer is never refused."""
ACKNOWLEDGE_FRAMES: Final = 256
"""Number of frames after which an acknowledgement is sent alone."""
_FIELD_NAMES: Final = {each: tuple(field.name for field in attrs.fields(each)) for each in FRAMES}
_Deliver = Callable[[int, LinkFrame], None]


@final
@attrs.frozen(kw_only=True)
class WireStatistics:
    """Figures of a wire."""

    waiting: int
    """Frames that wait to be acknowledged."""
    waiting_bytes: int
    absorbed: int
    """Frames that came again, so far."""
    got: int
    """Frames that were taken, so far."""
    put: int
    """Frames that were put, so far."""


@final
class LinkWire:
    """One link's numbers and windows. It outlives connections: `resume` begins each further one.

    Args:
        max_message: Maximum size of a message in bytes, which both sides keep.
        max_frames: Frames of one channel that may wait to be acknowledged.
        max_bytes: Their size together, in bytes.
    """

    def __init__(
        self, *, max_message: int = MAX_MESSAGE, max_frames: int = MAX_FRAMES, max_bytes: int = MAX_BYTES
    ) -> None:
        self.max_message = max_message
        self.control = NumberedChannel(max_frames=max_frames, max_bytes=max_bytes)
        self.data = NumberedChannel(max_frames=max_frames, max_bytes=max_bytes)
        self.is_full = False
        """True from a refused `put` until the other side acknowledges data."""
        self._max_unacknowledged = 4 * max_frames
        self._max_unacknowledged_bytes = 4 * max_bytes

    def put(self, frame: LinkFrame) -> int | None:
        """Keep a frame until the other side has it. Return its number on its channel; None if it is refusable and the window full.

        Raises:
            UsageError: It is too large or too deeply nested, or holds what JSON cannot express; or it is a large answer, and those that the
                other side has not acknowledged are four times what the window holds.
        """
        kind = frame.__class__
        channel = self.channel(kind.channel)
        if kind.is_refusable and not channel.has_room():
            self.is_full = True
            return None
        number = channel.next_number
        fields = [getattr(frame, name) for name in _FIELD_NAMES[kind]]
        if is_deeper(fields, MAX_DEPTH + 1):
            raise UsageError(f"a {kind.kind!r} cannot be sent: it is nested deeper than {MAX_DEPTH}")
        try:
            # A copy: what orjson 3.13 returns keeps a buffer of 4 KiB, and a frame is kept until it is acknowledged.
            text = orjson.dumps([number, kind.kind, *fields])[:-1] + b"]"
        except TypeError as error:
            raise UsageError(f"a {kind.kind!r} cannot be sent: {error}") from None
        if len(text) > self.max_message - _FRAME_OVERHEAD:
            raise UsageError(
                f"a {kind.kind!r} of {len(text):,} bytes is too large: a message may have {self.max_message:,} bytes"
            )
        if kind.is_refusable and not channel.has_room(len(text)):
            self.is_full = True
            return None
        if (
            kind is AnswerFrame
            and len(text) > _SMALL_BYTES
            and channel.waiting_bytes + len(text) > self._max_unacknowledged_bytes
        ):
            raise UsageError(
                f"an {kind.kind!r} of {len(text):,} bytes cannot be sent: {channel.waiting_bytes:,} bytes are not acknowledged"
            )
        return channel.put(text)

    def next_message(self) -> bytes | None:
        """Return what the present connection has to carry next; None if there is nothing new to say."""
        size = min(_BATCH_BYTES, self.max_message - _FRAME_OVERHEAD)
        control = self.control.next_batch(max_frames=_BATCH_FRAMES, max_bytes=size)
        size = min(size - sum(map(len, control)) - len(control), _IN_FLIGHT_BYTES - self.data.in_flight_bytes)
        data: list[bytes] = []
        if size > 0:
            data = self.data.next_batch(
                max_frames=_BATCH_FRAMES, max_bytes=size, in_flight=_IN_FLIGHT_FRAMES, allows_large=not control
            )
        if not control and not data and not self.must_acknowledge:
            return None
        return self.acknowledgement(control, data)

    def acknowledgement(self, control: list[bytes] | None = None, data: list[bytes] | None = None) -> bytes:
        """Return a message that acknowledges what has come, with these frames; without any it says that this side is alive."""
        return b"[[%b],[%b]]" % (
            b",".join((b"%d" % self.control.acknowledged(), *(control or ()))),
            b",".join((b"%d" % self.data.acknowledged(), *(data or ()))),
        )

    @property
    def owed(self) -> int:
        """Number of frames that have come and were not acknowledged yet."""
        return self.control.owed + self.data.owed

    @property
    def is_acknowledged(self) -> bool:
        """True if the other side has said of every frame that it has it."""
        return not self.control.waiting and not self.data.waiting

    @property
    def must_acknowledge(self) -> bool:
        """True if enough have come that the other side must not wait for a frame to carry the acknowledgement."""
        return self.owed >= ACKNOWLEDGE_FRAMES

    @property
    def has_more(self) -> bool:
        """True if there are frames that the present connection was not given."""
        return self.control.has_more or self.data.has_more

    def got(self) -> tuple[int, int]:
        """Return the numbers of the last control frame and the last data frame that were taken, for a hello."""
        return self.control.got, self.data.got

    def resume(self, got: tuple[int, int]) -> None:
        """Begin with a new connection, whose other side has these frames: what it has not is sent again.

        Raises:
            WireError: These numbers cannot be.
        """
        self.control.resume(got[0])
        waiting = self.data.waiting
        self.data.resume(got[1])
        self.is_full = self.is_full and self.data.waiting == waiting

    def receive(self, message: bytes | str, deliver: _Deliver) -> None:
        """Take a message: acknowledge, and deliver each new frame with its number, control before data.

        Args:
            message: What a connection has brought.
            deliver: Called with each; what it does is done when this returns. It raises nothing but `WireError`.

        Raises:
            WireError: It breaks the rules; the frames before the place were delivered, those behind it were not.
        """
        for channel, name, batch in zip(
            (self.control, self.data), ChannelName, _batches(message, self.max_message), strict=True
        ):
            got = batch[0] if batch else None
            if type(got) is not int or got < 0:
                raise WireError(UNREADABLE, f"{name}[0]: an acknowledgement is missing")
            if channel.acknowledge(got) and channel is self.data:
                self.is_full = False
            for place, each in enumerate(batch[1:], 1):
                number, frame = _frame_of(each, name, place)
                self._check_unacknowledged()
                if channel.take(number):
                    deliver(number, frame)

    def _check_unacknowledged(self) -> None:
        """Refuse a peer that has others answer it and acknowledges none of the answers."""
        unacknowledged = max(self.control.waiting, self.data.waiting)
        if unacknowledged > self._max_unacknowledged:
            raise WireError(BAD_NUMBER, f"{unacknowledged:,} frames were sent and not acknowledged")
        size = self.control.waiting_bytes + self.data.waiting_bytes
        if size > 2 * self._max_unacknowledged_bytes:
            raise WireError(BAD_NUMBER, f"{size:,} bytes were sent and not acknowledged")

    def channel(self, name: ChannelName) -> NumberedChannel:
        """Return a channel."""
        return self.data if name is ChannelName.DATA else self.control

    def unacknowledged(self) -> list[tuple[int, LinkFrame]]:
        """Return the data frames that the other side has not acknowledged, with their numbers, oldest first."""
        return [_frame_of(orjson.loads(text), ChannelName.DATA, 0) for text in self.data.unacknowledged()]

    def statistics(self) -> WireStatistics:
        """Return the figures at this moment."""
        both = (self.control, self.data)
        return WireStatistics(
            waiting=sum(each.waiting for each in both),
            waiting_bytes=sum(each.waiting_bytes for each in both),
            absorbed=sum(each.absorbed for each in both),
            got=sum(each.got for each in both),
            put=sum(each.next_number - 1 for each in both),
        )


def _batches(message: bytes | str, max_message: int) -> list[list[Any]]:
    if len(message) > max_message:
        raise WireError(UNREADABLE, f"a message of {len(message):,} bytes is larger than {max_message:,}")
    try:
        batches = orjson.loads(message)
    except ValueError as error:
        raise WireError(UNREADABLE, f"no JSON: {str(error).partition(':')[0]}") from None
    if not isinstance(batches, list) or len(batches) != len(ChannelName):
        raise WireError(UNREADABLE, "a message must be two batches")
    for batch in batches:
        if not isinstance(batch, list):
            raise WireError(UNREADABLE, "a batch must be a list")
    return batches


def _frame_of(values: Any, name: ChannelName, place: int) -> tuple[int, LinkFrame]:
    if not isinstance(values, list) or len(values) < 2 or type(values[0]) is not int or values[0] < 1:
        raise WireError(UNREADABLE, f"{name}[{place}]: a frame must begin with its number and its kind")
    kind = FRAME_OF.get(values[1]) if isinstance(values[1], str) else None
    if kind is None or kind.channel is not name:
        raise WireError(UNREADABLE, f"{name}[{place}]: no kind of frame of this channel")
    if is_deeper(values, MAX_DEPTH + 1):
        raise WireError(UNREADABLE, f"{name}[{place}]: nested deeper than {MAX_DEPTH}")
    try:
        return values[0], kind(*values[2:])
    except TypeError as error:
        raise WireError(UNREADABLE, f"{name}[{place}].{kind.kind}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    """Return the text of an error without the values that it may show."""
    return str(error.args[0] if error.args else type(error).__name__).partition("\n")[0][:200]


def is_deeper(value: Any, levels: int) -> bool:
    """Return True if lists and objects are nested deeper than this."""
    if isinstance(value, list):
        return levels == 0 or any(is_deeper(each, levels - 1) for each in value if isinstance(each, list | dict))
    if isinstance(value, dict):
        return levels == 0 or any(
            is_deeper(each, levels - 1) for each in value.values() if isinstance(each, list | dict)
        )
    return False

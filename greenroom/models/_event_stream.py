"""Server-sent events: from chunks of bytes to the data of each event.

Rule 1: chunks may be cut anywhere. Rule 2: an event counts once its blank line has come; what is behind the last one is
not an event. Rule 3: nothing but `data` is read, because the provider repeats the event's name there.
Must not know: sockets, Trio, what the data means.
"""

from __future__ import annotations

from typing import Final, final

LARGEST_EVENT_BYTES: Final = 64 * 1024 * 1024


@final
class EventParser:
    """Collects the chunks of one response. Lines end in LF or CRLF."""

    __slots__ = ("_lines", "_rest", "_size")

    def __init__(self) -> None:
        self._rest = b""  # of a line
        self._lines: list[bytes] = []  # of data, of the event that is not complete
        self._size = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that `chunk` completes.

        Raises:
            ValueError: The data is no UTF-8, or an event is larger than any real one.
        """
        events = []
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            name, _, value = line.removesuffix(b"\r").partition(b":")
            if name == b"data":
                self._lines.append(value.removeprefix(b" "))
                self._size += len(value)
            elif not name and not value:
                # Half characters that a server wrote as such pass here, and are repaired with those in JSON escapes.
                text = b"\n".join(self._lines).decode("utf-8", "surrogatepass")
                self._lines.clear()
                self._size = 0
                if text:
                    events.append(text)
        if self._size + len(self._rest) > LARGEST_EVENT_BYTES:
            raise ValueError(f"an event of more than {LARGEST_EVENT_BYTES} bytes")
        return events

"""Frames that wait to be sent on one connection: answers and events, in their order, within limits.

Rule 1: adding never waits. Rule 2: an event is numbered when it is taken to be sent, so the numbers that a client sees have no holes.
Rule 3: beyond the limits deltas are lost, then all other events that wait, and one `gap` says which; answers are never lost. Rule 4: a
delta is only merged with one before it if no other event of its session stands between them.

Must not know: sockets, tokens, time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.core.texts import as_json
from greenroom.gateway.rpc._rpc_frames import MAX_BYTES

MAX_EVENTS: Final = 256
"""Events that wait."""
MAX_EVENT_BYTES: Final = MAX_BYTES
"""Bytes of the events that wait."""
MAX_GAP_SESSIONS: Final = 100
"""Sessions that a gap names; beyond that it names none, which means any."""
GAP: Final = "gap"
_SEQ_BYTES: Final = 32


@final
@attrs.define(eq=False)
class Published:
    """An event, made once for all connections; a delta has the id of its message."""

    event: str
    session: str
    """Key of the session; empty if it is of none."""
    payload: Mapping[str, Any]
    delta_of: str = ""
    """Id of the message whose text goes on; empty for other events."""
    _made: tuple[str, int] | None = None

    @property
    def head(self) -> str:
        """The frame up to its number."""
        return self._written()[0]

    @property
    def size(self) -> int:
        """Bytes of the frame, a little more than less."""
        return self._written()[1]

    def _written(self) -> tuple[str, int]:
        if self._made is None:  # once, for all connections
            frame = as_json({"type": "event", "event": self.event, "payload": self.payload})
            self._made = f'{frame[:-1].decode()},"seq":', len(frame) + _SEQ_BYTES
        return self._made

    def with_more(self, later: Published) -> Published:
        """Return the delta that stands for this one and the next one."""
        text = f"{self.payload['message']}{later.payload['message']}"
        return Published(self.event, self.session, {**self.payload, "message": text}, self.delta_of)


@final
@attrs.define(eq=False)
class _Waiting:
    published: Published
    size: int


@final
class FrameOutbox:
    """Answers and events that wait."""

    def __init__(self) -> None:
        self._items: OrderedDict[int, _Waiting | str] = OrderedDict()
        self._next = 0
        self._last: dict[str, int] = {}
        self._events = self._event_bytes = self._deltas = self._answer_bytes = 0
        self._gap: int | None = None
        self._lost: tuple[dict[str, None], dict[str, None] | None] = ({}, {})
        self.seq = 0
        """Number of the last event that was taken."""
        self.lost = 0
        """Events that were lost so far."""

    def __len__(self) -> int:
        return len(self._items)

    @property
    def answer_bytes(self) -> int:
        """Bytes of the answers that wait."""
        return self._answer_bytes

    @property
    def event_bytes(self) -> int:
        """Bytes of the events that wait."""
        return self._event_bytes

    def add_answer(self, frame: str) -> None:
        """Add an answer."""
        self._append(frame)
        self._answer_bytes += len(frame)

    def add(self, published: Published) -> None:
        """Add an event, or lose some."""
        before = self._last.get(published.session)
        size = published.size
        if published.delta_of and before is not None:
            waiting = self._items[before]
            if isinstance(waiting, _Waiting) and waiting.published.delta_of == published.delta_of:
                self._extend(waiting, published, size)
                return
        if not self._fits(size) and self._deltas:
            self._lose_deltas()
        if not self._fits(size):
            if published.delta_of:
                self._note_lost(published)
                return
            self._lose_all()
            if not self._fits(size):
                self._note_lost(published)
                return
        self._last[published.session] = self._append(_Waiting(published, size))
        self._events += 1
        self._event_bytes += size
        self._deltas += bool(published.delta_of)

    def take(self) -> str | None:
        """Return the next frame to be sent; None if there is none."""
        if not self._items:
            return None
        number, item = self._items.popitem(last=False)
        if isinstance(item, str):
            self._answer_bytes -= len(item)
            return item
        if number == self._gap:
            published = self._take_gap()
        else:
            published = item.published
            self._forget(number, item)
        self.seq += 1
        return f"{published.head}{self.seq}}}"

    # --- limits -------------------------------------------------------------------------------------------------------

    def _fits(self, size: int) -> bool:
        return self._events < MAX_EVENTS and self._event_bytes + size <= MAX_EVENT_BYTES

    def _extend(self, waiting: _Waiting, published: Published, size: int) -> None:
        if self._event_bytes + size > MAX_EVENT_BYTES:
            self._lose_deltas()
            self._note_lost(published)
            return
        waiting.published = waiting.published.with_more(published)
        waiting.size += size
        self._event_bytes += size

    def _lose_deltas(self) -> None:
        self._lose([number for number, item in self._items.items() if _is_delta(item)])

    def _lose_all(self) -> None:
        self._lose(
            [number for number, item in self._items.items() if isinstance(item, _Waiting) and number != self._gap]
        )

    def _lose(self, numbers: list[int]) -> None:
        for number in numbers:
            item = self._items[number]
            assert isinstance(item, _Waiting)
            self._note_lost(item.published)
            del self._items[number]
            self._forget(number, item)

    def _note_lost(self, published: Published) -> None:
        self.lost += 1
        events, sessions = self._lost
        events[published.event] = None
        if sessions is not None:
            sessions[published.session] = None
            if not published.session or len(sessions) > MAX_GAP_SESSIONS:
                self._lost = (events, None)
        if self._gap is None:
            self._gap = self._append(_Waiting(_NO_EVENT, 0))
            self._last.clear()  # what comes is not merged with what stands before the gap

    def _take_gap(self) -> Published:
        events, sessions = self._lost
        self._gap, self._lost = None, ({}, {})
        named = None if sessions is None else list(sessions)
        return Published(GAP, "", {"events": list(events), "sessionKeys": named})

    def _append(self, item: _Waiting | str) -> int:
        self._next += 1
        self._items[self._next] = item
        return self._next

    def _forget(self, number: int, item: _Waiting) -> None:
        self._events -= 1
        self._event_bytes -= item.size
        self._deltas -= bool(item.published.delta_of)
        if self._last.get(item.published.session) == number:
            del self._last[item.published.session]


_NO_EVENT: Final = Published(GAP, "", {})


def _is_delta(item: _Waiting | str) -> bool:
    return isinstance(item, _Waiting) and bool(item.published.delta_of)

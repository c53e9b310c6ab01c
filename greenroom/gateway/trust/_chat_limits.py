"""Limits of chats: messages in a minute, and turns that wait; and the record of what was refused, which is bounded as well.

Rule 1: what is refused is told once, then dropped and counted. Rule 2: nothing here grows with the number of messages or of chats.
Must not know: texts, sessions, disk.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from enum import StrEnum
from typing import Final, final

import attrs

MINUTE_S: Final = 60.0
MAX_CHATS: Final = 1_000
"""Chats whose messages are counted; the one that was silent longest is forgotten for another one."""


class LimitVerdict(StrEnum):
    """The verdict about one more message."""

    TAKE = "take"
    TELL = "tell"
    """It is dropped, and its chat is told why."""
    DROP = "drop"
    """It is dropped; the chat was told."""


@final
@attrs.define
class _Chat:
    times: deque[float] = attrs.field(factory=deque)
    dropped: int = 0
    """Messages that were dropped since the last one that was taken."""


@final
@attrs.define
class ChatLimits:
    """Counts of the messages of each chat."""

    _chats: OrderedDict[str, _Chat] = attrs.field(factory=OrderedDict, init=False)

    def take(self, chat: str, now_s: float, *, per_minute: int, waiting: int, max_waiting: int) -> LimitVerdict:
        """Count a message, and return whether it is taken.

        Args:
            chat: The chat.
            now_s: A clock; one that is set back begins a new minute.
            per_minute: Messages that are taken in a minute.
            waiting: Turns of the chat that would wait with it, besides the one that it would be part of.
            max_waiting: Turns that may wait.
        """
        row = self._chats.setdefault(chat, _Chat())
        self._chats.move_to_end(chat)
        while len(self._chats) > MAX_CHATS:
            self._chats.popitem(last=False)
        while row.times and not 0 <= now_s - row.times[0] < MINUTE_S:
            row.times.popleft()
        if len(row.times) < per_minute and waiting < max_waiting:
            row.times.append(now_s)
            row.dropped = 0
            return LimitVerdict.TAKE
        row.dropped += 1
        return LimitVerdict.TELL if row.dropped == 1 else LimitVerdict.DROP

    def wait_s(self, chat: str, now_s: float) -> float:
        """Return the seconds until one more message may be taken."""
        row = self._chats.get(chat)
        return max(0.0, row.times[0] + MINUTE_S - now_s) if row is not None and row.times else 0.0

    def dropped(self, chat: str) -> int:
        """Return the number of messages of a chat that were dropped since the last one that was taken."""
        row = self._chats.get(chat)
        return 0 if row is None else row.dropped


@final
@attrs.define
class RefusalLog:
    """Which refusals are put on record: the first of each chat and reason, and then one a minute with the number of those between.

    All chats together have at most 60 a minute.
    """

    _last: OrderedDict[tuple[str, str], tuple[float, int]] = attrs.field(factory=OrderedDict, init=False)
    _times: deque[float] = attrs.field(factory=lambda: deque(maxlen=60), init=False)
    unrecorded: int = attrs.field(default=0, init=False)
    """Refusals that are not on record and belong to no later record either."""

    def note(self, chat: str, reason: str, now_s: float) -> str:
        """Count a refusal, and return the words for the record; empty if none is made."""
        last_s, count = self._last.pop((chat, reason), (0.0, -1))
        is_known = count >= 0 and 0 <= now_s - last_s < MINUTE_S
        is_full = len(self._times) == 60 and 0 <= now_s - self._times[0] < MINUTE_S
        if is_known or is_full:
            self._last[chat, reason] = (last_s if is_known else now_s - MINUTE_S, max(count, 0) + 1)
            words = ""
        else:
            self._last[chat, reason] = (now_s, 0)
            self._times.append(now_s)
            words = f"{reason}; {count} more since the last record" if count > 0 else reason
        if len(self._last) > MAX_CHATS:
            self.unrecorded += self._last.popitem(last=False)[1][1]
        return words

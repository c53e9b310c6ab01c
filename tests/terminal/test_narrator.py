"""The words in which views show events."""

from __future__ import annotations

from greenroom.session import EVENTS
from greenroom.terminal._narrator import EVENT_WORDS


def test_every_kind_with_words_is_an_event() -> None:
    assert set(EVENT_WORDS) <= {event.kind for event in EVENTS}

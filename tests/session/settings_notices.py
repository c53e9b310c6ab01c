"""Notices of a session about its settings."""

from __future__ import annotations

from collections.abc import AsyncIterator

import trio

from greenroom.agents.events import AgentNoticed
from greenroom.core import Event
from greenroom.session import Session
from greenroom.session.settings._settings_watch import LOOK_S
from tests.session.teamwork import told as events_of

SEEN_S = 3 * LOOK_S
"""Seconds after which an edit is in force."""


def notices(session: Session) -> list[str]:
    """Return what people were told of settings."""
    return [event.text for event in events_of(session, AgentNoticed) if event.source == "settings"]


async def next_notice(stream: AsyncIterator[Event]) -> str:
    """Wait for the next thing that people are told of settings."""
    with trio.fail_after(30):
        async for event in stream:
            if isinstance(event, AgentNoticed) and event.source == "settings":
                return event.text
    raise AssertionError("the session has ended")

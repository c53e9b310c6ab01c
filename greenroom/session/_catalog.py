"""The events that a session's journal can hold, and how they add up to its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from greenroom import actors, hooks, inbox, mailbox, mcp, patterns, supervisor, tasks, teams, views, worktrees
from greenroom.agents import events as agent_events
from greenroom.core import Event
from greenroom.session._events import EVENTS as SESSION_EVENTS
from greenroom.session.schedules import _schedule_events as schedule_events

EVENTS: Final = (
    *mailbox.EVENTS,
    *actors.EVENTS,
    *supervisor.EVENTS,
    *patterns.EVENTS,
    *hooks.EVENTS,
    *mcp.EVENTS,
    *inbox.EVENTS,
    *tasks.EVENTS,
    *worktrees.EVENTS,
    *agent_events.EVENTS,
    *teams.EVENTS,
    *SESSION_EVENTS,
    *schedule_events.EVENTS,
)
"""Every event that a session's journal can hold."""

FOLDS: Final[tuple[tuple[str, type[Event], str | tuple[str, ...], Callable[..., Any]], ...]] = (
    *views.FOLDS,
    *mcp.FOLDS,
    *tasks.FOLDS,
    *agent_events.FOLDS,
    *teams.FOLDS,
    *schedule_events.FOLDS,
)
"""The folds of these events into the state of a session."""

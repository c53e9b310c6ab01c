"""The events that a session's journal can hold, and how they add up to its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from greenroom import actors, agents, hooks, mailbox, mcp, patterns, supervisor, tasks, teams, views, worktrees
from greenroom.core import Event
from greenroom.session._events import EVENTS as SESSION_EVENTS

EVENTS: Final = (
    *mailbox.EVENTS,
    *actors.EVENTS,
    *supervisor.EVENTS,
    *patterns.EVENTS,
    *hooks.EVENTS,
    *mcp.EVENTS,
    *tasks.EVENTS,
    *worktrees.EVENTS,
    *agents.EVENTS,
    *teams.EVENTS,
    *SESSION_EVENTS,
)
"""Every event that a session's journal can hold."""

FOLDS: Final[tuple[tuple[str, type[Event], str | tuple[str, ...], Callable[..., Any]], ...]] = (
    *views.FOLDS,
    *mcp.FOLDS,
    *tasks.FOLDS,
    *agents.FOLDS,
    *teams.FOLDS,
)
"""The folds of these events into the state of a session."""

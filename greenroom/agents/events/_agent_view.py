"""The usage and the activity of agents, folded from their events."""

from __future__ import annotations

from typing import Any, Final, final

import attrs

from greenroom.agents.events._agent_events import (
    AgentDefined,
    ModelBegan,
    ModelEnded,
    ModelRetried,
    ToolBegan,
    ToolEnded,
)
from greenroom.core import altered, frozen
from greenroom.models import Usage


@final
@frozen(kw_only=True)
class AgentView:
    """One agent, as its events tell of it."""

    definition: str = ""
    model: str = ""
    requests: int = 0
    """Model requests that have ended."""
    failed_requests: int = 0
    tool_calls: int = 0
    """Tool calls that have ended."""
    failed_calls: int = 0
    usage: Usage = attrs.field(factory=Usage)
    doing: str = ""
    """The latest activity of its turn: `thinking`, or a tool and what it is about."""

    def lost(self) -> AgentView:
        """Return what is left when the process is gone: everything but what it was doing."""
        return altered(self, doing="")


_NEW: Final = AgentView()
THINKING: Final = "thinking"


def defined(before: AgentView | None, event: AgentDefined) -> AgentView:
    """Say what kind of agent it is."""
    return altered(before or _NEW, definition=event.definition, model=event.model)


def model_began(before: AgentView | None, event: ModelBegan) -> AgentView:
    """Think."""
    return _with(before or _NEW, event, THINKING)


def model_ended(before: AgentView | None, event: ModelEnded) -> AgentView:
    """Count a request and what it cost."""
    view = before or _NEW
    used = Usage(
        event.input_tokens,
        event.output_tokens,
        event.cache_creation_input_tokens,
        event.cache_read_input_tokens,
    )
    failed = view.failed_requests + (event.state == "failed")
    return _with(view, event, "", requests=view.requests + 1, failed_requests=failed, usage=view.usage + used)


def model_retried(before: AgentView | None, event: ModelRetried) -> AgentView:
    """Wait for another attempt."""
    return _with(before or _NEW, event, retry_text(event.error, event.delay_s))


def tool_began(before: AgentView | None, event: ToolBegan) -> AgentView:
    """Use a tool."""
    return _with(before or _NEW, event, f"{event.tool} {event.summary}".rstrip())


def tool_ended(before: AgentView | None, event: ToolEnded) -> AgentView:
    """Count a call."""
    view = before or _NEW
    failed = view.failed_calls + (event.state == "failed")
    return _with(view, event, "", tool_calls=view.tool_calls + 1, failed_calls=failed)


def retry_text(error: str, delay_s: float) -> str:
    """Return what people read of a wait for another attempt."""
    return f"{error}, tried again in {delay_s:.0f} s" if delay_s >= 1 else f"{error}, tried again"


def _with(
    view: AgentView, event: ModelBegan | ModelEnded | ModelRetried | ToolBegan | ToolEnded, doing: str, **counts: Any
) -> AgentView:
    """Return a view with what the agent does, and other counts; what runs beside its turns is not what it does."""
    return altered(view, doing=doing if event.turn else view.doing, **counts)


FOLDS: Final = (
    ("agents", AgentDefined, "actor", defined),
    ("agents", ModelBegan, "actor", model_began),
    ("agents", ModelEnded, "actor", model_ended),
    ("agents", ModelRetried, "actor", model_retried),
    ("agents", ToolBegan, "actor", tool_began),
    ("agents", ToolEnded, "actor", tool_ended),
)
"""`(section, event class, key field, function)`, as `greenroom.trace` reads them."""

"""Signs of life of a stream: every 30 s, the calls of the main agent that still run.

A call is spoken of once it has run for so long, and then each time as much has passed. Of a call that started an agent it
is said of what type that is, and whether its model is asked again at the moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents.events import AgentDefined, ModelEnded, ModelRetried, ToolBegan, ToolEnded
from greenroom.core import Event

Line: TypeAlias = dict[str, Any]

BEAT_S: Final = 30.0


@final
@attrs.define
class _RunningCall:
    tool: str
    began_s: float
    due_s: float
    agent_type: str = ""
    retry: Line | None = None


@final
class Beats:
    """The calls of the main agent that run.

    Args:
        main: Its actor.
    """

    def __init__(self, main: str) -> None:
        self._main = main
        self._calls: dict[str, _RunningCall] = {}
        self._call_of: dict[str, str] = {}
        """By actor, the call of the main agent's that started it."""

    def __repr__(self) -> str:
        return f"<Beats: {len(self._calls)} calls run>"

    @staticmethod
    def is_about(kind: type[Event]) -> bool:
        """Return True if events of a class are looked at."""
        return kind in _HANDLERS

    def see(self, event: Event, *, now_s: float) -> None:
        """Take an event in."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event, now_s)

    @property
    def due_s(self) -> float:
        """When there is something to say next, on the run's clock; infinite while no call runs."""
        return min((call.due_s for call in self._calls.values()), default=math.inf)

    def beat(self, now_s: float) -> list[Line]:
        """Return what is to be said now, without `uuid` and `session_id`."""
        lines = []
        for call_id, call in self._calls.items():
            if call.due_s > now_s:
                continue
            call.due_s += BEAT_S * (1 + (now_s - call.due_s) // BEAT_S)
            line: Line = {
                "type": "tool_progress",
                "tool_use_id": call_id,
                "tool_name": call.tool,
                "parent_tool_use_id": None,
                "elapsed_time_seconds": round(now_s - call.began_s, 3),
            }
            if call.agent_type:
                line["subagent_type"] = call.agent_type
            if call.retry is not None:
                line["subagent_retry"] = call.retry
            lines.append(line)
        return lines

    # --- events ----------------------------------------------------------------------------------------------------

    def _began(self, event: ToolBegan, now_s: float) -> None:
        if event.actor == self._main and event.turn:
            self._calls[event.call] = _RunningCall(event.tool, now_s, now_s + BEAT_S)

    def _ended(self, event: ToolEnded, _: float) -> None:
        if event.actor == self._main:
            self._calls.pop(event.call, None)

    def _defined(self, event: AgentDefined, _: float) -> None:
        call = self._calls.get(event.call)
        if call is not None:
            call.agent_type = event.definition
            self._call_of[event.actor] = event.call

    def _retried(self, event: ModelRetried, _: float) -> None:
        call = self._calls.get(self._call_of.get(event.actor or "", ""))
        if call is not None:
            call.retry = {
                "attempt": event.attempt - 1,
                "max_retries": max(event.attempts - 1, 0),
                "retry_delay_ms": round(event.delay_s * 1000),
                "error_status": event.status,
            }

    def _answered(self, event: ModelEnded, _: float) -> None:
        call = self._calls.get(self._call_of.get(event.actor or "", ""))
        if call is not None:
            call.retry = None


_HANDLERS: Final[Mapping[type[Event], Callable[[Beats, Any, float], None]]] = {
    AgentDefined: Beats._defined,
    ModelEnded: Beats._answered,
    ModelRetried: Beats._retried,
    ToolBegan: Beats._began,
    ToolEnded: Beats._ended,
}

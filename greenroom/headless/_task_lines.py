"""The lines of a stream about background tasks, as a fold over the events of a session.

It is a function of events and of the times at which they came. Whatever was announced has an end, and nothing has one that
was not. An agent is announced when it begins; a command only once no call waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents.events import (
    AgentDefined,
    AgentSummarized,
    ModelEnded,
    PermissionAnswered,
    PermissionAsked,
    ToolBegan,
)
from greenroom.core import Event
from greenroom.tasks import AGENT, MONITOR, SHELL, Progress, TaskBegan, TaskEnded, TaskMoved, TaskState, describe_end

Line: TypeAlias = dict[str, Any]

STOPPED: Final = "stopped"
"""The status of a killed task on the stream."""


@final
@attrs.define
class _Running:
    began: TaskBegan
    began_s: float
    is_background: bool
    is_announced: bool = False
    last_tool: str = ""
    progress: Progress = attrs.field(factory=Progress)

    def about(self) -> Line:
        """Return what names it in each line."""
        return {"task_id": self.began.task, **({"tool_use_id": self.began.call} if self.began.call else {})}

    @property
    def type(self) -> str:
        """Its type; to readers of the stream, a monitor is a shell."""
        return SHELL if self.began.type == MONITOR else self.began.type

    def usage(self, now_s: float) -> Line:
        """Return what it has used so far."""
        return {
            "total_tokens": self.progress.token_count,
            "tool_uses": self.progress.tool_use_count,
            "duration_ms": max(0, round((now_s - self.began_s) * 1000) - self.progress.waited_ms(now_s)),
        }

    def progressed(self, now_s: float) -> Line:
        """Return the line that tells how far an agent has come."""
        began, summary = self.began, self.progress.summary
        return _line(
            "task_progress",
            **self.about(),
            description=began.description,
            **({"subagent_type": began.agent} if began.agent else {}),
            usage=self.usage(now_s),
            **({"last_tool_name": self.last_tool} if self.last_tool else {}),
            **({"summary": summary} if summary else {}),
        )


@final
class TaskLines:
    """The tasks of one session.

    Args:
        outputs: The folder of what they print.
    """

    def __init__(self, outputs: Path) -> None:
        self._outputs = outputs
        self._running: dict[str, _Running] = {}
        self._agents: dict[str, str] = {}
        self._calls: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<TaskLines: {len(self._running)} run>"

    def call_of(self, agent_id: str) -> str:
        """Return the id of the call that started an agent; empty for one that no call did."""
        return self._calls.get(agent_id, "")

    def agent_of(self, actor: str) -> str:
        """Return the id of the agent that an actor is a run of; empty for an actor that is none."""
        return self._agents.get(actor, "")

    def name_of(self, actor: str) -> str:
        """Return what people know an agent by: its id, what it was started for, and of what type it is while it runs."""
        agent = self.agent_of(actor) or actor
        running = self._running.get(agent)
        if running is None:
            return agent
        kind = f" ({running.began.agent})" if running.began.agent else ""
        return f'{agent} "{" ".join(running.began.description.split())}"{kind}'

    def live(self) -> list[Line]:
        """Return what runs in the background now."""
        return [
            {"task_id": running.began.task, "task_type": running.type, "description": running.began.description}
            for running in self._running.values()
            if running.is_background
        ]

    @staticmethod
    def is_about(kind: type[Event]) -> bool:
        """Return True if events of a class are looked at."""
        return kind in _HANDLERS

    def see(self, event: Event, *, now_s: float, wall_ms: int) -> list[Line]:
        """Take an event in and return the lines that it makes, without `uuid` and `session_id`.

        Args:
            event: Any event of the session.
            now_s: When it came, on the run's clock.
            wall_ms: The same, in milliseconds since 1970.
        """
        handler = _HANDLERS.get(type(event))
        return [] if handler is None else handler(self, event, now_s, wall_ms)

    # --- agents ----------------------------------------------------------------------------------------------------

    def _defined(self, event: AgentDefined, _now: float, _wall: int) -> list[Line]:
        agent_id = event.agent or event.actor
        self._agents[event.actor] = agent_id
        if event.call:
            self._calls[agent_id] = event.call
        return []

    def _answered(self, event: ModelEnded, _now: float, _wall: int) -> list[Line]:
        running = self._run_of(event)
        if running is not None:
            read = event.input_tokens + event.cache_creation_input_tokens + event.cache_read_input_tokens
            if read + event.output_tokens:
                running.progress.note_request(read, event.output_tokens)
        return []

    def _called(self, event: ToolBegan, now_s: float, _: int) -> list[Line]:
        running = self._run_of(event)
        if running is None:
            return []
        running.progress.note_call(event.tool, event.summary)
        running.last_tool = event.tool
        return [running.progressed(now_s)]

    def _summarized(self, event: AgentSummarized, now_s: float, _: int) -> list[Line]:
        running = self._running.get(self._agents.get(event.actor or "", ""))
        if running is None:
            return []
        running.progress.summary = event.text
        return [running.progressed(now_s)]

    def _asked(self, event: PermissionAsked, now_s: float, _: int) -> list[Line]:
        running = self._run_of(event)
        if running is not None:
            running.progress.note_question(event.call, event.tool, now_s)
        return []

    def _decided(self, event: PermissionAnswered, now_s: float, _: int) -> list[Line]:
        running = self._run_of(event)
        if running is None or event.call not in running.progress.waiting:
            return []
        running.progress.note_answer(event.call, now_s)
        patch = {"total_paused_ms": running.progress.waited_ms(now_s)}
        return [] if running.progress.waiting else [_line("task_updated", task_id=running.began.task, patch=patch)]

    def _run_of(self, event: ModelEnded | ToolBegan | PermissionAsked | PermissionAnswered) -> _Running | None:
        """Return the run that a turn's event belongs to; work beside the turns does not count as progress."""
        return self._running.get(self._agents.get(event.actor or "", "")) if event.turn else None

    # --- tasks -----------------------------------------------------------------------------------------------------

    def _began(self, event: TaskBegan, now_s: float, _: int) -> list[Line]:
        running = self._running[event.task] = _Running(event, now_s, event.is_background)
        return self._announced(running) if event.is_background or event.type == AGENT else []

    def _announced(self, running: _Running) -> list[Line]:
        began, running.is_announced = running.began, True
        line = _line(
            "task_started",
            **running.about(),
            description=began.description,
            task_type=running.type,
            is_backgrounded=running.is_background,
        )
        if began.type == AGENT:
            line["spawn_depth"] = began.depth
        return [line, *(self._set() if running.is_background else [])]

    def _moved(self, event: TaskMoved, _now: float, _wall: int) -> list[Line]:
        running = self._running.get(event.task)
        if running is None or running.is_background:
            return []
        running.is_background = True
        if not running.is_announced:
            return self._announced(running)
        return [_line("task_updated", task_id=event.task, patch={"is_backgrounded": True}), *self._set()]

    def _ended(self, event: TaskEnded, now_s: float, wall_ms: int) -> list[Line]:
        running = self._running.pop(event.task, None)
        if running is None or not running.is_announced:
            return []
        began, state = running.began, TaskState(event.state)
        patch: Line = {"status": event.state, "end_time": wall_ms}
        if event.error:
            patch["error"] = event.error
        notification = _line(
            "task_notification",
            **running.about(),
            status=STOPPED if state is TaskState.KILLED else event.state,
            output_file=str(self._outputs / f"{event.task}.output"),
            summary=describe_end(began.type, began.description, state, exit_code=event.exit_code, error=event.error),
        )
        if began.type == AGENT:
            notification["usage"] = running.usage(now_s) | {
                "total_tokens": event.tokens,
                "tool_uses": event.tool_uses,
            }
        updated = _line("task_updated", task_id=event.task, patch=patch)
        return [updated, notification, *(self._set() if running.is_background else [])]

    def _set(self) -> list[Line]:
        return [_line("background_tasks_changed", tasks=self.live())]


def _line(subtype: str, **values: Any) -> Line:
    return {"type": "system", "subtype": subtype, **values}


_HANDLERS: Final[Mapping[type[Event], Callable[[TaskLines, Any, float, int], list[Line]]]] = {
    AgentDefined: TaskLines._defined,
    AgentSummarized: TaskLines._summarized,
    ModelEnded: TaskLines._answered,
    ToolBegan: TaskLines._called,
    PermissionAsked: TaskLines._asked,
    PermissionAnswered: TaskLines._decided,
    TaskBegan: TaskLines._began,
    TaskMoved: TaskLines._moved,
    TaskEnded: TaskLines._ended,
}

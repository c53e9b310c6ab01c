"""Background tasks of commands and of calls of MCP servers: their reports and their ends are recorded, or served from a record.

In a re-run the call that has started a task is served, and so is the task: its reports and its end come at their places.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core import Cause
from greenroom.effects import Effects, drawing_apart
from greenroom.tasks import MONITOR, Task, Tasks
from greenroom.tools import BackgroundTask, ToolError

_OF: Final = "task"
_TOLD: Final = ("id", "description", "command", "server", "tool")
_OWN_ENDS: Final = frozenset(("flood", "deadline"))
"""The name of the one who ends a task that ends by itself."""


@final
@attrs.define(eq=False)
class TaskEffects:
    """The table of background tasks of a run that is recorded, or done again.

    Args:
        tasks: The table.
        effects: The effects of the run.
        mask: Masks secrets in a text.
    """

    _tasks: Tasks
    _effects: Effects
    _mask: Callable[[str], str]
    _of_calls: dict[tuple[str, str], Task] = attrs.field(factory=dict)
    """Tasks that calls have started, by owner and call, until the calls end."""

    @property
    def is_on(self) -> bool:
        """True if tasks may outlive calls."""
        return self._tasks.is_on

    def running(self, owner: str | None = None) -> Sequence[BackgroundTask]:
        """Return the tasks that have not ended; see `Background.running`."""
        return self._tasks.running(owner)

    def find(self, task_id: str) -> BackgroundTask | None:
        """Return a task by its id, or by the name of its agent."""
        return self._tasks.find(task_id)

    # --- recording ---------------------------------------------------------------------------------------------------

    def start(self, work: Callable[[], Awaitable[int | None]], **about: Any) -> BackgroundTask:
        """Start a task and record its end; see `Background.start`."""

        async def recorded() -> int | None:
            got: dict[str, Any] = {"cut": True}
            try:
                with drawing_apart(f"task {about['id']}"):
                    code = await work()
                got = {"code": code}
            except Exception as error:
                kind = "error" if isinstance(error, ToolError) else "bug"
                got = {kind: type(error).__name__, "text": self._mask(str(error))}
                raise
            finally:
                if task.is_background:
                    self._note_end(task, got)
            return code

        task = self._tasks.start(recorded, **about)
        self._of_calls[about["owner"], about["tool_use_id"]] = task
        return task

    def _note_end(self, task: Task, got: dict[str, Any]) -> None:
        if task.cause is not None and task.cause.who in _OWN_ENDS:
            got = {"killed": [task.cause.who, task.cause.why]}
        if task.result is not None:
            got["result"] = self._mask(task.result)
        self._note(task, got)

    async def report(self, task_id: str, number: int, lines: Sequence[str], *, suppressed: int) -> bool:
        """Record lines that a running task has printed, and report them to its owner."""
        task = self._tasks.find(task_id)
        if task is not None:
            told = [self._mask(line) for line in lines]
            self._note(task, {"number": number, "lines": told, "suppressed": suppressed})
        return await self._tasks.report(task_id, number, lines, suppressed=suppressed)

    def _note(self, task: Task, got: Mapping[str, Any]) -> None:
        self._effects.note(_OF, task.info.owner, task.info.id, {}, got)

    def left_by(self, owner: str, call: str) -> dict[str, Any] | None:
        """Return, once, the task that a call has left in the background, as values for the record; None for none."""
        task = self._of_calls.pop((owner, call), None)
        if task is None or not task.is_background:
            return None
        info = task.info
        told: dict[str, Any] = {name: getattr(info, name) for name in _TOLD}
        return {**told, "output_file": str(info.output_file), "is_monitor": info.kind == MONITOR}

    # --- serving -----------------------------------------------------------------------------------------------------

    def serve(self, told: Mapping[str, Any], owner: str, call: str) -> None:
        """Start a task from its record.

        Args:
            told: What `left_by` returned.
            owner: Id of its agent.
            call: Id of the call that started it.
        """
        about = {**told, "output_file": Path(told["output_file"])}

        async def served() -> int | None:
            while True:
                got = await self._effects.served(_OF, owner, task.info.id, {})
                assert got is not None
                if "lines" in got:
                    await self._tasks.report(task.info.id, got["number"], got["lines"], suppressed=got["suppressed"])
                else:
                    return await _end(task, got)

        task = self._tasks.start(served, owner=owner, tool_use_id=call, is_background=True, **about)


async def _end(task: Task, got: Mapping[str, Any]) -> int | None:
    """End a task as it ended in the record."""
    if "result" in got:
        task.note_result(got["result"])
    if "killed" in got:
        who, why = got["killed"]
        task.kill(Cause(who, why))
        await trio.sleep_forever()
    if "error" in got:
        raise type(str(got["error"]), (ToolError,), {})(got["text"])
    if "bug" in got:
        raise type(str(got["bug"]), (Exception,), {})(got["text"])
    code: int | None = got["code"]
    return code

"""The notice that tells a model how a background task ended.

No field can imitate another one: every text is escaped. The header comes from the table of tasks, never from the task's
output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, final

import attrs

from greenroom.core.texts import fields, wrap

TAG: Final = "task-notification"
LOST: Final = "lost"
"""Requester of the end of a task whose process was gone before it had ended."""


@final
@attrs.frozen(kw_only=True)
class TaskUsage:
    """Cost of a task."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


@final
@attrs.frozen(kw_only=True)
class TaskNotice:
    """The end of a background task."""

    task_id: str
    tool_use_id: str = ""
    """Id of the call that started it; empty if there was none."""
    output_file: str
    status: str
    """`completed`, `failed` or `killed`."""
    summary: str
    """One sentence for the reader."""
    result: str | None = None
    """An agent's last words, or a call's result, complete or partial; None for a task without a result, such as a
    shell.
    """
    is_marked: bool = False
    """True if imitations of the runtime in the result are marked already, as in reports of agents; not part of the
    text.
    """
    usage: TaskUsage | None = None
    worktree: str = ""
    """The worktree that was kept."""
    worktree_branch: str = ""
    owner: str = ""
    """Id of the agent to notify; not part of the text."""
    run: int = 1
    """Number of the run that ended; not part of the text."""
    wakes: bool = True
    """True if it begins a turn of its reader; else it is read with the next input. Not part of the text."""

    @property
    def id(self) -> str:
        """Id of the notice: `<task id>.<run>`."""
        return name_notice(self.task_id, self.run)

    @property
    def xml(self) -> str:
        """The text for the model, with the fields and order of the leading coding agent's."""
        return wrap(TAG, "\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        texts = {
            "task-id": self.task_id,
            "tool-use-id": self.tool_use_id,
            "output-file": self.output_file,
            "status": self.status,
            "summary": self.summary,
        }
        yield from self._fields(texts)
        if self.result:
            yield from self._fields({"result": self.result}, keeps_marks=self.is_marked)
        if self.usage is not None:
            numbers = fields({name: str(number) for name, number in attrs.asdict(self.usage).items()})
            yield from fields({"usage": "".join(numbers)})
        yield from self._fields({"worktree": self.worktree, "worktree-branch": self.worktree_branch})

    def _fields(self, texts: Mapping[str, str], *, keeps_marks: bool = False) -> list[str]:
        return fields({key: text for key, text in texts.items() if text}, inside=_FIELDS, keeps_marks=keeps_marks)


@final
@attrs.frozen(kw_only=True)
class TaskReport:
    """Lines that a running task has printed, or its late result, for the agent that owns it."""

    task_id: str
    number: int
    """From 1, in the order of the lines; 0 for a late result."""
    description: str
    owner: str
    """Id of the agent to notify; not part of the text."""
    lines: tuple[str, ...]
    suppressed: int = 0
    """Number of lines since the previous report that are in none."""
    late_state: str = ""
    """The outcome of work whose task had ended before: `completed`, `failed` or `killed`."""

    @property
    def id(self) -> str:
        """Id of the report in a store: `<task id>.<number>`."""
        return f"{self.task_id}.{self.number}"

    @property
    def xml(self) -> str:
        """The text for the model."""
        if self.late_state:
            summary = f'Remote agent "{self.description}": a result came after its end; it is {self.late_state}'
        else:
            suppressed = f" ({self.suppressed} suppressed)" if self.suppressed else ""
            summary = f'Monitor event: "{self.description}"{suppressed}'
        told = {
            "task-id": self.task_id,
            "summary": summary,
            "event": "\n".join(self.lines),
        }
        return wrap(TAG, "\n".join(fields(told, inside=_FIELDS)))


_FIELDS: Final = (
    *("task-id", "tool-use-id", "output-file", "status", "summary", "result", "usage", "worktree", "worktree-branch"),
)


def name_notice(task_id: str, run: int) -> str:
    """Return the id of the notice of a run's end, also used in records: `<task id>.<run>`."""
    return f"{task_id}.{run}"

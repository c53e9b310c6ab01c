"""The notice that tells a model how a background task ended.

Rule 1: what a field says cannot look like another field: every text is escaped. Rule 2: the header comes from the table of
tasks, never from what the task printed. Must not know: how it is delivered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, final

import attrs

from greenroom.core import fields, wrap

TAG: Final = "task-notification"


@final
@attrs.frozen(kw_only=True)
class TaskUsage:
    """What a task took."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


@final
@attrs.frozen(kw_only=True)
class TaskNotice:
    """How a background task ended."""

    task_id: str
    tool_use_id: str = ""
    """Id of the call that started it; empty where there was none."""
    output_file: str
    status: str
    """`completed`, `failed` or `killed`."""
    summary: str
    """One sentence for the reader."""
    result: str | None = None
    """What an agent said last, or what a call came to, whole or in part; None for what says nothing, such as a shell."""
    is_marked: bool = False
    """Whether what imitates the runtime in the result is marked already, as in the reports of agents; not part of the text."""
    usage: TaskUsage | None = None
    worktree: str = ""
    """The worktree that was kept."""
    worktree_branch: str = ""
    owner: str = ""
    """Id of the agent that is to be told; not part of the text."""
    run: int = 1
    """Number of the task's run, which this tells the end of; not part of the text."""
    wakes: bool = True
    """Whether its reader begins a turn for it; else it is read with whatever comes next. Not part of the text."""

    @property
    def id(self) -> str:
        """Names the notice: `<task id>.<run>`."""
        return name_notice(self.task_id, self.run)

    @property
    def xml(self) -> str:
        """The text that the model gets, in the fields and the order of the leading coding agent's."""
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


_FIELDS: Final = (
    *("task-id", "tool-use-id", "output-file", "status", "summary", "result", "usage", "worktree", "worktree-branch"),
)


def name_notice(task_id: str, run: int) -> str:
    """Return what names the notice of the end of a run, in records too: `<task id>.<run>`."""
    return f"{task_id}.{run}"

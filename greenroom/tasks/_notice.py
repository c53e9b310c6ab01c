"""The notice that tells a model how a background task ended.

Rule 1: what a field says cannot look like another field: every text is escaped. Rule 2: the header comes from the table of
tasks, never from what the task printed. Must not know: how it is delivered.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final, final

import attrs

# What XML 1.0 has no way to write, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
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
        """The text that the model gets, in the fields and the order of the reference (agents 6.20, 6.21)."""
        return "\n".join([f"<{TAG}>", *self._lines(), f"</{TAG}>"])

    def _lines(self) -> Iterator[str]:
        texts = {
            "task-id": self.task_id,
            "tool-use-id": self.tool_use_id,
            "output-file": self.output_file,
            "status": self.status,
            "summary": self.summary,
            "result": self.result or "",
        }
        for name, text in texts.items():
            if text:
                yield f"<{name}>{escaped(text)}</{name}>"
        if self.usage is not None:
            numbers = attrs.asdict(self.usage)
            yield f"<usage>{''.join(f'<{name}>{number}</{name}>' for name, number in numbers.items())}</usage>"
        for name, text in (("worktree", self.worktree), ("worktree-branch", self.worktree_branch)):
            if text:
                yield f"<{name}>{escaped(text)}</{name}>"


def name_notice(task_id: str, run: int) -> str:
    """Return what names the notice of the end of a run, in records too: `<task id>.<run>`."""
    return f"{task_id}.{run}"


def escaped(text: str) -> str:
    """Return text as it is written between two tags; what cannot be written is U+FFFD."""
    return html.escape(_UNWRITABLE.sub("\ufffd", text), quote=False)

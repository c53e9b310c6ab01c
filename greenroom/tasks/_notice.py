"""The notice that tells a model how a background task ended.

Rule 1: what a field says cannot look like another field: every text is escaped. Rule 2: the header comes from the table of
tasks, never from what the task printed. Must not know: how it is delivered.
"""

from __future__ import annotations

import html
import re
from typing import final

import attrs

# What XML 1.0 has no way to write, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
    owner: str = ""
    """Id of the agent that is to be told; not part of the text."""

    @property
    def xml(self) -> str:
        """The text that the model gets, in the fields and the order of the reference."""
        fields = {
            "task-id": self.task_id,
            "tool-use-id": self.tool_use_id,
            "output-file": self.output_file,
            "status": self.status,
            "summary": self.summary,
        }
        lines = [f"<{name}>{escaped(text)}</{name}>" for name, text in fields.items() if text]
        return "\n".join(["<task-notification>", *lines, "</task-notification>"])


def escaped(text: str) -> str:
    """Return text as it is written between two tags; what cannot be written is U+FFFD."""
    return html.escape(_UNWRITABLE.sub("\ufffd", text), quote=False)

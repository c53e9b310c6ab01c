"""The texts of a run: its report, its error, and its output for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from greenroom.agents._agent_run import Denial
from greenroom.agents._call_batches import summarize
from greenroom.agents.delegation._results import REPORT_CHARACTERS, truncate_report
from greenroom.agents.delegation._scan import scan_report
from greenroom.core import GreenroomError, ProviderError, StartFailed
from greenroom.core.texts import error_text, message_of
from greenroom.models import Message, TextBlock, ToolUseBlock
from greenroom.tasks import Task, TaskState
from greenroom.tools import ToolError


def report_of(text: str, output_file: Path, *, limit: int = REPORT_CHARACTERS) -> str:
    """Return the report of a run, made of its last text; nothing in it can pass for somebody else's words.

    All of it is in the output file.
    """
    return scan_report(truncate_report(text, limit, full_path=str(output_file)))


def whole_or_part(task: Task) -> str:
    """Return the report of a run that has ended, for a model; a partial one says why.

    Raises:
        ToolError: It failed before it had said anything.
    """
    text = task.result or ""
    if task.state is TaskState.FAILED:
        if not text:
            raise ToolError(f"Agent terminated early due to an API error: {task.error}")
        return f"{text}\n\n(This is a part: the agent was cut off by an error: {task.error})"
    if task.state is TaskState.KILLED:
        return f"{text}\n\n(This is a part: the agent {task.ending}.)".lstrip()
    return text


def with_denials(report: str, denials: Sequence[Denial]) -> str:
    """Return the report of a run with the calls that were denied, which it may not mention."""
    if not denials:
        return report
    counts = Counter(denial.tool for denial in denials)
    names = ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in counts.items())
    return f"{report}\n\n[harness: calls of this agent were refused: {names}]".lstrip()


def words_of(error: BaseException | None) -> str:
    """Return why a run failed, for its reader."""
    if error is None:
        return "it was not said why"
    if isinstance(error, StartFailed) and error.__cause__ is not None:
        return words_of(error.__cause__)
    if isinstance(error, ProviderError):
        return f"{error.kind}: {message_of(error)}"
    return message_of(error) if isinstance(error, GreenroomError) else error_text(error)


def readable(message: Message) -> str:
    """Return a message of an agent as text for people: its words and the tools that it called."""
    if message.role != "assistant":
        return ""
    lines = []
    for block in message.content:
        if isinstance(block, TextBlock) and block.text.strip():
            lines.append(block.text.rstrip())
        elif isinstance(block, ToolUseBlock):
            lines.append(f"[{block.name}] {summarize(block.input)}".rstrip())
    return "".join(f"{line}\n" for line in lines)

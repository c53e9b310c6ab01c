"""The results of the tool Agent, as data for programs and as text for the model.

`status` alone says which of the four it is. The text is made of the data, never the other way
round, and the data holds the report without what the text adds to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core import frozen
from greenroom.core.texts import fields
from greenroom.models import Usage
from greenroom.tasks import Progress

NO_OUTPUT: Final = "(Subagent completed but returned no output.)"
REPORT_CHARACTERS: Final = 32_000
"""The most of a report that its reader gets; the reference's number."""


@final
@frozen(kw_only=True)
class ToolStats:
    """Statistics of a child's work."""

    read_count: int = 0
    search_count: int = 0
    bash_count: int = 0
    edit_file_count: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    other_tool_count: int = 0


@final
@frozen(kw_only=True)
class Completed:
    """The child has ended, and this is its report."""

    agent_id: str
    agent_type: str | None = None
    content: tuple[str, ...] = ()
    """The texts of its last message; scanned, and as long as its reader may get."""
    resolved_model: str | None = None
    models_used: tuple[str, ...] | None = None
    total_tool_use_count: int = 0
    total_duration_ms: int = 0
    total_tokens: int = 0
    """Those of its last request."""
    usage: Usage = attrs.field(factory=Usage)
    tool_stats: ToolStats | None = None
    prompt: str
    worktree_path: str | None = None
    """The place of its changes, if they were kept."""
    worktree_branch: str | None = None

    def data(self) -> dict[str, Any]:
        """Return the structured result, `status` first; what is not known is left out."""
        usage = attrs.asdict(self.usage) | dict.fromkeys(("server_tool_use", "service_tier", "cache_creation"))
        stats = None if self.tool_stats is None else _in_camel_case(attrs.asdict(self.tool_stats))
        return _known(
            status="completed",
            agentId=self.agent_id,
            agentType=self.agent_type,
            content=[{"type": "text", "text": text} for text in self.content],
            resolvedModel=self.resolved_model,
            modelsUsed=None if self.models_used is None else list(self.models_used),
            totalToolUseCount=self.total_tool_use_count,
            totalDurationMs=self.total_duration_ms,
            totalTokens=self.total_tokens,
            usage=usage,
            toolStats=stats,
            prompt=self.prompt,
            worktreePath=self.worktree_path,
            worktreeBranch=self.worktree_branch,
        )


@final
@frozen(kw_only=True)
class AsyncLaunched:
    """The child runs in the background."""

    is_async: bool | None = None
    agent_id: str
    description: str
    resolved_model: str | None = None
    models_used: tuple[str, ...] | None = None
    prompt: str
    output_file: str
    can_read_output_file: bool | None = None
    """True if the caller has a tool to read it with."""

    def data(self) -> dict[str, Any]:
        """Return the structured result, `status` first; what is not known is left out."""
        return _known(
            status="async_launched",
            isAsync=self.is_async or None,
            agentId=self.agent_id,
            description=self.description,
            resolvedModel=self.resolved_model,
            modelsUsed=None if self.models_used is None else list(self.models_used),
            prompt=self.prompt,
            outputFile=self.output_file,
            canReadOutputFile=self.can_read_output_file,
        )


@final
@frozen(kw_only=True)
class TeammateSpawned:
    """A teammate has joined."""

    agent_id: str
    """`<name>@<team>`."""
    name: str
    team_name: str

    def data(self) -> dict[str, Any]:
        """Return the structured result, `status` first; the id under both names that it is known by."""
        return {
            "status": "teammate_spawned",
            "teammate_id": self.agent_id,
            "agent_id": self.agent_id,
            "name": self.name,
            "team_name": self.team_name,
        }


@final
@frozen(kw_only=True)
class RemoteLaunched:
    """The child runs on a remote host."""

    task_id: str
    session_url: str
    description: str
    prompt: str
    output_file: str

    def data(self) -> dict[str, Any]:
        """Return the structured result, `status` first."""
        return {
            "status": "remote_launched",
            "taskId": self.task_id,
            "sessionUrl": self.session_url,
            "description": self.description,
            "prompt": self.prompt,
            "outputFile": self.output_file,
        }


SpawnResult: TypeAlias = Completed | AsyncLaunched | TeammateSpawned | RemoteLaunched


def text_for_model(result: SpawnResult, *, is_one_shot: bool = False, can_read_output: bool = True) -> str:
    """Return what the model that called reads.

    Args:
        result: What came of the call.
        is_one_shot: Whether the child cannot be continued; then nothing is said of its id and its cost, unless a worktree
            has to be told of.
        can_read_output: Whether the caller can read files; it gets no advice to do so otherwise. A result that says
            itself that it cannot be read counts.
    """
    match result:
        case Completed():
            return _completed(result, is_one_shot=is_one_shot)
        case AsyncLaunched():
            return _launched(result, can_read=can_read_output and result.can_read_output_file is not False)
        case TeammateSpawned():
            return (
                f"Teammate spawned.\nagent_id: {result.agent_id}\nname: {result.name}\nteam_name: {result.team_name}\n"
                "The teammate has joined the team and gets its instructions by mailbox; no report of its work comes back "
                f"here. Give it further work with SendMessage (to: {result.name!r})."
            )
        case RemoteLaunched():
            return (
                f"Remote agent launched.\ntaskId: {result.task_id}\nsessionUrl: {result.session_url}\n"
                f"output_file: {result.output_file}\n"
                "The remote task runs. Wait for its notice: until then you do not know what it found."
            )


def truncate_report(text: str, limit: int = REPORT_CHARACTERS, full_path: str = "") -> str:
    """Return the start and the end of a report that is too long, with a line between them that says so.

    Scan what this returns, not what it is given: a cut makes new beginnings of lines.

    Args:
        text: The report.
        limit: Characters, the line included unless it alone is longer.
        full_path: Where the whole text is; empty where it is nowhere.
    """
    if len(text) <= limit:
        return text
    where = f"the whole report: {full_path}" if full_path else "the rest is lost"
    note = f"\n... (cut: {len(text)} characters in all, of which this is the start and the end; {where}) ...\n"
    room = max(limit - len(note), 0)
    tail = room // 2
    return f"{text[: room - tail]}{note}{text[len(text) - tail :]}"


def _completed(result: Completed, *, is_one_shot: bool) -> str:
    report = "\n\n".join(text for text in result.content if text.strip()) or NO_OUTPUT
    if is_one_shot and result.worktree_path is None:
        return report
    hint = "" if is_one_shot else f" (use SendMessage with to: {result.agent_id!r} to continue this agent)"
    lines = [f"agentId: {result.agent_id}{hint}"]
    lines += worktree_lines(result.worktree_path, result.worktree_branch)
    used = {
        "total_tokens": result.total_tokens,
        "tool_uses": result.total_tool_use_count,
        "duration_ms": result.total_duration_ms,
    }
    lines += fields({"usage": "\n".join(f"{name}: {number}" for name, number in used.items())})
    return f"{report}\n\n" + "\n".join(lines)


def worktree_lines(path: str | None, branch: str | None) -> list[str]:
    """Return what a model reads of a worktree that was kept; nothing where there is none."""
    lines = [f"worktreePath: {path} (kept with its changes: merge it, look again, or remove it)"] if path else []
    return [*lines, f"worktreeBranch: {branch}"] if branch else lines


def _launched(result: AsyncLaunched, *, can_read: bool) -> str:
    lines = [
        "Async agent launched successfully.",
        f"agentId: {result.agent_id} (for SendMessage and TaskStop)",
        f"output_file: {result.output_file}",
    ]
    if can_read:
        lines.append(
            "A notice tells you when it has ended. Until then you do not know what it found: do not guess its results, and do "
            "not do its work yourself. On being asked, say that it is still running; what there is so far is in the output "
            "file, for Read or a shell command such as tail."
        )
    else:
        lines.append("The agent was started; a notice brings what it found. Do not guess it, and do not do its work.")
    return "\n".join(lines)


def _known(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _in_camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    parts = {name: name.split("_") for name in fields}
    return {first + "".join(map(str.title, rest)): fields[name] for name, (first, *rest) in parts.items()}


_READ: Final = frozenset(("Read", "NotebookRead"))
_SEARCH: Final = frozenset(("Grep", "Glob", "LS"))
_SHELL: Final = frozenset(("Bash", "PowerShell"))
_EDIT: Final = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))


def stats_of(progress: Progress) -> ToolStats:
    """Return the counts of a run."""
    tool_uses = progress.tool_uses

    def count(names: frozenset[str]) -> int:
        return sum(tool_uses[name] for name in names)

    known = {
        "read_count": count(_READ),
        "search_count": count(_SEARCH),
        "bash_count": count(_SHELL),
        "edit_file_count": count(_EDIT),
    }
    return ToolStats(
        **known,
        other_tool_count=tool_uses.total() - sum(known.values()),
        lines_added=progress.lines_added,
        lines_removed=progress.lines_removed,
    )

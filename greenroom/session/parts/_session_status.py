"""Status of agents and tasks."""

from __future__ import annotations

from typing import Any, final

import attrs

from greenroom.actors import Ref, State
from greenroom.agents import AgentState
from greenroom.models import Usage
from greenroom.tasks import EndReport, Task, TaskState


@final
@attrs.frozen(kw_only=True)
class AgentStatus:
    """The status of an agent."""

    id: str
    path: str
    definition: str
    activity: str
    """Its current activity, for people; empty while it waits."""
    usage: Usage
    summary: str = ""
    """The same in 3 to 8 words of its own; empty where nobody keeps that up to date."""
    state: State = State.RUNNING
    """`pending`, `running`, `completed`, `failed` or `killed`, of its latest incarnation."""
    has_ended: bool = False
    """True if it ended and is not restarted, such as a teammate of a closed team."""


@final
@attrs.frozen(kw_only=True)
class TaskStatus:
    """The status of a task: an agent that was started, a command, or a call of an MCP server."""

    id: str
    kind: str
    """`local_agent`, `local_bash`, `monitor`, `mcp_task` or `in_process_teammate`."""
    state: TaskState
    description: str
    agent_type: str
    """The definition of an agent; empty for a command."""
    owner: str
    """Id of the agent that is told of its end; empty: the host."""
    depth: int
    """The depth of an agent below main; 0 for a command."""
    run: int
    is_background: bool
    """Whether no call waits for it."""
    tool_uses: int
    tokens: int
    """Of an agent: what its latest request read, and all that it wrote in this run."""
    last_activity: str
    """Its latest action; empty for a command."""
    attention: str
    """The action that it waits for, such as allowing a call; empty while it needs nobody."""
    error: str
    is_told: bool
    """Whether its end was told: by a result, by TaskOutput or TaskStop, or by a notice on its way."""
    output_file: str
    color: str = ""
    """In which an agent is shown, as its definition says; empty where that says nothing."""


def status_of_agent(ref: Ref[Any], home: AgentState) -> AgentStatus:
    """Return what an agent is doing now."""
    return AgentStatus(
        id=home.profile.id or ref.id,
        path=ref.path,
        definition=home.profile.definition.name,
        activity=home.activity,
        usage=home.usage,
        summary="" if home.run.progress is None else home.run.progress.summary,
        state=ref.state,
        has_ended=ref.is_gone,
    )


def status_of(task: Task, *, color: str | None = None) -> TaskStatus:
    """Return how a task stands."""
    info, progress = task.info, task.progress
    return TaskStatus(
        id=info.id,
        kind=info.kind,
        state=task.state,
        description=info.description,
        agent_type=info.agent_type,
        owner=info.owner,
        depth=info.depth,
        run=info.run,
        is_background=task.is_background,
        tool_uses=progress.tool_use_count if progress is not None else 0,
        tokens=progress.token_count if progress is not None else 0,
        last_activity=progress.last_activity if progress is not None else "",
        attention=task.attention,
        error=task.error,
        is_told=task.report in (EndReport.NOTICE, EndReport.ANSWER),
        output_file=str(info.output_file),
        color=color or "",
    )

"""Tasks of earlier processes of a run: entered into the table of tasks, and reported if nobody was told of their end."""

from __future__ import annotations

from pathlib import Path

import attrs

from greenroom.agents.definitions import Definitions
from greenroom.agents.subagents import SubagentPool, is_one_shot, report_after_crash
from greenroom.core import Cause
from greenroom.session.record._recovery import WHY_LOST, Due, Left
from greenroom.tasks import AGENT, LOST, MCP_CALL, KeptWorktree, TaskInfo, TaskNotice


def recall_tasks(left: Left, pool: SubagentPool, definitions: Definitions, run_folder: Path) -> None:
    """Enter the agents and tasks of earlier processes, and deliver the notices that are still due.

    It begins a turn of the main agent, unless a person's answer is waited for: that turn would drop the call.

    Args:
        left: The record of the earlier processes.
        pool: The sub-agents of the session.
        definitions: The definitions as they are now; agents that run once cannot be resumed.
        run_folder: The folder with the outputs of tasks.
    """
    pool.spawned += left.agents
    for name, agent_id in left.names:
        pool.names.add(name, agent_id)
    wakes = pool.main_home is not None and not pool.main_home.start.keeps_open
    for due in left.due:
        pool.deliver(attrs.evolve(_notice_of(due, pool, definitions, run_folder), wakes=wakes))


def _notice_of(due: Due, pool: SubagentPool, definitions: Definitions, run_folder: Path) -> TaskNotice:
    view = due.view
    info = TaskInfo(
        id=view.task,
        kind=view.type,
        description=view.description,
        owner=view.owner,
        tool_use_id=view.call,
        output_file=run_folder / "tasks" / f"{view.task}.output",
        agent_type=view.agent,
        depth=view.depth,
        run=view.run,
    )
    cause = Cause(view.cause, WHY_LOST if view.cause == LOST else "") if view.cause else None
    task = pool.tasks.recall(info, state=view.state, error=view.error, cause=cause)
    task.exit_code, task.usage = view.exit_code, due.usage
    kept = str(due.record.get("worktree") or "")
    if kept and due.view.type == AGENT:
        task.worktree = KeptWorktree(kept, str(due.record.get("branch") or ""))
    if view.type == MCP_CALL:
        task.result = due.text or None
    if view.type == AGENT:
        task.result = pool.report_of(due.text, info.output_file) if due.text else ""
        task.result = report_after_crash(task.result, pool.main_home)
    definition = definitions.get(view.agent)
    runs_once = definition is not None and is_one_shot(definition)
    if view.cause == LOST and due.has_transcript and not runs_once:
        return attrs.evolve(task.notice, summary=f"{task.notice.summary}; a message to {view.task} goes on with it")
    return task.notice

"""What has to be true of a session and its pool when all is quiet, and after it was left, whatever happened before.

Each check names what it holds: issue rows, decisions of the design, rows of the regressions. They read what the session
shows (tasks, tree, usage), what its agents heard, its transcripts and its record; none of them asks how it came to that.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import trio

from greenroom.actors import KillRequested
from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of
from greenroom.agents.events import AgentDefined, AgentReviewed, ModelEnded
from greenroom.core import event_of
from greenroom.models import TextBlock, ToolResultBlock, Usage
from greenroom.session import FOLDS
from greenroom.supervisor import TreeNode
from greenroom.tasks import EndReport, NoticeMode, TaskDropped, TaskEnded, TaskState
from greenroom.trace import check_journal, entries_of
from tests.actors.invariants import violations
from tools.soak.session_machine import LEAVING_S, RELEASE_S, World

_NOTICE: Final = re.compile(r"<task-notification>\s*<task-id>(\w+)</task-id>")
_ANSWER: Final = re.compile(r"<task_id>(\w+)</task_id>.*<status>(?:completed|failed|killed)</status>", re.DOTALL)
_STOPPED: Final = re.compile(r'"task_id": ?"(\w+)"')


async def check_at_rest(world: World) -> None:
    """Check a session that is quiet: first as it is, then when what has ended was released."""
    assert all(run.is_finished and run.is_settled for run in world.runs)
    check_places(world)
    check_tree(world)
    check_usage(world)
    check_conversations(world)
    check_reports(world)
    check_ends(world)
    check_reasons(world)
    check_reviews(world)
    await trio.sleep(2 * RELEASE_S + 1)
    pool = world.session.agents.pool
    assert not pool.subagents, f"not released: {pool.subagents}"
    check_places(world)
    check_usage(world)


def check_when_left(world: World) -> None:
    """Check what is left of a session: nothing runs, and its record and transcripts are sound."""
    assert all(run.is_finished for run in world.runs), "every run has ended"
    assert world.left_s <= LEAVING_S, f"leaving took {world.left_s} s"
    check_ends(world)
    records = [record for record in world.records if record[0] > 0]
    found = violations(records)
    assert not found, found
    wrong = [
        f"{finding.id} at {finding.seq}: {finding.text}" for finding in check_journal(entries_of(records), folds=FOLDS)
    ]
    assert not wrong, wrong
    for path in sorted((world.session.run_folder / "transcripts").glob("*.jsonl")):
        assert faults_of(load_conversation(path).messages) == [], path.name


def check_places(world: World) -> None:
    """No place is taken, nobody waits for one, nobody is being resumed (I-37)."""
    pool = world.session.agents.pool
    assert pool.running == 0, pool
    assert pool._queue.is_idle, "somebody waits for a place"
    assert not pool._resuming, "somebody is being resumed forever"
    assert pool.is_quiet
    assert world.session.tasks.table.running() == ()


def check_tree(world: World) -> None:
    """Only main, the queue and empty branches are left."""
    tree = world.session.runtime.tree()
    leaves = sorted(leaf.behavior for leaf in _leaves(tree) if leaf.behavior != "SupervisorBehavior")
    assert leaves == ["Agent", "Queue"], leaves


def _leaves(node: TreeNode) -> Iterator[TreeNode]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


def check_usage(world: World) -> None:
    """Sums of requests are the sums of agents, main's among them (RC-80, RC-81)."""
    by_agent: dict[str, Usage] = {}
    agent_of: dict[str, str] = {}
    for record in world.records:
        if record[2] is AgentDefined:
            defined = event_of(record)
            assert isinstance(defined, AgentDefined)
            agent_of[defined.actor] = defined.agent
        if record[2] is ModelEnded:
            ended = event_of(record)
            assert isinstance(ended, ModelEnded)
            used = Usage(
                ended.input_tokens,
                ended.output_tokens,
                ended.cache_creation_input_tokens,
                ended.cache_read_input_tokens,
            )
            agent = agent_of.get(ended.actor) or ended.actor
            by_agent[agent] = by_agent.get(agent, Usage()) + used
    assert world.session.usage == sum(by_agent.values(), Usage())
    for status in world.session.agents.all():
        assert status.usage == by_agent.get(status.id, Usage()), status


def check_conversations(world: World) -> None:
    """Every conversation in memory is one that a provider takes (RC-67), and nobody is said to do anything."""
    homes = [subagent.home for subagent in world.session.agents.pool.subagents.values()]
    for home in [*homes, world.session.agents.main.home]:
        assert home is not None
        assert home.activity == "", home.activity
        if home.conversation is not None:
            assert faults_of(home.conversation.messages) == []


def check_reports(world: World) -> None:
    """Each end was told once (RC-04, RC-19, RC-24): by the result of the call that waited, an answer, or a notice."""
    ids = [notice.id for notice in world.notices]
    assert len(ids) == len(set(ids)), f"told twice: {ids}"
    answered, results = _answers(world)
    for task in world.runs:
        name = f"{task.info.id}.{task.info.run}"
        by_result = task.info.run == 1 and task.info.tool_use_id in results
        if task.notice_mode is NoticeMode.NEVER:
            assert name not in ids, f"{name} is for nobody's ears"
            continue
        assert task.report is not EndReport.NONE, f"the end of {name} was never told"
        assert by_result + (name in ids) <= 1, f"the end of {name} was told by a result and by a notice"
        assert by_result or name in ids or task.info.id in answered, f"the end of {name} was told to nobody"
    check_readers(world)


def check_readers(world: World) -> None:
    """Each notice was read once, by the agent that it was for."""
    read: dict[str, list[str]] = {}
    for agent, message in world.heard:
        for block in message.content:
            for found in _NOTICE.findall(block.text) if isinstance(block, TextBlock) else ():
                read.setdefault(found, []).append(agent)
    for text in world.reminders:
        for found in _NOTICE.findall(text):
            read.setdefault(found, []).append(world.session.main.id)
    told = Counter(notice.task_id for notice in world.notices)
    answered = Counter(
        run.info.id for run in world.runs if run.report is EndReport.ANSWER
    )  # nobody has to read of these any more
    for task_id, count in told.items():
        readers = read.setdefault(task_id, [])
        assert count - answered[task_id] <= len(readers) <= count, f"{count} notices of {task_id}, read by {readers}"
    for notice, alive in zip(world.notices, world.readers, strict=True):
        assert set(read[notice.task_id]) <= set(alive) | _others(world, notice.task_id, notice.id), (
            f"{notice.id} was for the first of {alive}, and read by {read[notice.task_id]}"
        )


def _others(world: World, task_id: str, name: str) -> set[str]:
    """Return who may read of the other runs of an agent."""
    pairs = zip(world.notices, world.readers, strict=True)
    return {
        reader for notice, readers in pairs if notice.task_id == task_id and notice.id != name for reader in readers
    }


def _answers(world: World) -> tuple[set[str], set[str]]:
    """Return the tasks whose end was told on being asked, and the calls whose result told the end of an agent."""
    answered: set[str] = set()
    results: set[str] = set()
    for _, message in world.heard:
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                answered.update(_ANSWER.findall(block.content))
                answered.update(_STOPPED.findall(block.content))
                if "<usage>total_tokens" in block.content or "terminated early" in block.content:
                    results.add(block.tool_use_id)
    return answered, results


def check_reviews(world: World) -> None:
    """What a review has found stands before the report, once; no report at rest is under review."""
    reviews = [event_of(record) for record in world.records if record[2] is AgentReviewed]
    assert world.plan.auto or not reviews
    marks = Counter(
        review.actor for review in reviews if isinstance(review, AgentReviewed) and review.outcome == "blocked"
    )
    marked = Counter(run.info.id for run in world.runs if "SECURITY WARNING" in (run.result or "").partition("]")[0])
    assert sum(marks.values()) == sum(marked.values())
    for task in world.runs:
        report = task.result or ""
        assert "is still being reviewed" not in report, f"{task.info.id} is under review forever"
        assert report.count("[harness: what this agent did") + report.count("SECURITY WARNING") <= 1


def check_ends(world: World) -> None:
    """Each run has one end on record, and that is what its task says (RC-10, RC-37)."""
    ends: dict[tuple[str, int], list[str]] = {}
    for record in world.records:
        if record[2] in {TaskEnded, TaskDropped}:
            ended = event_of(record)
            assert isinstance(ended, TaskEnded | TaskDropped)
            state = ended.state if isinstance(ended, TaskEnded) else "killed"
            ends.setdefault((ended.task, ended.run), []).append(state)
    for task in world.runs:
        place = (task.info.id, task.info.run)
        assert ends.pop(place, None) == [task.state.value], f"{place}: {task.state}"
    assert not ends, f"ends of nobody: {ends}"


def check_reasons(world: World) -> None:
    """Whoever was killed was asked to end, or descends from one that was killed; and those all are (RC-01, RC-05)."""
    above = world.lines()
    # Who is to end takes all with it that it waits for at once, and may take its own time.
    asked_s = {record[3]: record[1] for record in world.records if record[2] is KillRequested}
    for task in world.runs:
        line = above.get(task.info.id, ())
        killed = [run for run in world.runs if run.state is TaskState.KILLED and run.info.id in line]
        if task.state is TaskState.KILLED:
            reasons = [one for one in killed if one.ended_s <= task.ended_s]
            is_asked = task in world.asked_to_end or (task.cause is not None and task.cause.why == "TaskStop")
            if task.cause is not None and killed:
                is_asked = is_asked or asked_s.get(task.cause.who, math.inf) <= task.ended_s
            assert is_asked or reasons, f"nobody asked for the end of {task.info.id}: {task.cause}"
        for one in killed:
            ran_then = (task.began_s or 0.0) < one.ended_s < task.ended_s
            assert not ran_then or task.state is TaskState.KILLED, (
                f"{task.info.id} outlives {one.info.id}, its ancestor"
            )

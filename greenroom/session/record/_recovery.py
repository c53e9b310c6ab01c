"""Recovery of what an earlier process left, from its journal and its transcripts.

Rule 1: what the journal shows as not ended was lost with its process; where a transcript tells how it ended, it ended that
way. Rule 2: an end is told once: whatever line of a transcript tells it names its notice, and what no line names is told
again; a lost run that another run of its agent made good is not. Rule 3: nothing is started here: what is done about it is planned
in `_recovery_plan`.
It looks at the disk: call it through `Blocking`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from greenroom import tasks, teams
from greenroom.agents import NOTICES, Loaded, load_conversation
from greenroom.agents.subagents import record_path
from greenroom.core import Event, UsageError
from greenroom.core.ports import Ports
from greenroom.session.assembly._run_place import RunPlace
from greenroom.session.record._json_lines import objects_of
from greenroom.session.record._resume import copy_conversation, load_agent
from greenroom.session.record._transcript_names import TRANSCRIPTS, transcript_name
from greenroom.session.schedules._schedule_events import EVENTS as SCHEDULE_EVENTS
from greenroom.session.schedules._schedule_events import FOLDS as SCHEDULE_FOLDS
from greenroom.session.schedules._schedule_events import EndedSchedule, SchedulesPaused, ScheduleView, end_of
from greenroom.tasks import (
    AGENT,
    LOST,
    MCP_CALL,
    REMOTE_AGENT,
    TaskBegan,
    TaskEnded,
    TaskLost,
    TaskState,
    TaskUsage,
    TaskView,
)
from greenroom.teams import TeamRecord, records_of
from greenroom.trace import JOURNAL, Codec, Entry, World

if TYPE_CHECKING:  # nothing of links is loaded unless an agent worked on a host
    from greenroom.remote.hosts import RemoteRecord

_TEAM_SECTIONS: Final = ("teams", "mates", "items", "boards", "mail")
WHY_LOST: Final = "the process that ran it ended before it did"


@final
@attrs.frozen(kw_only=True)
class Due:
    """The end of a task that has to be told."""

    view: TaskView
    text: str = ""
    """The last text of an agent, as far as its transcript has it; the result of an MCP call, or of an agent on a host."""
    usage: TaskUsage | None = None
    record: Mapping[str, Any] = attrs.field(factory=dict)
    """The record of an agent; empty for a shell."""
    has_transcript: bool = False

    @property
    def was_lost(self) -> bool:
        """True if it ended with its process."""
        return self.view.cause == LOST


@final
@attrs.frozen(kw_only=True)
class Left:
    """The state that earlier processes left of a run."""

    events: tuple[Event, ...] = ()
    """The ends that are not recorded yet."""
    due: tuple[Due, ...] = ()
    """The ends that nobody was told of, in the order in which the tasks were started."""
    names: tuple[tuple[str, str], ...] = ()
    """Names of agents with their ids, in the order in which they were given."""
    agents: int = 0
    """The number of sub-agents that the run has had."""
    remotes: tuple[TaskView, ...] = ()
    """The agents on hosts that may run there still, or whose hosts may have to be notified of their ends."""


def read_left(run_folder: Path, *, has_hosts: bool = False) -> Left:
    """Return what is left to be done about the tasks of a run.

    Args:
        run_folder: Its folder.
        has_hosts: True if agents on hosts are followed again; else those that had not ended are lost.
    """
    views, took_ms = _fold_tasks(run_folder / JOURNAL)
    if not views:
        return Left()
    told = read_told(run_folder / TRANSCRIPTS)
    events: list[Event] = []
    due: list[Due] = []
    remotes = [view for view in views.values() if has_hosts and _is_followed(run_folder, view)]
    for key, left in list(views.items()):
        if left in remotes and not left.has_ended:
            continue
        if not left.has_ended:
            event = _end_of(left, told.get(left.notice_id))
            views[key] = tasks.lost(left, event)
            events.append(event)
        view = views[key]
        following = views.get((view.task, view.run + 1))
        is_made_good = following is not None and following.recoveries > 0
        if view.notice_id not in told and not is_made_good and _is_to_be_told(view):
            due.append(
                _due(
                    run_folder,
                    view,
                    None if view.cause == LOST else took_ms.get(key),
                    is_latest=(view.task, view.run + 1) not in views,
                )
            )
    agents = {view.task: view for view in views.values() if view.type == AGENT}
    named = {view.task for view in views.values() if view.type == AGENT and view.is_background}
    names = [(str(read_record(run_folder, agent).get("name") or ""), agent) for agent in agents if agent in named]
    return Left(
        events=tuple(events),
        due=tuple(due),
        names=tuple(name for name in names if name[0]),
        agents=len(agents),
        remotes=tuple(remotes),
    )


def read_record(run_folder: Path, agent_id: str) -> Mapping[str, Any]:
    """Return what is kept of a sub-agent beside its transcript, as of its latest run; empty where there is nothing."""
    found: Mapping[str, Any] = {}
    for values in objects_of(run_folder / record_path(agent_id), b"{"):
        found = values  # the last whole one counts
    return found


# --- pieces -------------------------------------------------------------------------------------------------------------


def _fold_tasks(journal: Path) -> tuple[dict[tuple[str, int], TaskView], dict[tuple[str, int], int]]:
    """Return the runs of tasks that a journal tells of, in order, and how many milliseconds each of them worked."""
    codec, world = Codec(tasks.EVENTS), World(tasks.FOLDS)
    began: dict[tuple[str, int], float] = {}
    took: dict[tuple[str, int], int] = {}
    for entry in entries_of(journal, b'"task.', codec):
        world.apply(entry)
        event: Any = entry.event
        key = (event.task, event.run)
        if isinstance(event, TaskBegan):
            began[key] = entry.t
        elif isinstance(event, TaskEnded):
            took[key] = round((entry.t - began.get(key, entry.t)) * 1000) - event.waited_ms
    return dict(world.section("tasks")), took


def entries_of(journal: Path, mark: bytes, codec: Codec) -> Iterator[Entry]:
    """Yield the entries of a journal that a codec knows, from the lines that bear a mark; damaged ones are passed over."""
    for values in objects_of(journal, mark):
        if values.get("ev") in codec.kinds:
            with suppress(ValueError):  # damage; `greenroom replay --check` says so
                yield codec.decode(values)


def read_told(transcripts: Path) -> dict[str, str]:
    """Return the notices that stand in any transcript, and how each of these tasks ended."""
    told: dict[str, str] = {}
    for path in sorted(transcripts.glob("*.jsonl")):
        for values in objects_of(path, f'"{NOTICES}":'.encode()):
            notices = values.get(NOTICES)
            if values.get("type") == "user" and isinstance(notices, dict):
                told |= {str(notice): str(state) for notice, state in notices.items()}
    return told


def _end_of(view: TaskView, told: str | None) -> TaskLost:
    known = told if told in {TaskState.COMPLETED, TaskState.FAILED, TaskState.KILLED} else TaskState.FAILED
    return TaskLost(actor=view.owner, task=view.task, run=view.run, state=str(known))


def _is_to_be_told(view: TaskView) -> bool:
    """True if anybody must be notified of an end.

    The end of a command that a call waited for is the call's to tell; a call that was cut says so.
    """
    was_noted = view.was_registered or view.cause == LOST  # journals of earlier versions say it of no other
    is_call_cut = view.type == AGENT and view.call != ""
    return bool(view.owner) and was_noted and (view.is_background or is_call_cut)


def _due(run_folder: Path, view: TaskView, took_ms: int | None, *, is_latest: bool) -> Due:
    if view.type == MCP_CALL:
        output = run_folder / "tasks" / f"{view.task}.output"
        return Due(view=view, text="" if view.cause == LOST else _came_to(output))
    if view.type == REMOTE_AGENT:
        record = _read_remote(run_folder, view)
        end = dict(record.end) if record is not None else {}
        return Due(view=view, text=end.pop("result", ""), usage=TaskUsage(**end) if end else None)
    if view.type != AGENT:
        return Due(view=view)
    path = run_folder / TRANSCRIPTS / transcript_name(view.task, is_main=False)
    usage = None
    if took_ms is not None:
        usage = TaskUsage(total_tokens=view.tokens, tool_uses=view.tool_uses, duration_ms=took_ms)
    return Due(
        view=view,
        text=_last_text(path) if is_latest else "",
        usage=usage,
        record=read_record(run_folder, view.task),
        has_transcript=path.is_file(),
    )


def _last_text(path: Path) -> str:
    try:
        messages = load_conversation(path, follows=False).messages  # what a fork shares was said by its parent
    except UsageError:
        return ""
    return next(
        (message.text for message in reversed(messages) if message.role == "assistant" and message.text.strip()), ""
    )


def _came_to(output: Path) -> str:
    try:
        return output.read_text(encoding="utf-8", errors="replace")
    except OSError:  # it never came to anything, or could not be kept
        return ""


def _read_remote(run_folder: Path, view: TaskView) -> RemoteRecord | None:
    """Return the record of an agent on a host; None if there is none."""
    from greenroom.remote.hosts import read_remote_record, remote_record_path

    path = remote_record_path(run_folder / "tasks", view.task)
    return read_remote_record(path.read_bytes()) if path.exists() else None


def _is_followed(run_folder: Path, view: TaskView) -> bool:
    """True if an agent works on a host, or that may still have to be notified of its end."""
    record = _read_remote(run_folder, view) if view.type == REMOTE_AGENT else None
    return record is not None and not record.is_settled


async def read_earlier(run: RunPlace, ports: Ports, *, has_hosts: bool) -> tuple[Loaded | None, Left]:
    """Return the state that an earlier run left. The run is locked: no other process writes its transcript now."""
    if run.earlier is None:
        return None, Left()
    if not run.is_resumed:
        await ports.blocking.run(copy_conversation, run.earlier, run.folder, ports.disk)
    return await load_agent(run.folder, None, ports.blocking), await ports.blocking.run(
        partial(read_left, run.folder, has_hosts=has_hosts)
    )


def read_team_records(run_folder: Path) -> dict[str, TeamRecord]:
    """Return what is known of each team of a run, by name."""
    codec, world = Codec(teams.EVENTS), World(teams.FOLDS)
    for entry in entries_of(run_folder / JOURNAL, b'"team"', codec):
        world.apply(entry)
    return records_of(
        {section: world.section(section) for section in _TEAM_SECTIONS}, read_told(run_folder / TRANSCRIPTS)
    )


def read_schedules(run_folder: Path) -> tuple[dict[str, ScheduleView], list[EndedSchedule]]:
    """Return the schedules of a run by their ids, and those that have ended, in order."""
    codec, world = Codec(SCHEDULE_EVENTS), World(SCHEDULE_FOLDS)
    ended: list[EndedSchedule] = []
    for entry in entries_of(run_folder / JOURNAL, b'"schedule.', codec):
        event: Any = entry.event
        before = None if isinstance(event, SchedulesPaused) else world.section("schedules").get(event.schedule)
        world.apply(entry)
        if before is not None and event.schedule not in world.section("schedules"):
            ended.append(end_of(before, event))
    return dict(world.section("schedules")), ended

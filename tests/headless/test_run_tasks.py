"""Lines of a stream about background tasks, and how long a run stays for them: pure functions, for all orders of events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.events import (
    AgentDefined,
    AgentSummarized,
    ModelEnded,
    PermissionAnswered,
    PermissionAsked,
    ToolBegan,
)
from greenroom.core import Event, UsageError
from greenroom.headless._background_wait import (
    CEILING_S,
    CEILING_VARIABLE,
    SHELL_GRACE_S,
    Moment,
    latest_s,
    read_ceiling,
)
from greenroom.headless._task_lines import Line, TaskLines
from greenroom.tasks import AGENT, SHELL, TaskBegan, TaskEnded, TaskMoved

WALL_MS = 1_700_000_000_000
FIELDS = {
    "task_started": {"task_id", "tool_use_id", "description", "task_type", "is_backgrounded", "spawn_depth"},
    "task_progress": {"task_id", "tool_use_id", "description", "subagent_type", "usage", "last_tool_name", "summary"},
    "task_updated": {"task_id", "patch"},
    "task_notification": {"task_id", "tool_use_id", "status", "output_file", "summary", "usage"},
    "background_tasks_changed": {"tasks"},
}
"""The keys that a line may have beside `type` and `subtype`."""


def began(task: str, *, is_background: bool = True, run: int = 1, call: str = "c1") -> TaskBegan:
    is_agent = task.startswith("a")
    return TaskBegan(
        actor="main",
        task=task,
        type=AGENT if is_agent else SHELL,
        description=f"do {task}",
        call=call,
        agent="Explore" if is_agent else "",
        run=run,
        depth=1 if is_agent else 0,
        is_background=is_background,
    )


def ended(task: str, state: str = "completed", *, run: int = 1, error: str = "") -> TaskEnded:
    exit_code = None if task.startswith("a") else 0
    return TaskEnded(
        actor="main", task=task, state=state, exit_code=exit_code, error=error, run=run, tokens=30, tool_uses=2
    )


def lines_of(events: Sequence[Event], *, step_s: float = 1.0) -> list[Line]:
    lines = TaskLines(Path("/runs/r1/tasks"))
    return [
        line
        for number, event in enumerate(events)
        for line in lines.see(event, now_s=number * step_s, wall_ms=WALL_MS + number)
    ]


@st.composite
def lives(draw: st.DrawFn) -> list[Event]:
    """Some tasks, each with its edges in order, shuffled into each other; an agent may have several runs."""
    queues: list[list[Event]] = []
    for task in draw(st.lists(st.sampled_from(["a1", "a2", "b1", "b2"]), unique=True, max_size=4)):
        mine: list[Event] = []
        if task.startswith("a"):
            mine.append(AgentDefined(actor=task, definition="Explore", model="m", transcript="", agent=task, call="c1"))
        for run in range(1, draw(st.integers(1, 2 if task.startswith("a") else 1)) + 1):
            is_background = draw(st.booleans())
            mine.append(began(task, is_background=is_background, run=run))
            mine += [
                ToolBegan(actor=task, turn=1, round=1, call="x", tool="Read", summary="a.txt")
                for _ in range(draw(st.integers(0, 2)))
            ]
            if not is_background and draw(st.booleans()):
                mine.append(TaskMoved(actor="main", task=task, run=run))
            mine.append(ended(task, draw(st.sampled_from(["completed", "failed", "killed"])), run=run))
        queues.append(mine[: draw(st.integers(0, len(mine)))])
    events: list[Event] = []
    while any(queues):
        events.append(draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    return events


@given(lives())
def test_each_line_has_the_documented_fields(events: list[Event]) -> None:
    for line in lines_of(events):
        assert line["type"] == "system"
        assert set(line) - {"type", "subtype"} <= FIELDS[line["subtype"]]


@given(lives())
def test_what_was_announced_has_one_end_and_nothing_else_has(events: list[Event]) -> None:
    """Mechanism: a command that a call waits for is not announced, and a run is announced once."""
    open_runs: set[str] = set()
    for line in lines_of(events):
        match line["subtype"]:
            case "task_started":
                assert line["task_id"] not in open_runs
                open_runs.add(line["task_id"])
            case "task_notification":
                assert line["status"] in {"completed", "failed", "stopped"}
                open_runs.remove(line["task_id"])
            case "task_progress":
                assert line["task_id"] in open_runs
    still = {event.task for event in events if isinstance(event, TaskBegan)}
    assert open_runs <= still


@given(lives())
def test_the_set_of_what_runs_in_the_background_is_whole_and_said_when_it_changes(events: list[Event]) -> None:
    """Mechanism: the line replaces the one before; nothing is said at the start."""
    lines, live, said = TaskLines(Path("/t")), set[str](), list[Any]()
    for number, event in enumerate(events):
        match event:
            case TaskBegan(is_background=True):
                live.add(event.task)
            case TaskMoved():
                live.add(event.task)
            case TaskEnded():
                live.discard(event.task)
        for line in lines.see(event, now_s=number, wall_ms=number):
            if line["subtype"] == "background_tasks_changed":
                said.append({task["task_id"] for task in line["tasks"]})
                assert all(set(task) == {"task_id", "task_type", "description"} for task in line["tasks"])
        assert (said[-1] if said else set()) == live
        assert {entry["task_id"] for entry in lines.live()} == live
    assert all(before != after for before, after in zip([set(), *said], said, strict=False))


def test_a_command_that_is_moved_is_announced_then() -> None:
    started, changed = lines_of([began("b1", is_background=False), TaskMoved(actor="main", task="b1")])

    assert started == {
        "type": "system",
        "subtype": "task_started",
        "task_id": "b1",
        "tool_use_id": "c1",
        "description": "do b1",
        "task_type": "local_bash",
        "is_backgrounded": True,
    }
    assert changed["tasks"] == [{"task_id": "b1", "task_type": "local_bash", "description": "do b1"}]


def test_an_agent_that_is_moved_is_updated() -> None:
    lines = lines_of([began("a1", is_background=False), TaskMoved(actor="main", task="a1")])

    assert lines[1] == {
        "type": "system",
        "subtype": "task_updated",
        "task_id": "a1",
        "patch": {"is_backgrounded": True},
    }


def test_an_agent_that_failed_and_one_that_was_killed() -> None:
    """`stopped` stands for killed, and only in the notification."""
    events = [began("a1"), began("a2", call=""), ended("a1", "failed", error="no"), ended("a2", "killed")]
    shown = [line for line in lines_of(events) if line["subtype"] in {"task_updated", "task_notification"}]

    about = {"type": "system", "task_id": "a1"}
    assert shown[0] == about | {
        "subtype": "task_updated",
        "patch": {"status": "failed", "end_time": WALL_MS + 2, "error": "no"},
    }
    assert shown[1] == about | {
        "subtype": "task_notification",
        "tool_use_id": "c1",
        "status": "failed",
        "output_file": "/runs/r1/tasks/a1.output",
        "summary": 'Agent "do a1" failed: no',
        "usage": {"total_tokens": 30, "tool_uses": 2, "duration_ms": 2000},
    }
    assert shown[2]["patch"] == {"status": "killed", "end_time": WALL_MS + 3}
    assert (shown[3]["status"], "tool_use_id" in shown[3]) == ("stopped", False)
    assert shown[3]["summary"] == 'Agent "do a2" was stopped'


def test_what_an_agent_says_it_is_doing_is_in_its_progress_from_then_on() -> None:
    defined = AgentDefined(actor="a1", definition="Explore", model="m", transcript="", agent="a1", call="c1")
    called = ToolBegan(actor="a1", turn=1, round=1, call="x", tool="Read", summary="a.txt")
    said = AgentSummarized(actor="a1", text="Reading the parser's tests")
    lines = lines_of([defined, began("a1"), called, said, called, ended("a1"), said])
    progress = [(line.get("summary"), line["last_tool_name"]) for line in lines if line["subtype"] == "task_progress"]

    assert progress == [(None, "Read"), (said.text, "Read"), (said.text, "Read")]


def test_waiting_for_permission_is_shown_and_is_not_work() -> None:
    """CL-12: `total_paused_ms` is what it is after each wait, and no duration has it in it."""
    about: dict[str, Any] = {"actor": "a1", "turn": 1, "round": 1, "tool": "Bash"}

    def asked(call: str) -> PermissionAsked:
        return PermissionAsked(**about, call=call, reason="a rule")

    def answered(call: str) -> PermissionAnswered:
        return PermissionAnswered(**about, call=call, answer="allowed", by="person")

    defined = AgentDefined(actor="a1", definition="Explore", model="m", transcript="", agent="a1", call="c1")
    events = [defined, began("a1"), asked("x"), asked("y"), answered("x"), answered("y"), ended("a1")]
    shown = [line for line in lines_of(events, step_s=10) if line["subtype"] in {"task_updated", "task_notification"}]

    assert shown[0]["patch"] == {"total_paused_ms": 30_000}
    assert [line["subtype"] for line in shown] == ["task_updated", "task_updated", "task_notification"]
    assert shown[-1]["usage"]["duration_ms"] == 20_000


def test_progress_counts_the_latest_input_and_all_output_of_the_turns_of_this_run() -> None:
    """What runs beside the turns is no progress, and a later run of the agent has another actor."""

    def answered(actor: str, turn: int, read: int, wrote: int) -> ModelEnded:
        return ModelEnded(
            actor=actor,
            turn=turn,
            round=1,
            state="completed",
            stop_reason="tool_use",
            input_tokens=read,
            output_tokens=wrote,
            cache_creation_input_tokens=0,
            cache_read_input_tokens=0,
            error="",
        )

    def called(actor: str) -> ToolBegan:
        return ToolBegan(actor=actor, turn=1, round=1, call="x", tool="Grep", summary="")

    def defined(actor: str) -> AgentDefined:
        return AgentDefined(actor=actor, definition="Explore", model="m", transcript="", agent="a1", call="c1")

    events = [
        *(defined("a1"), began("a1"), answered("a1", 1, 10, 5), called("a1"), answered("a1", 0, 900, 900)),
        *(answered("a1", 2, 20, 5), called("a1"), ended("a1")),
        *(defined("other"), began("a1", run=2), answered("other", 1, 7, 1), called("other")),
    ]
    progress = [line for line in lines_of(events) if line["subtype"] == "task_progress"]

    assert [(event["usage"]["total_tokens"], event["usage"]["tool_uses"]) for event in progress] == [
        (15, 1),
        (30, 2),
        (8, 1),
    ]
    assert [event["usage"]["duration_ms"] for event in progress] == [2000, 5000, 2000]
    assert {event["last_tool_name"] for event in progress} == {"Grep"}


# --- how long a run stays ------------------------------------------------------------------------------------------------

SECONDS = st.integers(0, 30).map(float)


@given(
    st.builds(Moment, now_s=SECONDS, is_busy=st.booleans(), agents=st.integers(0, 3), shells=st.integers(0, 3)),
    SECONDS,
    SECONDS,
    SECONDS | st.just(math.inf),
)
def test_a_run_stays_no_longer_than_it_may_and_leaves_no_turn(
    moment: Moment, answered_s: float, alone_s: float, ceiling_s: float
) -> None:
    """RC-36. Mechanism: a turn is never cut, agents have the ceiling, commands some seconds behind the last agent."""
    latest = latest_s(moment, answered_s=answered_s, alone_s=alone_s, ceiling_s=ceiling_s)

    if moment.is_busy:
        assert latest == math.inf
    elif not (moment.agents or moment.shells):
        assert latest is None
    elif latest is None:
        limit = answered_s + ceiling_s if moment.agents else alone_s + SHELL_GRACE_S
        assert moment.now_s >= min(limit, answered_s + ceiling_s)
    else:
        assert moment.now_s < latest <= answered_s + ceiling_s + SHELL_GRACE_S
        if not moment.agents:
            assert latest <= alone_s + SHELL_GRACE_S


@pytest.mark.parametrize(
    ("moment", "alone_s", "latest"),
    [
        (Moment(now_s=1), 0, None),
        (Moment(now_s=99, is_busy=True, agents=1), 0, math.inf),
        (Moment(now_s=10, agents=1, shells=1), 10, 20),
        (Moment(now_s=20, agents=1), 20, None),
        (Moment(now_s=1, shells=1), 0, 5),
        (Moment(now_s=5, shells=1), 0, None),
        (Moment(now_s=13, shells=1), 12, 17),
        (Moment(now_s=24, shells=1), 23, 25),
    ],
    ids=["nothing", "a turn", "an agent", "an agent too long", "a command", "too long", "after agents", "in the end"],
)
def test_an_answer_at_0_with_a_ceiling_of_20(moment: Moment, alone_s: float, latest: float | None) -> None:
    assert latest_s(moment, answered_s=0, alone_s=alone_s, ceiling_s=20) == latest


def test_the_ceiling_is_ten_minutes_unless_the_variable_says_otherwise() -> None:
    assert read_ceiling({}) == CEILING_S == 600
    assert read_ceiling({CEILING_VARIABLE: " 1500 "}) == 1.5
    assert read_ceiling({CEILING_VARIABLE: "0"}) == math.inf


@pytest.mark.parametrize("text", ["-1", "1.5", "ten", "\u0661"])
def test_a_ceiling_that_is_no_number_of_milliseconds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=CEILING_VARIABLE):
        read_ceiling({CEILING_VARIABLE: text})

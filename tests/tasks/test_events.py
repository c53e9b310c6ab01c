"""Events of tasks: tuples of values, each of which is one of the event classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from greenroom.core import Cause, Recorder, event_of
from greenroom.tasks import (
    AGENT,
    Edge,
    Task,
    TaskBegan,
    TaskDropped,
    TaskEnded,
    TaskInfo,
    TaskMoved,
    TaskRegistered,
    TaskSettled,
    TaskUsage,
    record_new,
    record_settled,
    record_task,
)


def make_task(recorder: Recorder) -> Task:
    info = TaskInfo(
        id="a1",
        kind=AGENT,
        description="d" * 300,
        owner="a0",
        tool_use_id="t1",
        output_file=Path("/out"),
        agent_type="worker",
        depth=2,
        run=3,
    )
    return Task(
        info=info,
        is_background=False,
        tell=lambda _: None,
        watch=lambda task, edge: record_task(recorder, task, edge),
        kill=lambda _: None,
    )


async def test_what_is_on_record_of_a_task_says_it_in_the_fields_of_its_class() -> None:
    recorder = Recorder(lambda: 0.0)
    task = make_task(recorder)

    record_new(recorder, task)
    task.move(Edge.BEGIN)
    task.move_to_background()
    task.usage = TaskUsage(total_tokens=70, tool_uses=8, duration_ms=9)
    task.error, task.cause = "e" * 600, Cause("host", "enough")
    task.move(Edge.FAIL)
    record_settled(recorder, task)

    about: dict[str, Any] = {"actor": "a0", "task": "a1", "run": 3}
    told: dict[str, Any] = {"type": AGENT, "description": "d" * 200, "call": "t1", "agent": "worker", "depth": 2}
    assert [event_of(record) for record in recorder.latest()] == [
        TaskRegistered(**about, **told, is_background=False),
        TaskBegan(**about, **told, is_background=False),
        TaskMoved(**about),
        TaskEnded(**about, state="failed", exit_code=None, error="e" * 500, tokens=70, tool_uses=8, cause="host"),
        TaskSettled(**about),
    ]


async def test_a_task_that_ends_before_its_work_began_is_dropped_and_one_without_usage_has_used_nothing() -> None:
    recorder = Recorder(lambda: 0.0)

    make_task(recorder).move(Edge.KILL)
    begun = make_task(recorder)
    begun.move(Edge.BEGIN)
    begun.move(Edge.COMPLETE)

    dropped, _, ended = [event_of(record) for record in recorder.latest()]
    assert dropped == TaskDropped(actor="a0", task="a1", run=3)
    assert isinstance(ended, TaskEnded)
    assert attrs.astuple(ended)[-4:] == (0, 0, "", 0)

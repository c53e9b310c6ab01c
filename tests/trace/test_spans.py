"""Spans: what is created, begun, ended and dropped is joined by what it has in common, whatever lies in between."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import Event
from greenroom.tasks import TaskBegan, TaskDropped, TaskEnded, TaskRegistered
from greenroom.trace import check_journal, open_spans, spans
from tests.trace.planting import BEGIN, END, Entries, run

LIVES: Final = (("new", "begin", "end"), ("new", "dropped"), ("new", "end"), ("begin", "end"))
"""The events of a task's run, in order; journals of earlier versions begin with its work."""


def step_of(step: str, task: str, run: int = 1) -> Event:
    match step:
        case "new":
            return TaskRegistered(task=task, run=run, type="local_bash", description="")
        case "begin":
            return TaskBegan(task=task, run=run, type="local_bash", description="")
        case "dropped":
            return TaskDropped(task=task, run=run)
    return TaskEnded(task=task, run=run, state="completed", exit_code=0, error="")


def ids_of(entries: Entries) -> set[str]:
    return {finding.id for finding in check_journal(run(BEGIN, *(entry.event for entry in entries), END))}


@given(st.lists(st.sampled_from(LIVES), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_what_is_open_is_what_has_neither_ended_nor_been_dropped(lives: list[tuple[str, ...]], order: Random) -> None:
    """Each run is paired with itself, in whatever order they wait, begin and end."""
    turns = [number for number, life in enumerate(lives) for _ in life]
    order.shuffle(turns)
    left = [list(life) for life in lives]
    entries = run(*(step_of(left[number].pop(0), "b1", number) for number in turns))

    for cut in range(len(entries) + 1):
        latest = {entry["run"]: entry for entry in entries[:cut]}
        opened = [record for record in latest.values() if record.kind in {"task.new", "task.begin"}]
        assert open_spans(entries[:cut]) == sorted(opened, key=lambda one: one.seq)
    pairs = [(one.seq, other["run"]) for one, other in spans(entries)]
    begins = {entry["run"]: entry.seq for entry in entries if entry.kind == "task.begin"}
    ends = [entry["run"] for entry in entries if entry.kind == "task.end"]
    assert pairs == [(begins[number], number) for number in ends if number in begins]
    assert ids_of(entries) == set()


@pytest.mark.parametrize(
    "steps",
    [
        [("dropped", "b1")],
        [("new", "b1"), ("dropped", "b1"), ("dropped", "b1")],
        [("new", "b1"), ("begin", "b1"), ("dropped", "b1")],
        [("new", "b1"), ("dropped", "b2")],
        [("new", "b1"), ("begin", "b2"), ("end", "b2"), ("end", "b2")],
    ],
)
def test_nothing_is_dropped_or_ended_that_is_not_there(steps: list[tuple[str, str]]) -> None:
    assert "I-48" in ids_of(run(*(step_of(*step) for step in steps)))


def test_a_task_that_was_neither_begun_nor_dropped_is_open_when_its_session_has_ended() -> None:
    steps = [("new", "b1"), ("new", "b2"), ("begin", "b2"), ("end", "b2")]

    assert ids_of(run(*(step_of(*step) for step in steps))) == {"I-9"}

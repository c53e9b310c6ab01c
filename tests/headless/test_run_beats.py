"""Signs of life of a stream: which calls of the main agent still run."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.events import AgentDefined, ModelEnded, ModelRetried, ToolBegan, ToolEnded
from greenroom.headless._heartbeats import BEAT_S, Beats


def place(actor: str, turn: int = 1) -> dict[str, Any]:
    return {"actor": actor, "turn": turn, "round": 1}


def began(call: str, tool: str = "Bash", **more: Any) -> ToolBegan:
    return ToolBegan(**place(**{"actor": "main", **more}), call=call, tool=tool, summary="")


def ended(call: str) -> ToolEnded:
    return ToolEnded(**place("main"), call=call, tool="Bash", state="completed", output_chars=0, error="")


@given(st.lists(st.integers(0, 200), min_size=1, max_size=5), st.integers(0, 300))
def test_each_call_is_spoken_of_every_thirty_seconds_that_it_runs(starts_s: list[int], more_s: int) -> None:
    """Mechanism: each call is due once more whenever it was spoken of."""
    beats, told = Beats("main"), dict.fromkeys(map(str, range(len(starts_s))), 0)
    last_s = max(starts_s) + more_s
    for at, call in [*sorted((at, str(number)) for number, at in enumerate(starts_s)), (last_s, "")]:
        while beats.due_s <= at:
            for line in beats.beat(beats.due_s):
                told[line["tool_use_id"]] += 1
                assert line["elapsed_time_seconds"] == told[line["tool_use_id"]] * BEAT_S
        if call:
            beats.see(began(call), now_s=at)

    assert told == {str(number): (last_s - at) // 30 for number, at in enumerate(starts_s)}


def test_only_calls_of_the_main_agents_turns_that_run() -> None:
    beats = Beats("main")
    for event in (began("a", actor="a1"), began("b", turn=0), began("c"), began("d"), ended("c")):
        beats.see(event, now_s=0)

    assert [entry["tool_use_id"] for entry in beats.beat(100)] == ["d"]
    assert beats.beat(100) == []
    assert beats.due_s == 120
    beats.see(ended("d"), now_s=110)
    assert beats.due_s == math.inf


def test_of_a_call_that_started_an_agent_its_type_and_its_retry_are_said() -> None:
    beats = Beats("main")
    beats.see(began("toolu_1", "Agent"), now_s=0)
    defined = AgentDefined(actor="a1", definition="Explore", model="m", transcript="", agent="a1", call="toolu_1")
    beats.see(defined, now_s=1)
    retried = ModelRetried(**place("a1"), attempt=2, attempts=4, delay_s=1.5, status=529, error="overloaded")
    beats.see(retried, now_s=2)
    answered = ModelEnded(
        **place("a1"),
        state="completed",
        stop_reason="end_turn",
        input_tokens=1,
        output_tokens=1,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        error="",
    )

    (line,) = beats.beat(30)
    beats.see(answered, now_s=31)
    (later,) = beats.beat(60)

    assert line == {
        "type": "tool_progress",
        "tool_use_id": "toolu_1",
        "tool_name": "Agent",
        "parent_tool_use_id": None,
        "elapsed_time_seconds": 30,
        "subagent_type": "Explore",
        "subagent_retry": {"attempt": 1, "max_retries": 3, "retry_delay_ms": 1500, "error_status": 529},
    }
    assert "subagent_retry" not in later

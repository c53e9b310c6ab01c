"""Inputs of handlers: the exact JSON of each event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import (
    BatchedCall,
    ConfigChangeInput,
    CwdChangedInput,
    DirectoryAddedInput,
    ElicitationInput,
    ElicitationResultInput,
    FileChangedInput,
    HookContext,
    HookInput,
    InstructionsLoadedInput,
    MessageDisplayInput,
    NotificationInput,
    PermissionDeniedInput,
    PermissionRequestInput,
    PostCompactInput,
    PostToolBatchInput,
    PostToolUseFailureInput,
    PostToolUseInput,
    PreCompactInput,
    PreToolUseInput,
    RunningTask,
    SessionEndInput,
    SessionStartInput,
    SetupInput,
    StopFailureInput,
    StopInput,
    SubagentStartInput,
    SubagentStopInput,
    TaskCompletedInput,
    TaskCreatedInput,
    TeammateIdleInput,
    UserPromptExpansionInput,
    UserPromptSubmitInput,
    WorktreeCreateInput,
    WorktreeRemoveInput,
)
from greenroom.hooks.inputs._encoding import INPUTS
from greenroom.hooks.inputs._turn_ends import SessionCron

HERE: Final = HookContext(session_id="s", cwd=Path("/repo"))
COMMON: Final = {"session_id": "s", "transcript_path": "", "cwd": "/repo"}
CALL: Final[dict[str, Any]] = {"tool_name": "Read", "tool_input": {"file_path": "/repo/a"}}
ENDED: Final[dict[str, Any]] = {"stop_hook_active": True, "last_assistant_message": "Done."}
SAME: Final[list[tuple[HookInput, str, dict[str, Any]]]] = [
    (PreToolUseInput(**CALL, tool_use_id="t"), "Read", {**CALL, "tool_use_id": "t"}),
    (
        PostToolUseInput(**CALL, tool_use_id="t", tool_response={"ok": 1}, duration_ms=5),
        "Read",
        {**CALL, "tool_use_id": "t", "tool_response": {"ok": 1}, "duration_ms": 5},
    ),
    (
        PostToolUseFailureInput(**CALL, tool_use_id="t", error="no", is_interrupt=False),
        "Read",
        {**CALL, "tool_use_id": "t", "error": "no", "is_interrupt": False},
    ),
    (
        PostToolBatchInput(tool_calls=(BatchedCall(**CALL, tool_use_id="t", tool_response="text"),)),
        "",
        {"tool_calls": [{**CALL, "tool_use_id": "t", "tool_response": "text"}]},
    ),
    (
        PermissionRequestInput(**CALL, permission_suggestions=[{"type": "addRules"}]),
        "Read",
        {**CALL, "permission_suggestions": [{"type": "addRules"}]},
    ),
    (
        PermissionDeniedInput(**CALL, tool_use_id="t", reason="r"),
        "Read",
        {**CALL, "tool_use_id": "t", "reason": "r"},
    ),
    (UserPromptSubmitInput(prompt="hi"), "", {"prompt": "hi"}),
    (SessionStartInput(source="resume", model="m"), "resume", {"source": "resume", "model": "m"}),
    (SessionEndInput(reason="other"), "other", {"reason": "other"}),
    (
        StopInput(
            **ENDED,
            background_tasks=(RunningTask(id="b1", type="shell", status="running", description="d" * 2_000),),
            session_crons=(SessionCron(id="c", schedule="0 9 * * *", recurring=True, prompt="p"),),
        ),
        "",
        {
            **ENDED,
            "background_tasks": [{"id": "b1", "type": "shell", "status": "running", "description": "d" * 1_000}],
            "session_crons": [{"id": "c", "schedule": "0 9 * * *", "recurring": True, "prompt": "p"}],
        },
    ),
    (
        SubagentStopInput(
            **ENDED,
            agent_id="a1",
            agent_type="Explore",
            agent_transcript_path=Path("/runs/s/subagents/agent-a1.jsonl"),
        ),
        "Explore",
        {
            **ENDED,
            "background_tasks": [],
            "session_crons": [],
            "agent_id": "a1",
            "agent_type": "Explore",
            "agent_transcript_path": "/runs/s/subagents/agent-a1.jsonl",  # Behaviours (3), line 5
        },
    ),
    (StopFailureInput(error="rate_limit"), "rate_limit", {"error": "rate_limit"}),
    (SubagentStartInput(agent_id="a1", agent_type="Plan"), "Plan", {"agent_id": "a1", "agent_type": "Plan"}),
    (TaskCreatedInput(task_id="1", task_subject="x"), "", {"task_id": "1", "task_subject": "x"}),
    (
        TaskCompletedInput(task_id="1", task_subject="x", teammate_name="n", team_name="t", on_idle=True),
        "",
        {"task_id": "1", "task_subject": "x", "teammate_name": "n", "team_name": "t"},
    ),
    (TeammateIdleInput(teammate_name="n", team_name="t"), "", {"teammate_name": "n", "team_name": "t"}),
    (WorktreeCreateInput(name="w"), "", {"name": "w"}),
    (WorktreeRemoveInput(worktree_path=Path("/w")), "", {"worktree_path": "/w"}),
    (
        ConfigChangeInput(source="user_settings", file_path=Path("/s.json")),
        "user_settings",
        {"source": "user_settings", "file_path": "/s.json"},
    ),
    (
        UserPromptExpansionInput(
            expansion_type="slash_command", command_name="n", command_args="a", command_source="user", prompt="p"
        ),
        "n",
        {
            "expansion_type": "slash_command",
            "command_name": "n",
            "command_args": "a",
            "command_source": "user",
            "prompt": "p",
        },
    ),
    (CwdChangedInput(old_cwd=Path("/a"), new_cwd=Path("/b")), "", {"old_cwd": "/a", "new_cwd": "/b"}),
    (
        FileChangedInput(file_path=Path("/a/b.txt"), change="add"),
        "b.txt",
        {"file_path": "/a/b.txt", "event": "add"},
    ),
    (
        InstructionsLoadedInput(file_path=Path("/a"), memory_type="User", load_reason="include", globs=("*.py",)),
        "include",
        {"file_path": "/a", "memory_type": "User", "load_reason": "include", "globs": ["*.py"]},
    ),
    (PreCompactInput(trigger="auto"), "auto", {"trigger": "auto", "custom_instructions": ""}),
    (PostCompactInput(trigger="manual", compact_summary="s"), "manual", {"trigger": "manual", "compact_summary": "s"}),
    (SetupInput(trigger="init"), "init", {"trigger": "init"}),
    (
        DirectoryAddedInput(directory=Path("/other"), source="slash_command"),
        "slash_command",
        {"directory": "/other", "source": "slash_command"},
    ),
    (
        MessageDisplayInput(turn_id="t", message_id="m", delta="Here is the plan.\n"),
        "",
        {"turn_id": "t", "message_id": "m", "index": 0, "final": True, "delta": "Here is the plan.\n"},
    ),
    (
        ElicitationInput(mcp_server_name="s", message="?", mode="form", requested_schema={"type": "object"}),
        "s",
        {"mcp_server_name": "s", "message": "?", "mode": "form", "requested_schema": {"type": "object"}},
    ),
    (
        ElicitationResultInput(mcp_server_name="s", action="accept", mode="form", content={"name": "Ann"}),
        "s",
        {"mcp_server_name": "s", "action": "accept", "mode": "form", "content": {"name": "Ann"}},
    ),
    (
        NotificationInput(message="m", notification_type="idle_prompt"),
        "idle_prompt",
        {"message": "m", "notification_type": "idle_prompt"},
    ),
]


@pytest.mark.parametrize(("told", "subject", "values"), SAME, ids=[told.event for told, _, _ in SAME])
def test_an_input_is_the_json_of_its_event(told: HookInput, subject: str, values: dict[str, Any]) -> None:
    encoded = told.encode(HERE)

    assert encoded == {**COMMON, "hook_event_name": told.event.value, **values}
    assert json.loads(json.dumps(encoded, allow_nan=False)) == encoded
    assert told.subject == subject


def test_every_input_is_held_here() -> None:
    assert {told.event: type(told) for told, _, _ in SAME} == INPUTS


def test_what_every_input_says() -> None:
    inside_child = attrs.evolve(
        HERE,
        prompt_id="p",
        transcript_path=Path("/runs/s/main.jsonl"),
        permission_mode="manual",
        effort="high",
        agent_id="a1",
        agent_type="Explore",
    )

    assert UserPromptSubmitInput(prompt="hi").encode(inside_child) == {
        "session_id": "s",
        "prompt_id": "p",
        "transcript_path": "/runs/s/main.jsonl",
        "cwd": "/repo",
        "permission_mode": "default",  # hooks never see its other name
        "effort": {"level": "high"},
        "agent_id": "a1",
        "agent_type": "Explore",
        "hook_event_name": HookEvent.USER_PROMPT_SUBMIT.value,
        "prompt": "hi",
    }


ANYTHING: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=4) | st.just(Path("/x")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers() | st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(ANYTHING)
def test_whatever_a_model_put_into_a_call_can_be_told(value: Any) -> None:
    told = PreToolUseInput(tool_name="T", tool_input={"value": value, "huge": 10**9_000}, tool_use_id="t")

    text = json.dumps(told.encode(HERE), allow_nan=False)

    assert text.isascii()
    assert json.loads(text)["tool_name"] == "T"


def test_what_is_nested_without_end_is_told_as_text() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless

    encoded = PreToolUseInput(tool_name="T", tool_input=endless, tool_use_id="t").encode(HERE)

    assert encoded["tool_input"] == "(nested too deeply to be shown)"

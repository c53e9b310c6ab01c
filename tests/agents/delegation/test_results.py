"""The four results of the tool Agent: their data, and what the model reads of them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents.delegation import TeammateSpawned
from greenroom.agents.delegation._results import (
    AsyncLaunched,
    Completed,
    RemoteLaunched,
    SpawnResult,
    ToolStats,
    text_for_model,
    truncate_report,
)
from greenroom.models import Usage

DONE = Completed(
    agent_id="a1",
    content=("Two bugs.",),
    total_tool_use_count=3,
    total_duration_ms=4_000,
    total_tokens=1_200,
    prompt="Review it.",
)
LAUNCHED = AsyncLaunched(agent_id="a2", description="run tests", prompt="Run the tests.", output_file="/tmp/a2.output")
MATE = TeammateSpawned(agent_id="scout@red", name="scout", team_name="red")
REMOTE = RemoteLaunched(task_id="r1", session_url="https://host/r1", description="d", prompt="p", output_file="/tmp/r1")

texts = st.text(max_size=20)
maybe_texts = st.none() | texts
results: st.SearchStrategy[SpawnResult] = st.one_of(
    st.builds(
        Completed,
        agent_id=texts,
        agent_type=maybe_texts,
        content=st.lists(texts, max_size=3).map(tuple),
        resolved_model=maybe_texts,
        models_used=st.none() | st.lists(texts, max_size=2).map(tuple),
        tool_stats=st.none() | st.just(ToolStats()),
        prompt=texts,
        worktree_path=maybe_texts,
        worktree_branch=maybe_texts,
    ),
    st.builds(
        AsyncLaunched,
        is_async=st.none() | st.booleans(),
        agent_id=texts,
        description=texts,
        resolved_model=maybe_texts,
        models_used=st.none() | st.lists(texts, max_size=2).map(tuple),
        prompt=texts,
        output_file=texts,
        can_read_output_file=st.none() | st.booleans(),
    ),
    st.builds(TeammateSpawned, agent_id=texts, name=texts, team_name=texts),
    st.builds(RemoteLaunched, task_id=texts, session_url=texts, description=texts, prompt=texts, output_file=texts),
)
STATUS = {
    Completed: "completed",
    AsyncLaunched: "async_launched",
    TeammateSpawned: "teammate_spawned",
    RemoteLaunched: "remote_launched",
}


@given(results)
def test_the_status_comes_first_and_the_data_is_json(result: SpawnResult) -> None:
    found = result.data()

    assert next(iter(found)) == "status"
    assert found["status"] == STATUS[type(result)]
    assert json.loads(json.dumps(found)) == found
    assert None not in found.values()


@given(results, st.booleans(), st.booleans())
def test_every_result_has_words(result: SpawnResult, is_one_shot: bool, can_read: bool) -> None:
    assert text_for_model(result, is_one_shot=is_one_shot, can_read_output=can_read).strip()


def test_a_completed_child_is_told_in_exactly_these_fields() -> None:
    """Behaviours (1), line 1."""
    full = Completed(
        agent_id="a1",
        agent_type="Explore",
        content=("one", "two"),
        resolved_model="claude-haiku-4-5",
        models_used=("claude-haiku-4-5",),
        total_tool_use_count=3,
        total_duration_ms=4_000,
        total_tokens=1_200,
        usage=Usage(1, 2, 3, 4),
        tool_stats=ToolStats(read_count=2, edit_file_count=1, other_tool_count=5),
        prompt="p",
        worktree_path="/w",
        worktree_branch="b",
    )

    assert full.data() == {
        "status": "completed",
        "agentId": "a1",
        "agentType": "Explore",
        "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        "resolvedModel": "claude-haiku-4-5",
        "modelsUsed": ["claude-haiku-4-5"],
        "totalToolUseCount": 3,
        "totalDurationMs": 4_000,
        "totalTokens": 1_200,
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 4,
            "server_tool_use": None,
            "service_tier": None,
            "cache_creation": None,
        },
        "toolStats": {
            "readCount": 2,
            "searchCount": 0,
            "bashCount": 0,
            "editFileCount": 1,
            "linesAdded": 0,
            "linesRemoved": 0,
            "otherToolCount": 5,
        },
        "prompt": "p",
        "worktreePath": "/w",
        "worktreeBranch": "b",
    }


def test_a_launched_child_is_told_in_exactly_these_fields() -> None:
    """Behaviours (1), line 1."""
    assert LAUNCHED.data() == {
        "status": "async_launched",
        "agentId": "a2",
        "description": "run tests",
        "prompt": "Run the tests.",
        "outputFile": "/tmp/a2.output",
    }
    full = AsyncLaunched(
        is_async=True,
        agent_id="a",
        description="d",
        resolved_model="m",
        models_used=("m",),
        prompt="p",
        output_file="f",
        can_read_output_file=False,
    )
    names = "status isAsync agentId description resolvedModel modelsUsed prompt outputFile canReadOutputFile"
    assert list(full.data()) == names.split()
    assert full.data()["canReadOutputFile"] is False


def test_teammates_and_remote_tasks_are_told_in_exactly_these_fields() -> None:
    assert list(MATE.data()) == ["status", "teammate_id", "agent_id", "name", "team_name"]
    assert list(REMOTE.data()) == ["status", "taskId", "sessionUrl", "description", "prompt", "outputFile"]


def test_the_report_comes_with_the_id_and_what_it_cost() -> None:
    text = text_for_model(DONE)

    assert text.startswith("Two bugs.\n\nagentId: a1 (use SendMessage")
    assert re.search(r"<usage>total_tokens: 1200\ntool_uses: 3\nduration_ms: 4000</usage>$", text)
    assert DONE.data()["content"] == [{"type": "text", "text": "Two bugs."}]


@pytest.mark.parametrize("content", [(), ("",), (" ", "\n")])
def test_a_child_that_said_nothing_is_told_so(content: tuple[str, ...]) -> None:
    """Behaviours (1), line 10."""
    done = Completed(agent_id="a1", content=content, prompt="p")

    assert text_for_model(done).startswith("(Subagent completed but returned no output.)\n\nagentId: a1")
    assert text_for_model(done, is_one_shot=True) == "(Subagent completed but returned no output.)"


def test_one_that_cannot_be_continued_tells_no_id() -> None:
    """Behaviours (1), line 10: results of Explore carry no agent id."""
    assert text_for_model(DONE, is_one_shot=True) == "Two bugs."


@pytest.mark.parametrize("is_one_shot", [True, False])
def test_a_kept_worktree_is_always_told(is_one_shot: bool) -> None:
    kept = Completed(agent_id="a1", content=("x",), prompt="p", worktree_path="/w/a1", worktree_branch="agent/a1")
    text = text_for_model(kept, is_one_shot=is_one_shot)

    assert "worktreePath: /w/a1 (" in text
    assert "worktreeBranch: agent/a1" in text
    assert ("SendMessage" in text) is not is_one_shot


def test_a_launch_tells_id_and_path_and_advice_only_to_who_can_read() -> None:
    """Behaviours (20), line 9."""
    reader, other = text_for_model(LAUNCHED), text_for_model(LAUNCHED, can_read_output=False)

    for text in (reader, other):
        assert text.startswith("Async agent launched successfully")
        assert "agentId: a2" in text
        assert "output_file: /tmp/a2.output" in text
    assert "Read or a shell command" in reader
    assert "Read" not in other
    assert "output file" not in other


def test_a_result_that_says_it_cannot_be_read_counts() -> None:
    told = AsyncLaunched(agent_id="a", description="d", prompt="p", output_file="f", can_read_output_file=False)
    assert text_for_model(told) == text_for_model(told, can_read_output=False)


def test_teammates_and_remote_tasks_tell_how_to_go_on() -> None:
    assert "agent_id: scout@red" in text_for_model(MATE)
    assert "SendMessage (to: 'scout')" in text_for_model(MATE)
    assert "Wait for its notice" in text_for_model(REMOTE)


@given(st.text(max_size=600), st.integers(0, 700), st.sampled_from(["", "/out/full.txt"]))
def test_a_report_is_cut_to_its_limit_and_says_where_the_rest_is(text: str, limit: int, path: str) -> None:
    cut = truncate_report(text, limit, path)
    if len(text) <= limit:
        assert cut == text
        return
    note = re.search(r"\n\.\.\. \(cut: .*\) \.\.\.\n", cut)
    assert note is not None
    assert (path or "the rest is lost") in note[0]
    assert len(cut) == max(limit, len(note[0]))
    head, tail = cut.split(note[0])
    assert text.startswith(head)
    assert text.endswith(tail)

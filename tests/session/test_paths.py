"""The ways to a sub-agent, told apart by what comes back and by what is on record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.models import Call
from greenroom.models._scripted import ScriptStep
from greenroom.session import Session
from tests.session.scripted import results, said, write
from tests.session.skills import as_repository, asked, events, members, opened

REVIEWER = "---\nname: code-reviewer\ndescription: Reviews.\ntools: Read, Grep, Glob\n---\nYou review.\n"
REVIEW = Call("Agent", {"description": "Review", "prompt": "Review it.", "subagent_type": "code-reviewer"})
REGRESS = Call("Agent", {"description": "Regression run", "prompt": "Run them.", "run_in_background": True})
NAMED = Call("Agent", {**REGRESS.input, "name": "tester"})
TO_TESTER = Call("SendMessage", {"to": "tester", "message": "Skip the slow ones.", "summary": "skip the slow ones"})
PROTOTYPE = Call("Agent", {"description": "Prototype", "prompt": "Try it.", "isolation": "worktree"})
FORK = Call("Agent", {"description": "Look", "prompt": "Look at it.", "subagent_type": "fork"})
OPEN = {"fork": "explicit", "interactive": True}


def programs_read(session: Session) -> list[dict[str, Any]]:
    """Return what programs read of main's calls, in order."""
    lines = map(json.loads, (session.run_folder / "transcripts/main.jsonl").read_text().splitlines())
    return [line["toolUseResult"] for line in lines if isinstance(line.get("toolUseResult"), dict)]


async def test_the_foreground_is_a_result_and_no_notice(project: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 1, the first call."""
    write(project / ".claude/agents/code-reviewer.md", REVIEWER)
    async with opened(project, {"main": [REVIEW, "done"], "code-reviewer": ["No faults."]}) as (session, model):
        await session.run("Go.")
    (request,) = asked(model, "code-reviewer")
    assert request.system.startswith("You review.")
    assert results(session)[0].content.startswith("No faults.")
    assert [entry["status"] for entry in programs_read(session)] == ["completed"]
    assert "<task-notification>" not in str(said(session))


@pytest.mark.parametrize("calls", [[REGRESS], [NAMED, TO_TESTER]], ids=["without a name", "with one"])
async def test_the_background_is_launched_at_once_and_told_by_a_notice(
    project: Path, autojump_clock: MockClock, calls: list[Call]
) -> None:
    """Behaviours (20), line 1, the second call and the third: a name is how a message reaches it."""
    child = [ScriptStep(answer=Call("Glob", {"pattern": "*"}), wait_s=5.0), "All pass."]
    async with opened(project, {"main": [*calls, "done", "told"], "general-purpose": child}) as (session, model):
        assert (await session.run("Go.")).text == "done"
        await session.wait_quiet()
    assert programs_read(session)[0]["status"] == "async_launched"
    assert "All pass." not in str(results(session))
    assert "All pass." in asked(model, "main")[-1].messages[-1].text
    assert ("Skip the slow ones." in str(asked(model, "general-purpose")[-1].messages)) is (TO_TESTER in calls)


async def test_a_worktree_is_another_place_and_kept_with_what_is_in_it(project: Path) -> None:
    """Behaviours (20), line 1, the fourth call."""
    as_repository(project)
    note = Call("Write", {"file_path": "a.txt", "content": "a"})
    async with opened(project, {"main": [PROTOTYPE, "done"], "general-purpose": [note, "Tried."]}) as (session, _):
        await session.run("Go.")
    (read,) = programs_read(session)
    assert (Path(read["worktreePath"]) / "a.txt").exists()
    assert not (project / "a.txt").exists()
    assert f"worktreePath: {read['worktreePath']}" in results(session)[0].content


async def test_a_fork_has_the_whole_conversation_and_comes_back_by_a_notice(
    project: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (20), line 1, the fifth call."""
    script = {"main": [FORK, "done", "told"], "fork": [ScriptStep(answer="Looked.", wait_s=5.0)]}
    async with opened(project, script, delegation=OPEN) as (session, model):
        await session.run("A secret of mine.")
        await session.wait_quiet()
    (request,) = asked(model, "fork")
    first = asked(model, "main")[0]
    assert (request.system, request.tools) == (first.system, first.tools)
    assert request.messages[: len(first.messages)] == first.messages
    assert programs_read(session)[0]["status"] == "async_launched"
    assert "Looked." in asked(model, "main")[-1].messages[-1].text


async def test_the_record_tells_the_ways_apart(project: Path, autojump_clock: MockClock) -> None:
    """A call and no skill; a call and a skill; a skill and no call."""
    script = {
        "main": [[REGRESS, Call("Skill", {"skill": "audit-auth"})], "done", "told"],
        "general-purpose": [ScriptStep(answer="one", wait_s=5.0), "two", "three"],
    }
    async with opened(project, script) as (session, _):
        await session.run("Go.")
        await session.wait_quiet()
        await session.run("/audit-auth")
        assert len(members(session)) == 3
    children = [event for event in events(session, "agent.defined") if event.get("depth")]
    assert [("call" in child, child.get("skill", "")) for child in children] == [
        (True, ""),
        (True, "audit-auth"),
        (False, "audit-auth"),
    ]


@pytest.mark.parametrize("barrier", ["hook", "rule", ""])
async def test_a_hook_or_a_rule_stops_a_spawn_and_without_them_nobody_is_asked(project: Path, barrier: str) -> None:
    """Behaviours (20), line 6."""
    refuses = {"matcher": "Agent", "hooks": [{"type": "command", "command": "echo 'not now' >&2; exit 2"}]}
    barriers: dict[str, dict[str, Any]] = {
        "hook": {"hooks": {"PreToolUse": [refuses]}},
        "rule": {"permissions": {"deny": ["Agent"]}},
        "": {},
    }
    review = Call("Agent", {"description": "Look", "prompt": "Look."})
    script = {"main": [review, "done"], "general-purpose": [] if barrier else ["Looked."]}
    async with opened(project, script, **barriers[barrier]) as (session, _):
        await session.run("Go.")
        assert len(members(session)) == (not barrier)
    assert results(session)[0].is_error is bool(barrier)
    assert events(session, "permission.asked") == []

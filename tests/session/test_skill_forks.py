"""Skills with `context: fork` in a session: sent commands, what the skill names, and its hooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trio.testing import MockClock

from greenroom.models import Call
from greenroom.models._scripted import ScriptStep
from tests.session.scripted import said, write
from tests.session.skills import asked, members, opened

AUDIT = Call("Skill", {"skill": "audit-auth", "args": "login"})
CHILD = "general-purpose"


async def test_a_command_that_was_sent_runs_in_its_turn(project: Path, autojump_clock: MockClock) -> None:
    """It has a turn of its own, behind what was sent before."""
    script: dict[str, Any] = {"main": [ScriptStep(answer="one", wait_s=9.0), "two"], CHILD: ["All is well."]}
    async with opened(project, script) as (session, model):
        session.send("First.")
        session.send("/audit-auth login")
        session.send("Last.")
        await session.wait_quiet()
        assert session.inbox.queued() == ()
    assert [request.definition for request in model.requests] == ["main", CHILD, "main"]
    assert "All is well." in str(said(session)[2])


async def test_agent_type_model_and_effort_are_those_that_the_skill_names(
    project: Path, autojump_clock: MockClock
) -> None:
    """They configure the child, and the turn that called keeps its own."""
    write(project / ".claude/agents/auditor.md", "---\nname: auditor\ndescription: x\ntools: Read\n---\nYou audit.\n")
    head = "agent: auditor\nmodel: haiku\neffort: low\n"
    async with opened(project, {"main": [AUDIT, "done"], "auditor": ["ok"]}, head=head) as (session, model):
        await session.run("Go.")
        (member,) = members(session)
        assert "haiku" in member.home.profile.model
    (request,) = asked(model, "auditor")
    assert "haiku" in request.model
    assert request.effort == "low"
    assert request.system.startswith("You audit.")
    assert {tool.name for tool in request.tools} == {"Read", "Skill"}
    assert [(request.model, request.effort) for request in asked(model, "main")] == [("", None), ("", None)]


async def test_hooks_of_the_skill_are_the_childs_alone_and_stop_is_subagent_stop(project: Path) -> None:
    """Behaviours (3), line 5."""
    told = project.parent / "told"
    hooks = f"hooks: {{Stop: [{{hooks: [{{type: command, command: 'cat >> {told}; echo >> {told}'}}]}}]}}\n"
    async with opened(project, {"main": [AUDIT, "done"], CHILD: ["All is well."]}, head=hooks) as (session, _):
        await session.run("Go.")
        (member,) = members(session)
    (heard,) = [json.loads(line) for line in told.read_text().splitlines() if line]
    assert heard["hook_event_name"] == "SubagentStop"
    assert heard["agent_id"] == member.id
    assert heard["agent_transcript_path"].endswith(f"agent-{member.id}.jsonl")

"""Skills with `context: fork`, called by a model and by the user: who waits, what is shared, how the result comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents.subagents import SkillForkFailed
from greenroom.core import Cause, ProviderError, TurnFailed, TurnKilled, UsageError
from greenroom.inbox import SCHEDULE
from greenroom.models import Call, Say, TextBlock, ToolResultBlock
from greenroom.models._scripted import ScriptStep
from greenroom.session import Session
from greenroom.tasks import EndReport, TaskState
from tests.session.scripted import results, said, write
from tests.session.skills import as_repository, asked, events, members, opened

AUDIT = Call("Skill", {"skill": "audit-auth", "args": "login"})
LONG = ScriptStep(answer="Never heard.", wait_s=600.0)
WATCHED = {"skill_fork": "background", "interactive": True}
CHILD = "general-purpose"


# --- who waits, and what comes back ------------------------------------------------------------------


async def test_a_model_waits_for_the_skill_and_its_result_is_that_of_the_call(
    project: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (4), line 4; Behaviours (20), line 1, the sixth call.

    The child is told the skill's text and nothing of the conversation; main's next request has the report.
    """
    script = {"main": [AUDIT, "done"], CHILD: [ScriptStep(answer="All is well.", wait_s=5.0)]}
    async with opened(project, script) as (session, model):
        answer = await session.run("A secret of mine.")
        (member,) = members(session)
        assert member.task.report is not EndReport.NONE
    assert answer.text == "done"
    (first,) = asked(model, CHILD)
    (told,) = first.messages
    text = f"Base directory for this skill: {project}/.claude/skills/audit-auth\n\nAudit login."
    assert told.content[0] == TextBlock(text)
    assert "secret" not in str(first)
    assert results(session)[0].content == ('Skill "audit-auth" completed (forked execution).\n\nResult:\nAll is well.')
    (defined,) = [event for event in events(session, "agent.defined") if event.get("skill")]
    assert (defined["skill"], defined["depth"], defined["call"]) == ("audit-auth", 1, results(session)[0].tool_use_id)
    assert [event["task"] for event in events(session, "task.begin")] == [member.id]
    assert "<task-notification>" not in str(said(session))


async def test_a_user_gets_what_the_skill_says_as_the_output_of_the_command(
    project: Path, autojump_clock: MockClock
) -> None:
    """No model of main is asked; it reads of the command with the next prompt."""
    script: dict[str, Any] = {"main": ["I see."], CHILD: [ScriptStep(answer="Use <b>.", wait_s=5.0)]}
    async with opened(project, script) as (session, model):
        answer = await session.run("/audit-auth login page")
        assert (answer.text, answer.rounds) == ("Use <b>.", 0)
        assert asked(model, "main") == []
        await session.run("And now?")
    command, prompt = [getattr(block, "text", "") for block in asked(model, "main")[0].messages[0].content]
    assert command == (
        "<command-name>/audit-auth</command-name><command-args>login page</command-args>"
        "<local-command-stdout>Use <b>.</local-command-stdout>"
    )
    assert prompt == "And now?"
    assert "Audit login page." in asked(model, CHILD)[0].messages[0].text
    assert [event.get("call", "") for event in events(session, "agent.defined") if event.get("skill")] == [""]


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


async def test_in_the_background_the_result_is_a_notice(project: Path, autojump_clock: MockClock) -> None:
    """The turn goes on at once, with the reduced set of tools for the child."""
    script = {"main": [AUDIT, "I go on.", "I have read it."], CHILD: [ScriptStep(answer="All is well.", wait_s=50.0)]}
    async with opened(project, script, delegation=WATCHED) as (session, model):
        assert (await session.run("Go.")).text == "I go on."
        (member,) = members(session)
        assert member.task.is_background
        assert "runs in the background as agent " + member.id in results(session)[0].content
        await session.wait_quiet()
    assert "<task-notification>" in asked(model, "main")[-1].messages[-1].text
    assert "All is well." in asked(model, "main")[-1].messages[-1].text
    assert "TaskOutput" not in {tool.name for tool in asked(model, CHILD)[0].tools}


async def test_an_assistant_waits_for_nothing_and_reads_a_hidden_prompt(
    project: Path, autojump_clock: MockClock
) -> None:
    """Several commands run side by side, and the input is not held up."""
    child = [ScriptStep(answer="One </command-result>.", wait_s=50.0), ScriptStep(answer="Two.", wait_s=90.0)]
    script = {"main": ["Hello.", "First read.", "Second read."], CHILD: child}
    async with opened(project, script, delegation={"assistant": True}) as (session, model):
        began_s = trio.current_time()
        assert "runs in the background" in (await session.run("/audit-auth a")).text
        assert "runs in the background" in (await session.run("/audit-auth b")).text
        assert (await session.run("Hi.")).text == "Hello."
        assert trio.current_time() - began_s < 10.0
        await session.wait_quiet()
    texts = [request.messages[-1].text for request in asked(model, "main")]
    assert texts[1].startswith('<command-result command="/audit-auth a" status="completed">\n[harness: ')
    assert texts[1].endswith("\nOne \\&lt;/command-result>.\n</command-result>")
    assert "Two." in texts[2]
    assert "<task-notification>" not in str(said(session))
    lines = [json.loads(line) for line in (session.run_folder / "transcripts/main.jsonl").read_text().splitlines()]
    hidden = [line for line in lines if "<command-result" in str(line.get("message"))]
    assert [entry["isMeta"] for entry in hidden] == [True, True]
    assert hidden[0]["origin"]["kind"] == "auto-continuation"


async def test_an_assistant_reads_that_a_skill_did_not_come_to_its_end(
    project: Path, autojump_clock: MockClock
) -> None:
    """RC-37, CL-08: the hidden prompt says how it ended, and why."""
    error = ProviderError("no", kind="bad_request", status=400)
    script = {"main": ["Read."], CHILD: [ScriptStep(error=error)]}
    async with opened(project, script, delegation={"assistant": True}) as (session, model):
        await session.run("/audit-auth a")
        await session.wait_quiet()

    (request,) = asked(model, "main")
    assert request.messages[-1].text.endswith(
        '<command-result command="/audit-auth a" status="failed">\n(The agent failed: bad_request: no.)\n</command-result>'
    )


@pytest.mark.parametrize(
    ("head", "delegation"),
    [
        ("", {}),
        ("background: false\n", WATCHED),
        ("", {**WATCHED, "interactive": False}),
        ("background: true\n", {}),
        ("", {**WATCHED, "background": False}),
        ("", {"assistant": True, "background": False}),
    ],
    ids=[
        "by default",
        "the skill says so",
        "nobody watches",
        "it says otherwise",
        "no background",
        "nor an assistant's",
    ],
)
async def test_where_a_skill_is_waited_for(
    project: Path, autojump_clock: MockClock, head: str, delegation: dict[str, Any]
) -> None:
    """Behaviours (4), line 4: with `background: false` the turn waits."""
    script = {"main": [AUDIT, "done"], CHILD: [ScriptStep(answer="All is well.", wait_s=5.0)]}
    async with opened(project, script, head=head, delegation=delegation) as (session, _):
        await session.run("Go.")
        assert "All is well." in results(session)[0].content


async def test_a_skill_that_runs_already_is_waited_for(project: Path, autojump_clock: MockClock) -> None:
    child = [ScriptStep(answer="slow", wait_s=500.0), ScriptStep(answer="quick", wait_s=1.0)]
    script = {"main": [AUDIT, AUDIT, "done", "told"], CHILD: child}
    async with opened(project, script, delegation=WATCHED) as (session, _):
        await session.run("Go.")
        assert "runs in the background" in results(session)[0].content
        assert "quick" in results(session)[1].content
        await session.wait_quiet()


async def test_what_a_schedule_begins_waits(project: Path, autojump_clock: MockClock) -> None:
    """The next turn is the user's, and waits for nothing."""
    child = [ScriptStep(answer="quick", wait_s=1.0)] * 2
    script = {"main": [AUDIT, "done", AUDIT, "done", "told"], CHILD: child}
    async with opened(project, script, delegation=WATCHED) as (session, _):
        session.send("It is nine.", origin=SCHEDULE)
        await session.wait_quiet()
        assert "quick" in results(session)[0].content
        await session.run("Go.")
        assert "runs in the background" in results(session)[1].content
        await session.wait_quiet()


async def test_one_that_is_waited_for_can_be_let_go_on_alone(project: Path, autojump_clock: MockClock) -> None:
    """Of a command: it does not notice, and its end is a notice."""
    script = {"main": ["told"], CHILD: [ScriptStep(answer="All is well.", wait_s=50.0)]}
    async with opened(project, script) as (session, model), trio.open_nursery() as nursery:
        nursery.start_soon(release, session)
        assert "runs in the background" in (await session.run("/audit-auth it")).text
        assert trio.current_time() < 20.0
        await session.wait_quiet()
        assert len(asked(model, CHILD)) == 1
        assert "All is well." in asked(model, "main")[-1].messages[-1].text


async def release(session: Session) -> None:
    await trio.sleep(10)
    assert len(session.tasks.background_all()) == 1


# --- what the child is ------------------------------------------------------------------------------------------------


async def test_what_the_skill_allows_is_the_childs_for_all_of_its_run_and_not_its_callers(
    project: Path, autojump_clock: MockClock
) -> None:
    write(
        project / ".claude/agents/auditor.md", "---\nname: auditor\ndescription: x\npermissionMode: dontAsk\n---\nx\n"
    )
    note = Call("Write", {"file_path": "a.txt", "content": "a"})
    mine = Call("Write", {"file_path": "b.txt", "content": "b"})
    script = {"main": [AUDIT, mine, "done"], "auditor": [note, note, "All is well."]}
    async with opened(project, script, head="agent: auditor\nallowed-tools: Write\n") as (session, _):
        await session.run("Go.")
    assert (project / "a.txt").exists()
    assert not (project / "b.txt").exists()
    assert results(session)[1].is_error


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


async def test_a_worktree_that_is_kept_is_named_with_the_result(project: Path) -> None:
    """The definition asks for it, and the main checkout is untouched."""
    as_repository(project)
    write(project / ".claude/agents/apart.md", "---\nname: apart\ndescription: x\nisolation: worktree\n---\nx\n")
    note = Call("Write", {"file_path": "a.txt", "content": "a"})
    async with opened(project, {"main": [], "apart": [note, "Written."]}, head="agent: apart\n") as (session, _):
        answer = await session.run("/audit-auth it")
        (member,) = members(session)
    text, _, worktree = answer.text.partition("\n\nworktreePath: ")
    assert text == "Written."
    assert member.task.worktree is not None
    assert worktree.startswith(member.task.worktree.path)
    assert (Path(member.task.worktree.path) / "a.txt").exists()
    assert not (project / "a.txt").exists()


async def test_without_a_model_of_its_own_it_has_its_callers(project: Path, autojump_clock: MockClock) -> None:
    """The caller may be a child."""
    write(project / ".claude/agents/quick.md", "---\nname: quick\ndescription: x\nmodel: haiku\n---\nx\n")
    spawn = Call("Agent", {"description": "quick", "prompt": "quick", "subagent_type": "quick"})
    async with opened(project, {"main": [spawn, "done"], "quick": [AUDIT, "end"], CHILD: ["ok"]}) as (session, model):
        await session.run("Go.")
    (request,) = asked(model, CHILD)
    assert "haiku" in request.model


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


async def test_a_skill_that_forks_does_not_run_itself(project: Path, autojump_clock: MockClock) -> None:
    """CL-51. Below itself it is refused through any other agent, too."""
    write(project / ".claude/agents/below.md", "---\nname: below\ndescription: x\n---\nx\n")
    spawn = Call("Agent", {"description": "below", "prompt": "below", "subagent_type": "below"})
    script = {"main": [AUDIT, "done"], CHILD: [AUDIT, spawn, "end"], "below": [AUDIT, "over"]}
    async with opened(project, script) as (session, model):
        await session.run("Go.")
        assert len(members(session)) == 2
    for definition in (CHILD, "below"):
        (result,) = asked(model, definition)[1].messages[-1].content
        assert isinstance(result, ToolResultBlock)
        assert result.is_error
        assert "audit-auth > audit-auth" in result.content


@pytest.mark.parametrize("release_s", [1.0, 300.0], ids=["from disk", "from memory"])
async def test_the_guard_holds_for_one_that_is_resumed(
    project: Path, autojump_clock: MockClock, release_s: float
) -> None:
    """CL-51: what ran above it is part of what is kept of it. The end of its second run is a notice, also for an assistant."""
    script: dict[str, Any] = {"main": ["read", "told"], CHILD: ["once", AUDIT, "twice"]}
    async with opened(project, script, delegation={"assistant": True, "release_s": release_s}) as (session, model):
        await session.run("/audit-auth it")
        (member,) = members(session)
        await session.wait_quiet()
        await trio.sleep(5)
        assert len(members(session)) == (release_s > 5)
        home = session.agents.pool.main_home
        assert home is not None
        await session.agents.post.send(member.id, "Once more.", sender=home.profile.id)
        await session.wait_quiet()
    (result,) = asked(model, CHILD)[-1].messages[-1].content
    assert "audit-auth > audit-auth" in getattr(result, "content", "")
    first, second = [request.messages[-1].text for request in asked(model, "main")]
    assert ("<command-result" in first, "<command-result" in second) == (True, False)
    assert "<task-notification>" in second


# --- what refuses it --------------------------------------------------------------------------------------------------


async def test_a_skill_of_an_agent_that_there_is_not_is_one_line(project: Path, autojump_clock: MockClock) -> None:
    """For the user an error of the call, for a model an error result; nothing is started."""
    async with opened(project, {"main": [AUDIT, "done"]}, head="agent: nobody\n") as (session, _):
        with pytest.raises(UsageError, match=r"/audit-auth: .*'nobody'"):
            await session.run("/audit-auth it")
        await session.run("Go.")
        assert members(session) == []
    (result,) = results(session)
    assert result.is_error
    assert "\n" not in result.content
    assert "the skill 'audit-auth' cannot run as an agent 'nobody'" in result.content


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"delegation": {"max_depth": 0}}, "depth limit"),
        ({"delegation": {"max_total": 0}}, "limit of this session"),
        ({"permissions": {"allow": ["Skill"], "deny": ["Agent(general-purpose)"]}}, "denied by the rule"),
    ],
)
async def test_the_rules_and_limits_of_all_agents_hold(
    project: Path, autojump_clock: MockClock, settings: dict[str, Any], words: str
) -> None:
    """CL-39, CL-52: one gate for every way to spawn. The user's command fails with the same words."""
    async with opened(project, {"main": [AUDIT, "done"]}, **settings) as (session, _):
        await session.run("Go.")
        with pytest.raises(TurnFailed) as failed:
            await session.run("/audit-auth it")
        assert members(session) == []
    assert words in results(session)[0].content
    assert words in str(failed.value.__cause__)


# --- how it can end ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["Go.", "/audit-auth it"])
async def test_the_end_of_the_turn_that_waits_is_that_of_the_child(
    project: Path, autojump_clock: MockClock, prompt: str
) -> None:
    """RC-01, RC-04: by either way in. The end is recorded once and told once."""
    script: dict[str, Any] = {"main": [AUDIT] if prompt == "Go." else [], CHILD: [LONG]}
    script["main"].append("I see.")
    async with opened(project, script) as (session, model):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(interrupt, session)
            with pytest.raises(TurnKilled):
                await session.run(prompt)
        (member,) = members(session)
        assert member.task.state is TaskState.KILLED
        assert trio.current_time() < 60.0
        await session.wait_quiet()
        await session.run("What happened?")
    heard = str(asked(model, "main")[-1].messages)
    assert (heard.count("<task-notification>"), heard.count("local-command-stderr>it was inter")) == (
        (1, 0) if prompt == "Go." else (0, 1)
    )
    assert len(events(session, "task.end")) == 1


async def interrupt(session: Session) -> None:
    await trio.sleep(10)
    session.interrupt()


async def test_an_error_of_the_provider_is_told_to_whoever_waits(project: Path, autojump_clock: MockClock) -> None:
    broken = ProviderError("try later", kind="overloaded_error")
    looks = [Say("I have looked."), Call("Glob", {"pattern": "*"})]
    script = {"main": [AUDIT, "done"], CHILD: [broken, looks, broken]}
    async with opened(project, script) as (session, _):
        await session.run("Go.")
        with pytest.raises(TurnFailed) as failed:
            await session.run("/audit-auth it")
    assert results(session)[0].is_error
    assert "overloaded" in results(session)[0].content
    cause = failed.value.__cause__
    assert isinstance(cause, SkillForkFailed)
    assert (cause.skill, cause.state, cause.partial) == ("audit-auth", "failed", "I have looked.")
    assert failed.value.partial == "I have looked."
    assert "<local-command-stdout>I have looked.</local-command-stdout><local-command-stderr>" in said(session)[-1].text


async def test_a_command_of_a_killed_child_fails_and_the_session_goes_on(
    project: Path, autojump_clock: MockClock
) -> None:
    script: dict[str, Any] = {"main": ["Hello."], CHILD: [LONG]}
    async with opened(project, script) as (session, _):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_all, session)
            with pytest.raises(TurnFailed) as failed:
                await session.run("/audit-auth it")
        assert "was stopped by host: enough" in str(failed.value.__cause__)
        assert (await session.run("Hi.")).text == "Hello."


async def kill_all(session: Session) -> None:
    await trio.sleep(10)
    (member,) = members(session)
    assert member.task.kill(Cause("host", "enough"))

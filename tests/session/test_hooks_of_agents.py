"""Hooks around sub-agents, and hooks that are answered by one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents.subagents import AGENT_TOOLS, Subagent
from greenroom.agents.subagents._hook_agents import HOOK_AGENT
from greenroom.core import ProviderError, TurnKilled
from greenroom.hooks import HookRan
from greenroom.models import Call, ModelRequest, ScriptedModel
from greenroom.models._scripted import ScriptStep
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.tasks import TaskState
from greenroom.testing import virtual_ports
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.session.hook_commands import answering, told, wait_ran
from tests.session.scripted import results, write

HOOK = HOOK_AGENT.name
CHILD = "general-purpose"
SPAWN = Call("Agent", {"description": "look", "prompt": "Look around."})
WRITE = Call("Write", {"file_path": "a.txt", "content": "a"})
YES, NO = '{"ok": true}', 'I have looked.\n```json\n{"ok": false, "reason": "it is not done", "impossible": true}\n```'


@asynccontextmanager
async def opened(
    project: Path, script: Mapping[str, Any], hooks: Mapping[str, Any], **options: Any
) -> AsyncIterator[tuple[Session, ScriptedModel]]:
    model = ScriptedModel(script, keeps_requests=True)
    delegation = options.pop("delegation", {})
    settings = {"permissions": {"allow": ["Write"]}, "hooks": hooks, "delegation": delegation}
    async with open_session(
        model=model,
        cwd=project,
        runs=project.parent / "runs",
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS),
        settings=settings,
        ports=virtual_ports(),
        **options,
    ) as session:
        yield session, model
    assert check_journal(read_journal(session.run_folder / JOURNAL, EVENTS).entries, folds=FOLDS) == []


def commands(*texts: str, matcher: str = "") -> list[dict[str, Any]]:
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": text} for text in texts]}]


def agents(prompt: str = "May this be? $ARGUMENTS", matcher: str = "", **more: Any) -> list[dict[str, Any]]:
    return [{"matcher": matcher, "hooks": [{"type": "agent", "prompt": prompt, **more}]}]


def asked(model: ScriptedModel, definition: str) -> list[ModelRequest]:
    return [request for request in model.requests if request.definition == definition]


def judges(session: Session) -> list[Subagent]:
    return [subagent for subagent in session.agents.pool.subagents.values() if subagent.definition.name == HOOK]


def ran(session: Session) -> list[tuple[str, str]]:
    """Return how each handler ended, and what it decided."""
    lines = map(json.loads, (session.run_folder / JOURNAL).read_text().splitlines())
    return [(line["state"], line.get("decision", "")) for line in lines if line.get("ev") == HookRan.kind]


# --- hooks around sub-agents: real commands, so real time ---------------------------------------------------------------


async def test_what_a_start_hook_adds_goes_before_what_the_child_is_told_first(project: Path) -> None:
    """Behaviours (3), line 6."""
    said = {"hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": "mind the gap"}}
    hooks = {"SubagentStart": commands(answering(project, said), matcher=CHILD)}
    script = {"main": [SPAWN, "done"], CHILD: ["report"]}
    async with opened(project, script, hooks) as (session, model):
        await session.run("Go.")
        (member,) = session.agents.pool.subagents.values()
    (first,) = asked(model, CHILD)
    assert [getattr(block, "text", "") for block in first.messages[0].content][:2] == [
        "<system-reminder>\nmind the gap\n</system-reminder>",
        "Look around.",
    ]
    (heard,) = told(project)
    assert (heard["agent_id"], heard["agent_type"]) == (member.id, CHILD)


async def test_a_stop_hook_of_children_is_told_the_transcript_and_keeps_the_child_running(project: Path) -> None:
    """Behaviours (3), line 5. Main's own stop asks hooks of `Stop` alone."""
    once = f"cat >> {project}/told; test -e {project}/asked && exit 0; touch {project}/asked; echo more >&2; exit 2"
    hooks = {"SubagentStop": commands(once)}
    script = {"main": [SPAWN, "done"], CHILD: ["report", "whole report"]}
    async with opened(project, script, hooks) as (session, _):
        await session.run("Go.")
        (member,) = session.agents.pool.subagents.values()
    assert results(session)[0].content.startswith("whole report")
    first, second = (json.loads(line) for line in (project / "told").read_text().replace("}{", "}\n{").splitlines())
    assert (first["stop_hook_active"], second["stop_hook_active"]) == (False, True)
    assert first["last_assistant_message"] == "report"
    assert first["agent_transcript_path"].endswith(f"agent-{member.id}.jsonl")
    assert first["transcript_path"].endswith("main.jsonl")


async def test_a_stop_hook_in_the_definition_of_a_child_is_the_childs(project: Path) -> None:
    """Behaviours (2), line 5: it goes with the agent, and main's end is not told to it."""
    command = f"cat >> {project}/told; echo >> {project}/told"
    definition = {"description": "x", "prompt": "x", "hooks": {"Stop": commands(command)}}
    script = {"main": [Call("Agent", {**SPAWN.input, "subagent_type": "looker"}), "done"], "looker": ["report"]}
    async with opened(project, script, {}, agents={"looker": definition}) as (session, _):
        await session.run("Go.")
    assert [payload["hook_event_name"] for payload in told(project)] == ["SubagentStop"]


async def test_hooks_are_told_the_result_of_an_agent_as_programs_read_it(project: Path) -> None:
    """Structured, not the text that the model reads."""
    hooks = {"PostToolUse": commands(f"cat >> {project}/told; echo >> {project}/told", matcher="Agent|Write")}
    async with opened(project, {"main": [SPAWN, WRITE, "done"], CHILD: ["report"]}, hooks) as (session, _):
        await session.run("Go.")

    spawned, written = (payload["tool_response"] for payload in told(project))
    assert (spawned["status"], spawned["content"]) == ("completed", [{"type": "text", "text": "report"}])
    assert (written["type"], written["filePath"]) == ("create", str(project / "a.txt"))


async def test_people_are_told_of_an_agent_in_the_background_that_has_ended(project: Path) -> None:
    """Notification `agent_completed`; a stop hook of another one is told that it runs."""
    hooks = {
        "Notification": commands(f"cat >> {project}/told", matcher="agent_completed"),
        "Stop": commands(f"cat >> {project}/stops; echo >> {project}/stops"),
    }
    spawn = Call("Agent", {**SPAWN.input, "run_in_background": True})
    script = {"main": [spawn, "started", "done"], CHILD: [Call("Bash", {"command": "sleep 0.3"}), "report"]}
    async with opened(project, script, hooks, permission_mode="bypassPermissions") as (session, _):
        events = session.events()
        await session.run("Go.")
        await wait_ran(events, "Notification")
        await session.wait_quiet()
        (member,) = session.agents.pool.subagents.values()

    (heard,) = told(project)
    assert heard["notification_type"] == "agent_completed"
    assert heard["message"].startswith('Agent "look" completed')
    first = json.loads((project / "stops").read_text().splitlines()[0])
    assert first["background_tasks"] == [
        {"id": member.id, "type": "subagent", "status": "running", "description": "look", "agent_type": CHILD}
    ]


# --- hooks that are answered by an agent --------------------------------------------------------------------------------


async def test_an_agent_looks_for_itself_and_its_no_denies_the_call(project: Path, autojump_clock: MockClock) -> None:
    """It reads, and a denied call does not end the turn."""
    write(project / "rules.txt", "nothing is written on Sundays")
    look = Call("Read", {"file_path": str(project / "rules.txt")})
    script = {"main": [WRITE, "done"], HOOK: [look, NO]}
    async with opened(project, script, {"PreToolUse": agents(matcher="Write", model="haiku")}) as (session, model):
        assert (await session.run("Go.")).text == "done"
        (judge,) = judges(session)
    assert not (project / "a.txt").exists()
    assert "it is not done" in results(session)[0].content
    first, second = asked(model, HOOK)
    assert {tool.name for tool in first.tools} == {"Read", "Grep", "Glob"}
    assert '"tool_name":"Write"' in first.messages[0].text
    assert "haiku" in first.model
    assert "nothing is written on Sundays" in str(second.messages[-1])
    assert judge.lineage.depth == 1
    assert ran(session) == [("completed", "deny")]


async def test_a_yes_lets_it_pass(project: Path, autojump_clock: MockClock) -> None:
    async with opened(project, {"main": [WRITE, "done"], HOOK: [YES]}, {"PreToolUse": agents()}) as (session, _):
        await session.run("Go.")
    assert (project / "a.txt").exists()


async def test_its_no_keeps_the_turn_going_also_where_it_calls_that_impossible(
    project: Path, autojump_clock: MockClock
) -> None:
    """`impossible` is no word of agents."""
    async with opened(project, {"main": ["done", "really done"], HOOK: [NO, YES]}, {"Stop": agents()}) as (session, _):
        assert (await session.run("Go.")).text == "really done"


async def test_a_hooks_agent_asks_no_further_agents(project: Path, autojump_clock: MockClock) -> None:
    """Its calls, its start and its end lead to no other, and it cannot start any itself."""
    look = Call("Glob", {"pattern": "*"})
    hooks = {"PreToolUse": agents(), "SubagentStop": agents(), "Stop": agents()}
    script = {"main": [WRITE, "done"], HOOK: [[look, SPAWN, Call("Skill", {"skill": "x"})], YES, YES]}
    async with opened(project, script, hooks) as (session, model):
        await session.run("Go.")
        assert len(judges(session)) == 2
    refused = [getattr(block, "is_error", None) for block in asked(model, HOOK)[1].messages[-1].content]
    assert refused == [False, True, True]


async def test_other_hooks_hold_for_a_hooks_agent(project: Path) -> None:
    """What a person keeps from being read, it does not read."""
    write(project / "secret.txt", "hunter2")
    look = Call("Read", {"file_path": str(project / "secret.txt")})
    hooks = {"PreToolUse": [*agents(matcher="Write"), *commands("exit 2", matcher="Read")]}
    async with opened(project, {"main": [WRITE, "done"], HOOK: [look, YES]}, hooks) as (session, model):
        await session.run("Go.")
    assert "hunter2" not in str(model.requests)


@pytest.mark.parametrize(
    ("answers", "more", "state", "took_s"),
    [
        ([ScriptStep(answer="Never heard.", wait_s=600.0)], {}, "timed_out", 60.0),
        ([ScriptStep(answer="Never heard.", wait_s=600.0)], {"timeout": 5}, "timed_out", 5.0),
        (["I do not know."], {}, "failed", 0.0),
        ([ProviderError("try later", kind="overloaded_error")], {}, "failed", 0.0),
    ],
    ids=["too slow", "its own limit", "no verdict", "no answer"],
)
async def test_an_agent_that_does_not_answer_decides_nothing_and_has_ended(
    project: Path, autojump_clock: MockClock, answers: list[Any], more: dict[str, Any], state: str, took_s: float
) -> None:
    """60 s unless it says otherwise."""
    hooks = {"PreToolUse": agents(**more)}
    async with opened(project, {"main": [WRITE, "done"], HOOK: answers}, hooks) as (session, _):
        await session.run("Go.")
        (judge,) = judges(session)
        assert judge.task.is_finished
        assert took_s <= trio.current_time() < took_s + 1.0
    assert (project / "a.txt").exists()
    assert ran(session) == [(state, "")]


async def test_the_end_of_the_turn_ends_the_agent_that_its_hook_asks(project: Path, autojump_clock: MockClock) -> None:
    script = {"main": [WRITE], HOOK: [ScriptStep(answer="Never heard.", wait_s=600.0)]}
    async with opened(project, script, {"PreToolUse": agents()}) as (session, _):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(interrupt, session)
            with pytest.raises(TurnKilled):
                await session.run("Go.")
        (judge,) = judges(session)
        assert judge.task.state is TaskState.KILLED
        assert trio.current_time() < 11.0
    assert ran(session) == [("killed", "")]


async def interrupt(session: Session) -> None:
    await trio.sleep(10)
    session.interrupt()


async def test_a_hooks_agent_takes_no_place_and_is_told_to_nobody(project: Path, autojump_clock: MockClock) -> None:
    """It counts neither as running nor as started; the child that it holds up has the only place."""
    write(project / "b.txt", "b")
    script = {
        "main": [SPAWN, "done", "told"],
        CHILD: [Call("Read", {"file_path": str(project / "b.txt")}), "report"],
        HOOK: [ScriptStep(answer=YES, wait_s=20.0)],
    }
    hooks = {"PreToolUse": agents(matcher="Read")}
    limits = {"max_running": 1, "max_total": 1, "max_depth": 1}
    async with opened(project, script, hooks, delegation=limits) as (session, model):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look_on, session)
            await session.run("Go.")
        (judge,) = judges(session)
        assert judge.lineage.depth == 2
        assert session.agents.pool.spawned == 1
        await session.wait_quiet()
    (told_later,) = [request.messages[-1].text for request in asked(model, "main")[2:]]
    assert told_later.count("<task-notification>") == 1
    assert "report" in told_later


async def look_on(session: Session) -> None:
    await trio.sleep(10)
    assert session.agents.pool.running == 1
    assert session.tasks.table.running()[-1].info.agent_type == HOOK
    (moved,) = session.tasks.background_all()
    assert session.agents.pool.subagents[moved].definition.name == CHILD

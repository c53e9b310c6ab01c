"""Decisions about a call of the tool Agent, and where the cause can be read when something unexpected happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.agents import AgentDefinition, PermissionQuestion
from greenroom.agents.definitions._builtin_definitions import find_manual
from greenroom.agents.events import PermissionDenied, ToolBegan
from greenroom.agents.subagents import FORK
from greenroom.core import Event
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.permissions import Allow
from greenroom.session import EVENTS, Session
from greenroom.tasks import TaskBegan
from greenroom.trace import JOURNAL, read_journal
from greenroom.worktrees import WorktreeKept
from tests.agents.definitions.samples import JSON, MARKDOWN
from tests.agents.pages import agent, in_order, last_texts
from tests.session.teamwork import AUDIT_AUTH, main_messages, notices, open_teamwork, structured, violations
from tests.worktrees.repositories import make_repository

BACK: dict[str, Any] = {"run_in_background": True}
CODE_REVIEW = """---
name: code-review
context: fork
allowed-tools:
  - Read
  - Grep
  - Glob
---
"""


def recorded(session: Session, *kinds: type[Event]) -> list[Any]:
    """Return the events of these kinds in the journal of a session that has ended."""
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    return [entry.event for entry in journal.entries if isinstance(entry.event, kinds)]


# --- built-in agents -------------------------------------------------------------------------------------------------


async def test_the_guide_reads_the_documentation_and_nothing_else_outside(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It is usable by a call. Mechanism: `more_roots` of its definition."""
    manual = find_manual()
    assert manual is not None
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    seen: list[str] = []

    def guide(request: ModelRequest) -> AnswerLike:
        assert str(manual) in request.system
        seen.extend(block.content for block in request.messages[-1].content if hasattr(block, "content"))
        return in_order(
            Call("Read", {"file_path": str(manual / "docs" / "README.md")}),
            Call("Grep", {"pattern": "one prompt, one answer", "path": str(manual / "docs")}),
            Call("Read", {"file_path": str(secret)}),
            "It is on the page how-to/run.md.",
        )(request)

    call = agent("how do I run one?", subagent_type="claude-code-guide")
    async with open_teamwork(tmp_path, in_order(call), pages={"claude-code-guide": guide}, mode=None) as session:
        await session.run("go")

    page, hits, refused = seen
    assert "# Documentation" in page
    assert "README.md" in hits
    assert "hidden" not in refused
    assert "It is on the page" in main_messages(session)[2]


async def test_the_helper_for_the_status_line_asks_before_it_changes_the_users_settings(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: the one file is in reach, and protected as all of that folder is."""
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text("{}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    questions: list[str] = []

    async def allow(question: PermissionQuestion) -> Allow:
        questions.append(question.tool)
        return Allow()

    line = '{"statusLine": {"type": "command", "command": "date"}}'
    page = in_order(
        Call("Read", {"file_path": str(settings)}),
        Call("Edit", {"file_path": str(settings), "old_string": "{}", "new_string": line}),
        "It shows the date.",
    )
    call = agent("show the date", subagent_type="statusline-setup")
    async with open_teamwork(
        tmp_path, in_order(call), pages={"statusline-setup": page}, mode=None, can_use_tool=allow
    ) as session:
        await session.run("go")

    assert settings.read_text() == line
    assert questions == ["Edit"]


async def test_variables_take_built_in_agents_away(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the general agent a type is needed."""
    env = {"GREENROOM_DISABLE_EXPLORE_PLAN_AGENTS": "1"}
    call = agent("look", subagent_type="Explore")
    async with open_teamwork(tmp_path, in_order(call), settings={"env": env}) as session:
        await session.run("go")
        assert "no agent is called 'Explore'" in main_messages(session)[2]
        assert "general-purpose" in session.agents.definitions

    monkeypatch.setenv("GREENROOM_DISABLE_BUILTIN_AGENTS", "1")
    async with open_teamwork(tmp_path, in_order(agent("look"))) as session:
        await session.run("go")
        assert "subagent_type is required" in main_messages(session)[2]
        assert list(session.agents.definitions) == []

    person = {"delegation": {"interactive": True}}
    async with open_teamwork(tmp_path, in_order(agent("look")), settings=person) as session:
        await session.run("go")
        assert "Report on: look" in main_messages(session)[2]


# --- what a call returns ---------------------------------------------------------------------------------------------


async def test_the_fields_of_a_result_are_those_that_are_documented(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (1), line 1."""
    pages = {"general-purpose": in_order(Call("Glob", {"pattern": "*"}), "Nothing there.")}
    async with open_teamwork(tmp_path, in_order(agent("look"), agent("dig", **BACK)), pages=pages) as session:
        await session.run("go")
        await session.wait_quiet()

    completed, launched = structured(session)
    assert list(completed) == [
        "status",
        "agentId",
        "agentType",
        "content",
        "resolvedModel",
        "modelsUsed",
        "totalToolUseCount",
        "totalDurationMs",
        "totalTokens",
        "usage",
        "toolStats",
        "prompt",
    ]
    assert completed["status"] == "completed"
    assert completed["agentType"] == "general-purpose"
    assert completed["content"] == [{"type": "text", "text": "Nothing there."}]
    assert completed["resolvedModel"] == "playbook"
    assert completed["modelsUsed"] == ["playbook"]
    assert (completed["totalToolUseCount"], completed["totalDurationMs"]) == (1, 2000)
    assert completed["toolStats"]["searchCount"] == 1
    assert 0 < completed["totalTokens"] < completed["usage"]["input_tokens"]
    assert launched == {
        "status": "async_launched",
        "isAsync": True,
        "agentId": launched["agentId"],
        "description": "some work",
        "resolvedModel": "playbook",
        "prompt": "dig",
        "outputFile": str(session.run_folder / "tasks" / f"{launched['agentId']}.output"),
        "canReadOutputFile": True,
    }


@pytest.mark.parametrize(
    ("tools", "advises"), [(("Agent",), False), (("Agent", "Read"), True), (("Agent", "Bash"), True)]
)
async def test_who_cannot_read_files_gets_no_advice_to(
    tmp_path: Path, autojump_clock: MockClock, tools: tuple[str, ...], *, advises: bool
) -> None:
    """Behaviours (20), line 9. Mechanism: `_can_read` looks at the caller's own tools."""
    main = AgentDefinition(name="main", system_prompt="You lead.", tools=tools)
    async with open_teamwork(tmp_path, in_order(agent("dig", **BACK)), definition=main) as session:
        await session.run("go")
        await session.wait_quiet()
        launched = main_messages(session)[2]

    (data,) = structured(session)
    assert data["canReadOutputFile"] is advises
    assert ("Read" in launched) is advises
    assert data["outputFile"] in launched


# --- which model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "call", "wanted"),
    [("haiku", "opus", "haiku"), ("inherit", "opus", "opus"), ("", "opus", "opus"), ("haiku", None, "haiku")],
)
async def test_the_variable_for_models_beats_the_call(
    tmp_path: Path, autojump_clock: MockClock, variable: str, call: str | None, wanted: str
) -> None:
    """Behaviours (1), line 3."""
    seen: list[str] = []

    def page(request: ModelRequest) -> AnswerLike:
        seen.append(request.model)
        return "Done."

    settings = {"env": {"GREENROOM_SUBAGENT_MODEL": variable}}
    model = {} if call is None else {"model": call}
    async with open_teamwork(
        tmp_path, in_order(agent("look", **model)), pages={"general-purpose": page}, settings=settings
    ) as session:
        await session.run("go")

    assert [wanted in one for one in seen] == [True]


async def test_the_variable_for_models_leaves_a_fork_on_its_parents_prefix(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (20), line 13."""
    requests: list[ModelRequest] = []

    def fork(request: ModelRequest) -> AnswerLike:
        requests.append(request)
        return "Done."

    def main(request: ModelRequest) -> AnswerLike:
        requests.append(request)
        return in_order(agent("dig", subagent_type="fork"))(request)

    settings = {"env": {"GREENROOM_SUBAGENT_MODEL": "haiku"}, "delegation": {"fork": "explicit"}}
    async with open_teamwork(tmp_path, main, pages={FORK: fork}, settings=settings) as session:
        await session.run("go")
        await session.wait_quiet()

    parent = requests[0]
    (child,) = (request for request in requests if request.definition == FORK)
    assert (child.model, child.system, child.tools) == (parent.model, parent.system, parent.tools)
    assert child.messages[: len(parent.messages)] == parent.messages


# --- what may start --------------------------------------------------------------------------------------------------


async def test_a_hook_that_ends_with_2_stops_a_spawn_and_is_read(tmp_path: Path) -> None:
    """Behaviours (20), line 6."""
    handler = {"type": "command", "command": "echo 'no agents on a Friday' >&2; exit 2"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Agent", "hooks": [handler]}]}}
    async with open_teamwork(tmp_path, in_order(agent("look", **BACK)), settings=settings, wait_s=0.0) as session:
        await session.run("go")
        assert session.agents.pool.subagents == {}

    assert "no agents on a Friday" in main_messages(session)[2]
    assert recorded(session, TaskBegan) == []


async def test_a_deny_rule_takes_the_tool_away_and_without_one_nobody_is_asked(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (20), line 6: a start is allowed unless a rule or a hook speaks."""
    tools: list[list[str]] = []
    questions: list[str] = []

    def main(request: ModelRequest) -> AnswerLike:
        tools.append([tool.name for tool in request.tools])
        return in_order(agent("look"))(request)

    async def asks(question: PermissionQuestion) -> Allow:
        questions.append(question.tool)
        return Allow()

    denied = {"permissions": {"deny": ["Agent"]}}
    async with open_teamwork(tmp_path, main, settings=denied, mode="default", can_use_tool=asks) as session:
        await session.run("go")
    assert "Agent" not in tools[0]
    assert "Report on" not in main_messages(session)[2]
    assert recorded(session, TaskBegan) == []

    async with open_teamwork(tmp_path, main, mode="default", can_use_tool=asks) as session:
        await session.run("go")
    assert "Report on: look" in main_messages(session)[2]
    assert questions == []


@pytest.mark.parametrize(("mode", "is_free"), [("default", False), ("bypassPermissions", True)])
async def test_a_definition_cannot_switch_permissions_off_for_itself(
    tmp_path: Path, mode: str, *, is_free: bool
) -> None:
    """Behaviours (20), line 7. Mechanism: `Policy.for_child` takes the mode only where the user enabled it."""
    read: dict[str, list[str]] = {"wild": [], "plain": []}

    def page(request: ModelRequest) -> AnswerLike:
        name = request.definition
        read[name].append(last_texts(request))
        write = Call("Write", {"file_path": f"{name}.txt", "content": "x"})
        return in_order(write, Call("Bash", {"command": "touch .git"}), "Done.")(request)

    kinds = {
        "wild": {"description": "d", "prompt": "p", "permissionMode": "bypassPermissions"},
        "plain": {"description": "d", "prompt": "p"},
    }
    calls = [agent("do", subagent_type=name) for name in kinds]
    async with open_teamwork(
        tmp_path, in_order(calls), pages=dict.fromkeys(kinds, page), agents=kinds, mode=mode, wait_s=0.0
    ) as session:
        await session.run("go")
        said = [problem for problem in session.problems if "bypassPermissions" in problem]

    assert (tmp_path / "project" / "wild.txt").exists(), "acceptEdits, as without a mode"
    assert (tmp_path / "project" / ".git").exists() is is_free
    assert bool(said) is not is_free
    if not is_free:
        assert [text.replace("wild", "plain") for text in read["wild"]] == read["plain"]


# --- the sample files ------------------------------------------------------------------------------------------------


async def test_the_sample_files_load_unchanged_and_do_what_they_say(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behaviours (20), line 2."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    theirs = tmp_path / "project" / ".claude"
    (tmp_path / "project" / ".git").mkdir(parents=True)
    for path, text in {
        "agents/code-reviewer.md": MARKDOWN,
        "skills/code-review/SKILL.md": CODE_REVIEW,
        "skills/audit-auth/SKILL.md": AUDIT_AUTH,
    }.items():
        (theirs / path).parent.mkdir(parents=True, exist_ok=True)
        (theirs / path).write_text(text)
    main = in_order(agent("the change", subagent_type="code-reviewer"))
    seen: list[ModelRequest] = []

    def reviewer(request: ModelRequest) -> AnswerLike:
        seen.append(request)
        return "No risks."

    async with open_teamwork(tmp_path, main, pages={"code-reviewer": reviewer}, sources=["user", "project"]) as session:
        await session.run("go")
        await session.wait_quiet()
        one = session.agents.definitions["code-reviewer"]
        skills = session.commands.skills
        assert session.problems == ()

    assert (one.tools, one.model, one.permission_mode) == (("Read", "Grep", "Glob"), "sonnet", "acceptEdits")
    assert (one.is_background, one.max_turns, one.memory) == (True, 8, "project")
    assert [name for name in ("audit-auth", "code-review") if skills[name].is_fork] == ["audit-auth", "code-review"]
    assert skills["audit-auth"].allowed_tools == ("Read", "Grep", "Glob")
    assert "<result>No risks.</result>" in notices(session)[0], "the definition asks for the background"
    assert "sonnet" in seen[0].model
    assert {tool.name for tool in seen[0].tools} >= {"Read", "Grep", "Glob"}


async def test_the_sample_in_json_loads_and_its_denials_hold(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 2."""
    sample = json.loads(JSON)
    page = in_order("No risks.")
    async with open_teamwork(
        tmp_path,
        in_order(agent("it", subagent_type="code-reviewer")),
        pages={"code-reviewer": page},
        agents={"code-reviewer": sample},
    ) as session:
        await session.run("go")
        one = session.agents.definitions["code-reviewer"]
        (member,) = session.agents.pool.subagents.values()
        assert session.problems == ()

    assert (one.effort, one.max_turns) == ("medium", 50)
    assert one.disallowed_tools == ("Bash(git push)", "Bash(git force-push)")
    assert member.home.profile.policy is not None
    assert {str(rule) for rule in member.home.profile.policy.rules} >= set(one.disallowed_tools)
    assert "No risks." in main_messages(session)[2]


# --- finding faults: each question is answered without a debugger (Behaviours (20), line 15) -------------


async def test_why_no_notice_came_is_told_by_the_task(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15: somebody waited for it with TaskOutput, so its end was told already."""

    def main(request: ModelRequest) -> AnswerLike:
        text = last_texts(request)
        if "agentId: " in text:
            return Call("TaskOutput", {"task_id": text.split("agentId: ")[1].split()[0]})
        return in_order(agent("dig", **BACK))(request)

    async with open_teamwork(tmp_path, main) as session:
        await session.run("go")
        await session.wait_quiet()
        (task,) = session.tasks.all()

    assert notices(session) == []
    assert (task.state, task.is_told) == ("completed", True)
    assert [event.tool for event in recorded(session, ToolBegan)] == ["Agent", "TaskOutput"]


async def test_why_a_message_found_nobody_is_in_its_error(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15."""
    messages = [Call("SendMessage", {"to": to, "message": "hello"}) for to in ("critik", "a" + 16 * "0")]
    calls = in_order(agent("dig", name="critic", **BACK), messages)
    async with open_teamwork(tmp_path, calls) as session:
        await session.run("go")
        await session.wait_quiet()
        texts = main_messages(session)[4]

    assert "there is no agent 'critik'; did you mean critic" in texts
    assert f"has no conversation of an agent 'a{16 * '0'}'" in texts, "its transcript is gone"


async def test_why_a_child_lacks_a_tool_is_among_the_problems(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15."""
    kinds = {
        "narrow": {"description": "d", "prompt": "p", "tools": ["Read", "Gerp"]},
        "needy": {"description": "d", "prompt": "p", "requiredMcpServers": ["github"]},
        "deaf": {"description": "d", "prompt": "p", "tools": ["Gerp"]},
    }
    calls = [agent("do", subagent_type=name) for name in kinds]
    async with open_teamwork(tmp_path, in_order(calls), pages={"narrow": in_order("Done.")}, agents=kinds) as session:
        await session.run("go")
        problems = session.problems
        texts = main_messages(session)[2]

    assert any("'narrow'" in problem and "'Gerp'" in problem for problem in problems)
    assert "github" in texts
    assert "'deaf' would be spawned with zero tools" in texts


async def test_why_a_childs_call_was_refused_is_on_record(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15: the `mode` of a call overrides nothing."""
    planner = {"description": "d", "prompt": "p", "permissionMode": "plan"}
    page = in_order(Call("Write", {"file_path": "a.txt", "content": "a"}), "Refused.")
    call = agent("do", subagent_type="planner", mode="bypassPermissions")
    async with open_teamwork(
        tmp_path, in_order(call), pages={"planner": page}, agents={"planner": planner}, mode="default"
    ) as session:
        await session.run("go")
        (task,) = session.tasks.all()

    (denied,) = recorded(session, PermissionDenied)
    assert denied.actor == task.id
    assert "plan" in denied.reason


@pytest.mark.parametrize(
    ("setting", "call", "says"),
    [
        ({"fork": "off"}, {"subagent_type": "fork"}, "forks are not available here"),
        ({"fork": "when_type_omitted"}, {}, "Report on"),
        ({"fork": "when_type_omitted", "interactive": True}, {"subagent_type": "general-purpose"}, "Async agent"),
    ],
    ids=["closed", "nobody-watches", "a-type-was-given"],
)
async def test_why_nothing_forked_is_in_the_result_or_the_type_of_the_task(
    tmp_path: Path, autojump_clock: MockClock, setting: dict[str, Any], call: dict[str, Any], says: str
) -> None:
    """Behaviours (20), line 15."""
    async with open_teamwork(tmp_path, in_order(agent("dig", **call)), settings={"delegation": setting}) as session:
        await session.run("go")
        await session.wait_quiet()

    assert says in main_messages(session)[2]
    assert {event.agent for event in recorded(session, TaskBegan)} <= {"general-purpose"}


async def test_why_a_command_did_not_fork_can_be_seen_in_the_loaded_skill(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behaviours (20), line 15."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "project" / ".claude" / "skills"
    (tmp_path / "project" / ".git").mkdir(parents=True)
    for name, head in {"audit": "context: fork", "typo": "context: forked", "plain": "description: Audits."}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(f"---\nname: {name}\n{head}\n---\n\nAudit the login.\n")
    async with open_teamwork(tmp_path, in_order("I audit."), sources=["project"], is_trusted=True) as session:
        answers = [(await session.run(f"/{name}")).text for name in ("audit", "plain")]
        skills, problems = session.commands.skills, session.problems

    assert [(name, skills[name].is_fork) for name in sorted(skills)] == [
        ("audit", True),
        ("plain", False),
        ("typo", False),
    ]
    assert answers[0].startswith("Report on: Base directory for this skill: ")
    assert answers[1] == "I audit."
    assert [event.agent for event in recorded(session, TaskBegan)] == ["general-purpose"]
    assert any("typo" in problem and "forked" in problem for problem in problems)


async def test_why_a_worktree_stays_is_on_record_and_in_the_result(tmp_path: Path) -> None:
    """Behaviours (20), line 15."""
    make_repository(tmp_path / "project")
    pages = {"general-purpose": in_order(Call("Write", {"file_path": "new.py", "content": "x"}), "Done.")}
    async with open_teamwork(tmp_path, in_order(), pages=pages, wait_s=0.0) as session:
        handle = await session.spawn("general-purpose", "try it", isolation="worktree")
        result = await handle.wait_finished()

    (kept,) = recorded(session, WorktreeKept)
    assert (kept.path, kept.branch) == (result.worktree, result.worktree_branch)
    assert "new.py" in kept.why
    assert violations(session) == []


async def test_why_a_wait_goes_on_is_in_its_answer(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (20), line 15: the state is that of the task, and it is final before anything is cleaned up."""

    def main(request: ModelRequest) -> AnswerLike:
        text = last_texts(request)
        if "agentId: " in text:
            return Call("TaskOutput", {"task_id": text.split("agentId: ")[1].split()[0], "timeout": 1000})
        return in_order(agent("dig", **BACK))(request)

    pages = {"general-purpose": in_order(*[Call("Glob", {"pattern": "*"})] * 9, "Done.")}
    async with open_teamwork(tmp_path, main, pages=pages) as session:
        await session.run("go")
        (task,) = session.tasks.all()
        assert (task.state, task.is_told) == ("running", False)  # and not `completed`: it is what it says
        await session.wait_quiet()

    answer = main_messages(session)[4]
    assert "<retrieval_status>timeout</retrieval_status>" in answer
    assert "<status>running</status>" in answer
    assert len(notices(session)) == 1

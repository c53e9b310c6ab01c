"""Calls of the tool Agent in a session: built-in agents, definitions from files, the variable for models, rules and hooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.agents import PermissionQuestion
from greenroom.agents.definitions._builtin_definitions import find_manual
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
from tests.session.teamwork import AUDIT_AUTH, main_messages, notices, open_teamwork, violations
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

"""A session's agents and what they may do: settings, modes, hooks, people's answers, through whole turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition, PermissionQuestion
from greenroom.agents.events import PermissionAnswered, PermissionAsked, PermissionDenied
from greenroom.core import SettingsError, TurnFailed, TurnKilled, UsageError
from greenroom.models import Call, ScriptedModel
from greenroom.permissions import Allow, Deny
from greenroom.session import Session, open_session
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.scripted import opened, results, said, write

# --- without any setting ---------------------------------------------------------------------------------------------


async def test_what_changes_something_is_refused_where_nobody_can_be_asked_and_the_turn_goes_on(
    project: Path, autojump_clock: MockClock
) -> None:
    """A refusal is a result; the call is listed."""
    async with opened(project, [Call("Write", {"file_path": "a.txt", "content": "a"})]) as session:
        events = session.events(from_start=True)
        answer = await session.run("Write it.")

    (result,) = results(session)
    assert answer.text == "done"
    assert result.is_error
    assert "nobody can be asked in this session" in result.content
    assert not (project / "a.txt").exists()
    assert [(denial.tool, denial.input["file_path"]) for denial in session.permissions.denials] == [("Write", "a.txt")]
    kinds = [type(event) async for event in events]
    assert [kind for kind in kinds if kind in {PermissionAsked, PermissionAnswered, PermissionDenied}] == [
        PermissionAsked,
        PermissionAnswered,
        PermissionDenied,
    ]


async def test_what_only_looks_and_the_programs_own_tools_run_unasked(project: Path, autojump_clock: MockClock) -> None:
    write(project / "a.txt", "hello")
    calls = [Call("Read", {"file_path": "a.txt"}), Call("Deploy", {"where": "mars"})]
    async with opened(project, calls) as session:
        await session.run("Look.")

    assert [result.is_error for result in results(session)] == [False, False]
    assert results(session)[1].content == "deployed to mars"


# --- settings --------------------------------------------------------------------------------------------------------


async def test_given_settings_allow_and_deny(project: Path, autojump_clock: MockClock) -> None:
    settings = {"permissions": {"allow": ["Write"], "deny": ["Deploy"]}}
    calls = [Call("Write", {"file_path": "a.txt", "content": "a"}), Call("Deploy", {"where": "mars"})]
    async with opened(project, calls, settings=settings) as session:
        await session.run("Go.")

    assert [result.is_error for result in results(session)] == [False, True]
    assert (project / "a.txt").read_text() == "a"
    assert "no tool" in results(session)[1].content.lower() or "Deploy" in results(session)[1].content


async def test_a_tool_that_is_denied_entirely_is_not_shown(project: Path, autojump_clock: MockClock) -> None:
    """A bare deny takes the tool away, a scoped one leaves it."""
    model = ScriptedModel(["done"], keeps_requests=True)
    settings = {"permissions": {"deny": ["Bash", "Write(secret/**)"]}}
    async with opened(project, [], model=model, settings=settings) as session:
        await session.run("Go.")

    names = {tool.name for tool in model.requests[0].tools}
    assert "Bash" not in names
    assert {"Write", "Read", "Deploy"} <= names


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_a_projects_allow_rules_count_once_it_is_trusted_and_its_deny_rules_always(
    project: Path, autojump_clock: MockClock, *, is_trusted: bool
) -> None:
    write(
        project / ".claude/settings.json",
        {"permissions": {"allow": ["Write"], "deny": ["Edit(b.txt)"], "defaultMode": "default"}},
    )
    calls = [
        Call("Write", {"file_path": "a.txt", "content": "a"}),
        Call("Write", {"file_path": "b.txt", "content": "b"}),
    ]
    async with opened(project, calls, sources=["project"], is_trusted=is_trusted) as session:
        await session.run("Go.")

    assert [result.is_error for result in results(session)] == [not is_trusted, True]
    assert any("until the project is trusted" in problem for problem in session.problems) is not is_trusted


async def test_local_settings_come_before_shared_ones_and_ours_before_theirs(
    project: Path, autojump_clock: MockClock
) -> None:
    """Of single values the first source that has one wins; rules add up."""
    write(project / ".greenroom/settings.local.json", {"permissions": {"defaultMode": "plan"}})
    write(project / ".greenroom/settings.json", {"permissions": {"defaultMode": "dontAsk", "deny": ["Deploy"]}})
    write(project / ".claude/settings.json", {"permissions": {"defaultMode": "acceptEdits"}, "unknown": 1})
    async with opened(project, [], model=ScriptedModel([]), sources=["local", "project"], is_trusted=True) as session:
        assert session.permissions.mode == "plan"
    async with opened(project, [], model=ScriptedModel([]), sources=["project"], is_trusted=True) as session:
        assert session.permissions.mode == "dontAsk"
        home = session.agents.main.home
        assert home is not None
        assert "Deploy" not in home.profile.tools
    async with opened(
        project, [], model=ScriptedModel([]), sources=["project"], is_trusted=True, permission_mode="acceptEdits"
    ) as session:
        assert session.permissions.mode == "acceptEdits"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no JSON object"),
        ('{"permisions": {}}', "permisions"),
        ('{"env": {"A": []}, "model": 3}', "model"),
        ('{"permissions": {"alow": []}}', "alow"),
        ('{"permissions": {"defaultMode": "yolo"}}', "yolo"),
    ],
)
async def test_a_mistake_in_our_own_file_is_named_before_anything_is_made(
    project: Path, autojump_clock: MockClock, content: str, words: str
) -> None:
    path = write(project / ".greenroom/settings.json", content)
    with pytest.raises(SettingsError, match=words) as caught:
        async with opened(project, [], sources=["project"], is_trusted=True):
            pass
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (project.parent / "runs").exists()


@pytest.mark.parametrize("content", ["{", '{"permissions": 3, "hooks": [], "env": 4, "model": 5}'])
async def test_a_mistake_in_a_file_of_others_is_told_and_passed_over(
    project: Path, autojump_clock: MockClock, content: str
) -> None:
    path = write(project / ".claude/settings.json", content)
    async with opened(project, [], sources=["project"], is_trusted=True) as session:
        answer = await session.run("Go.")
    assert answer.text == "done"
    assert any(str(path) in problem for problem in session.problems)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sources": ["projekt"]}, "there are no settings 'projekt'"),
        ({"permission_mode": "yolo"}, "unknown permission mode 'yolo'"),
        ({"main": "nobody"}, "nobody"),
        ({"settings": {"permissions": {"allow": 3}}}, "allow"),
    ],
)
async def test_what_a_program_gives_wrong_is_refused_in_one_line(
    project: Path, autojump_clock: MockClock, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        async with opened(project, [], **options):
            pass
    assert "\n" not in str(caught.value)
    assert not (project.parent / "runs").exists()


# --- definitions -----------------------------------------------------------------------------------------------------


async def test_a_definition_takes_tools_away_and_denies_single_calls(project: Path, autojump_clock: MockClock) -> None:
    """`disallowed_tools` first, then `tools`; a scoped entry is a deny rule."""
    definition = AgentDefinition(
        name="careful", tools=("Read", "Write", "Bash", "Deploy"), disallowed_tools=("Bash", "Write(b.txt)")
    )
    calls = [
        Call("Write", {"file_path": "a.txt", "content": "a"}),
        Call("Write", {"file_path": "b.txt", "content": "b"}),
    ]
    settings = {"permissions": {"allow": ["Write", "Bash"]}}
    async with opened(project, calls, main=definition, settings=settings) as session:
        await session.run("Go.")
        home = session.agents.main.home
        assert home is not None
        assert sorted(home.profile.tools) == ["Deploy", "Read", "Write"]

    assert [result.is_error for result in results(session)] == [False, True]
    assert "agent careful" in results(session)[1].content


@pytest.mark.parametrize("sources", [(), ("project",)])
@pytest.mark.parametrize(
    ("listed", "says"),
    [
        (("Grpe",), "unrecognized [Grpe]; did you mean Grep?"),
        (
            ("Grpe", "Nonsense", "WebFetch"),
            "unrecognized [Grpe, Nonsense] matched no tools in this session [WebFetch]",
        ),
        (("mcp__gh",), "matched no tools in this session [mcp__gh]"),
    ],
)
async def test_a_list_that_means_no_tool_is_refused(
    project: Path, autojump_clock: MockClock, listed: tuple[str, ...], says: str, sources: tuple[str, ...]
) -> None:
    """CL-40; Behaviours (1), line 5. Mechanism: `check_tool_list`, before the agent starts."""
    definition = AgentDefinition(name="scout", tools=listed)
    tools = [standard_tool for standard_tool in STANDARD_TOOLS if standard_tool.name != "WebFetch"]
    with pytest.raises(UsageError) as caught:
        async with opened(project, [], main=definition, sources=sources, tools=tools):
            raise AssertionError

    assert str(caught.value).startswith("Agent 'scout' would be spawned with zero tools — refusing. Its tools list ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "values", [{"tools": ()}, {"tools": ("Grep",), "disallowed_tools": ("Grep",)}, {"disallowed_tools": ("*",)}]
)
async def test_no_tools_at_all_may_be_meant(project: Path, autojump_clock: MockClock, values: dict[str, Any]) -> None:
    """Behaviours (1), line 5."""
    async with opened(project, [], main=AgentDefinition(name="thinker", **values)) as session:
        assert (await session.run("Go.")).text == "done"


async def test_the_main_agent_can_be_a_definition_from_a_file(project: Path, autojump_clock: MockClock) -> None:
    write(
        project / ".claude/agents/reviewer.md",
        "---\nname: reviewer\ndescription: Reviews.\ntools: Read\npermissionMode: plan\n---\nYou review.\n",
    )
    model = ScriptedModel(["done"], keeps_requests=True)
    async with opened(project, [], model=model, sources=["project"], main="reviewer") as session:
        await session.run("Go.")
        assert session.permissions.mode == "plan"
        assert "reviewer" in session.agents.definitions

    request = model.requests[0]
    assert request.system.startswith("You review.")
    assert f"Working directory: {project}" in request.system
    assert [tool.name for tool in request.tools] == ["Read"]


# --- people ----------------------------------------------------------------------------------------------------------


async def test_the_hosts_function_decides_and_may_rewrite_the_input(project: Path, autojump_clock: MockClock) -> None:
    """What it puts in the place of the input is decided about anew."""
    asked: list[PermissionQuestion] = []

    async def decide(question: PermissionQuestion) -> Allow | Deny:
        asked.append(question)
        if question.tool == "Bash":
            return Deny(message="not today")
        return Allow(input={**question.input, "content": "rewritten"})

    calls = [Call("Write", {"file_path": "a.txt", "content": "a"}), Call("Bash", {"command": "make"})]
    async with opened(project, calls, can_use_tool=decide) as session:
        await session.run("Go.")

    assert (project / "a.txt").read_text() == "rewritten"
    assert "not today" in results(session)[1].content
    assert [(request.tool, request.label) for request in asked] == [("Write", "main"), ("Bash", "main")]
    assert asked[1].verdict.suggestions


async def test_a_rewritten_input_is_held_against_the_deny_rules(project: Path, autojump_clock: MockClock) -> None:
    async def decide(question: PermissionQuestion) -> Allow:
        return Allow(input={**question.input, "file_path": "secret.txt"})

    settings = {"permissions": {"deny": ["Write(secret.txt)"]}}
    call = Call("Write", {"file_path": "a.txt", "content": "a"})
    async with opened(project, [call], can_use_tool=decide, settings=settings) as session:
        await session.run("Go.")

    assert results(session)[0].is_error
    assert not (project / "secret.txt").exists()


async def test_a_refusal_may_end_the_turn_as_well(project: Path, autojump_clock: MockClock) -> None:
    async def decide(question: PermissionQuestion) -> Deny:
        return Deny(message="stop this", interrupts=True)

    model = ScriptedModel([Call("Write", {"file_path": "a.txt", "content": "a"})])
    async with opened(project, [], model=model, can_use_tool=decide) as session:
        with pytest.raises(TurnKilled):
            await session.run("Go.")
    assert "stop this" in results(session)[0].content


async def test_a_question_waits_visibly_until_a_person_answers(project: Path, autojump_clock: MockClock) -> None:
    """RC-102."""
    calls = [Call("Bash", {"command": "make build"}), Call("Bash", {"command": "make build"})]

    async def run(session: Session) -> None:
        with pytest.raises(TurnKilled):
            await session.run("Go.")

    model = ScriptedModel(calls)
    async with opened(project, [], model=model, has_approver=True) as session, trio.open_nursery() as nursery:
        nursery.start_soon(run, session)
        await trio.sleep(5)
        (question,) = session.permissions.approvals.waiting()
        assert (question.label, question.tool, question.input["command"]) == ("main", "Bash", "make build")
        assert session.agents.all()[0].activity == "waits for permission: Bash"
        session.permissions.approvals.answer(question.id, Deny(message="no"))
        await trio.sleep(5)
        (again,) = session.permissions.approvals.waiting()
        session.interrupt()
        await trio.sleep(1)
        assert session.permissions.approvals.waiting() == ()
        assert session.permissions.approvals.answer(again.id, Allow()).value == "late"


async def test_nobody_answering_in_time_is_a_refusal(project: Path, autojump_clock: MockClock) -> None:
    settings = {"approval_deadline_s": 20.0}
    call = Call("Bash", {"command": "make build"})
    async with opened(project, [call], has_approver=True, settings=settings) as session:
        began = trio.current_time()
        await session.run("Go.")
        assert trio.current_time() - began == 20
    assert "nobody answered within 20 s" in results(session)[0].content


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_lasting_answer_holds_at_once_and_is_kept_in_the_local_settings(
    project: Path, autojump_clock: MockClock, *, is_kept: bool
) -> None:
    path = write(project / ".greenroom/settings.local.json", {"permissions": {"deny": ["Bash(git push *)"]}})
    asked: list[PermissionQuestion] = []

    async def decide(question: PermissionQuestion) -> Allow:
        asked.append(question)
        return Allow(updates=question.verdict.suggestions)

    calls = [Call("Bash", {"command": "make build"}), Call("Bash", {"command": "make build"})]
    sources = ["local"] if is_kept else []
    async with opened(project, calls, can_use_tool=decide, sources=sources) as session:
        await session.run("Go.")

    assert len(asked) == 1
    kept = json.loads(path.read_text())["permissions"]
    assert kept["deny"] == ["Bash(git push *)"]
    assert bool(kept.get("allow")) is is_kept


async def test_a_mode_can_be_changed_while_the_session_runs(project: Path, autojump_clock: MockClock) -> None:
    model = ScriptedModel([Call("Write", {"file_path": "a.txt", "content": "a"}), "done"] * 2)
    async with opened(project, [], model=model) as session:
        await session.run("Go.")
        await session.permissions.set_mode("acceptEdits")
        await session.run("Go.")
        assert session.permissions.mode == "acceptEdits"
        with pytest.raises(UsageError, match="yolo"):
            await session.permissions.set_mode("yolo")
    assert [result.is_error for result in results(session)] == [True, False]


# --- processes -------------------------------------------------------------------------------------------------------


async def test_settings_give_commands_their_variables(project: Path) -> None:
    settings = {"permissions": {"allow": ["Bash"]}, "env": {"PLACE": "mars"}}
    model = ScriptedModel([Call("Bash", {"command": "echo to $PLACE; cd ..; pwd"}), "done"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        await session.run("Go.")
    assert results(session)[0].content.splitlines()[0] == "to mars"


async def test_the_end_of_a_background_command_is_told_in_a_turn_of_its_own(project: Path) -> None:
    settings = {"permissions": {"allow": ["Bash"]}}
    call = Call("Bash", {"command": "echo built", "run_in_background": True})
    model = ScriptedModel([call, "waiting", "seen"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        events = session.events()
        await session.run("Go.")
        with trio.fail_after(30):
            while not any("task-notification" in message.text for message in said(session)):
                await session.wait_quiet()
                await trio.sleep(0.01)
            await session.wait_quiet()
    kinds = [event.kind async for event in events]
    assert kinds.index("task.begin") < kinds.index("task.end")


async def test_a_session_ends_what_its_agents_left_running(project: Path) -> None:
    settings = {"permissions": {"allow": ["Bash"]}}
    call = Call("Bash", {"command": "echo $$ > pid; sleep 1000", "run_in_background": True})
    async with open_session(
        model=ScriptedModel([call, "started"]),
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        settings=settings,
    ) as session:
        await session.run("Go.")
        path = project / "pid"
        with trio.fail_after(30):
            while not path.exists() or not path.read_text():  # noqa: ASYNC110 - another process writes it
                await trio.sleep(0.01)
        process = Path("/proc") / path.read_text().strip()
        assert process.exists()
    assert not process.exists()


async def test_a_broken_answer_of_the_host_fails_the_call_and_nothing_else(
    project: Path, autojump_clock: MockClock
) -> None:
    async def decide(question: PermissionQuestion) -> Allow:
        raise ZeroDivisionError("a bug of the host")

    call = Call("Write", {"file_path": "a.txt", "content": "a"})
    async with opened(project, [call], can_use_tool=decide) as session:
        try:
            answer = await session.run("Go.")
        except TurnFailed:  # pragma: no cover
            pytest.fail("the turn ended")
    assert answer.text == "done"
    assert results(session)[0].is_error
    assert not (project / "a.txt").exists()


# --- files elsewhere -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"settings": {"permissions": {"allow": ["Read(//{elsewhere}/**)", "Edit(//{elsewhere}/**)"]}}},
        {"settings": {"permissions": {"allow": ["Read", "Edit"]}}},
        {"permission_mode": "bypassPermissions"},
        {"can_use_tool": "yes"},
    ],
    ids=["a rule for the folder", "a rule for the tool", "the mode", "a person"],
)
async def test_what_was_allowed_outside_of_the_working_directories_can_be_reached(
    project: Path, tmp_path: Path, options: dict[str, Any], autojump_clock: MockClock
) -> None:
    """A rule, the mode or a person let a file tool read and change files elsewhere; nothing else does."""
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "a.txt", "hello")
    path = f"{elsewhere}/a.txt"
    calls = [
        Call("Read", {"file_path": path}),
        Call("Edit", {"file_path": path, "old_string": "hello", "new_string": "bye"}),
        Call("Grep", {"pattern": "bye", "path": str(elsewhere)}),
        Call("Write", {"file_path": f"{elsewhere}/b/c.txt", "content": "new"}),
    ]

    async def yes(_: PermissionQuestion) -> Allow:
        return Allow()

    chosen = json.loads(json.dumps(options).replace("/{elsewhere}", str(elsewhere)))
    if "can_use_tool" in chosen:
        chosen["can_use_tool"] = yes
    async with opened(project, calls, **chosen) as session:
        await session.run("Go.")

    assert [result.is_error for result in results(session)] == [False] * 4
    assert "hello" in results(session)[0].content
    assert (elsewhere / "a.txt").read_text() == "bye"
    assert (elsewhere / "b/c.txt").read_text() == "new"

    async with opened(project, calls[:1]) as session:
        await session.run("Go.")
    (refused,) = results(session)
    assert refused.is_error
    assert "outside the working directories" in refused.content


async def test_a_link_that_is_turned_after_the_decision_leads_nowhere(
    project: Path, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """What a call may reach is where its path led when it was allowed."""
    for name in ("harmless", "secret"):
        write(tmp_path / name / "a.txt", name)
    link = project / "link"
    link.symlink_to(tmp_path / "harmless")

    async def turn_it(_: PermissionQuestion) -> Allow:
        link.unlink()
        link.symlink_to(tmp_path / "secret")
        return Allow()

    async with opened(project, [Call("Read", {"file_path": "link/a.txt"})], can_use_tool=turn_it) as session:
        await session.run("Go.")

    (result,) = results(session)
    assert result.is_error
    assert "outside the directories that this session may use" in result.content


async def test_searches_leave_out_what_may_not_be_read(project: Path, autojump_clock: MockClock) -> None:
    """The content and the names of files that a deny rule keeps from being read are in no result, and their number is told."""
    for name in (".env", "sub/.env", "a.txt"):
        write(project / name, "key=hunter2")
    calls = [
        Call("Grep", {"pattern": "key", "output_mode": "content"}),
        Call("Grep", {"pattern": "key", "path": "sub"}),
        Call("Glob", {"pattern": "**/*"}),
    ]
    async with opened(project, calls, settings={"permissions": {"deny": ["Read(.env)"]}}) as session:
        await session.run("Go.")

    by_text, below, names = [result.content for result in results(session)]
    assert by_text == "a.txt:1:key=hunter2\n(left out, because rules keep them from being read: 2 files)"
    assert ".env" not in below
    assert "1 file)" in below
    assert names.startswith("a.txt\n")
    assert ".env" not in names

    async with opened(project, calls[:1]) as session:
        await session.run("Go.")
    assert results(session)[0].content.count("hunter2") == 3

"""Hooks of settings files and definitions, through whole turns of a session: real commands, told and heard as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.agents import AgentDefinition, Note, PermissionQuestion
from greenroom.agents.events import AgentNoticed
from greenroom.core import ProviderError, TurnFailed
from greenroom.hooks import STOP_BLOCK_CAP, HookRan
from greenroom.inbox import TASK_NOTIFICATION
from greenroom.models import Call, ScriptedModel, WrittenAnswer
from greenroom.models.choice._model_choice import DEFAULT_ALIASES
from greenroom.permissions import Allow
from greenroom.session import open_session
from greenroom.tools import tool
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.hook_commands import ALL, answering, hook, run, told, wait_ran
from tests.session.scripted import results, said, write

WRITE = Call("Write", {"file_path": "a.txt", "content": "a"})


@pytest.mark.parametrize(("code", "runs"), [(0, True), (1, True), (2, False)])
async def test_only_exit_code_2_refuses_a_call_and_the_model_reads_why(project: Path, code: int, *, runs: bool) -> None:
    """Behaviours (3), line 1."""
    settings = hook("PreToolUse", f"echo 'not this file' >&2; exit {code}", matcher="Write")
    session = await run(project, [WRITE, "done"], settings)
    assert (project / "a.txt").exists() is runs
    assert ("not this file" in results(session)[0].content) is not runs
    assert len(session.permissions.denials) == (not runs)


async def test_a_hook_that_allows_lifts_neither_a_deny_rule_nor_an_ask_rule(project: Path) -> None:
    """Behaviours (3), line 3; CL-36."""
    allow = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    settings = hook("PreToolUse", answering(project, allow))
    settings["permissions"] = {"deny": ["Write(a.txt)"], "ask": ["Write(b.txt)"]}
    calls = [Call("Write", {"file_path": f"{name}.txt", "content": name}) for name in "abc"]
    session = await run(project, [*calls, "done"], settings)
    assert [result.is_error for result in results(session)] == [True, True, False]


async def test_a_rewritten_input_replaces_the_whole_and_is_held_against_the_rules(project: Path) -> None:
    """Behaviours (3), line 9; CL-36."""

    def rewrites(path: str) -> dict[str, Any]:
        values = {"file_path": path, "content": "rewritten"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": values}}

    settings = hook("PreToolUse", answering(project, rewrites("b.txt")))
    await run(project, [WRITE, "done"], settings)
    assert not (project / "a.txt").exists()
    assert (project / "b.txt").read_text() == "rewritten"

    settings = hook("PreToolUse", answering(project, rewrites("secret.txt")))
    settings["permissions"] = {"allow": ["Write"], "deny": ["Write(secret.txt)"]}
    session = await run(project, [WRITE, "done"], settings)
    assert results(session)[0].is_error
    assert not (project / "secret.txt").exists()


async def test_hooks_are_told_whose_call_it_is_and_what_became_of_it(project: Path) -> None:
    settings = hook("PreToolUse", answering(project, {}))
    settings["hooks"]["PostToolUse"] = settings["hooks"]["PreToolUse"]
    session = await run(project, [WRITE, "done"], settings)
    before, after = told(project)
    assert before["hook_event_name"] == "PreToolUse"
    assert before["session_id"] == session.id
    assert before["cwd"] == str(project)
    assert before["permission_mode"] == "default"
    assert before["transcript_path"].endswith("transcripts/main.jsonl")
    assert await trio.Path(before["transcript_path"]).is_file()
    assert (before["tool_name"], before["tool_input"]["file_path"]) == ("Write", str(project / "a.txt"))
    assert after["tool_response"]["content"] == "a"
    assert after["duration_ms"] >= 0
    assert "agent_id" not in before


async def test_hooks_are_told_the_parts_of_a_result_and_the_model_reads_its_text(project: Path) -> None:
    """Mechanism: what `respond` was given goes to hooks, and nowhere else; it is gone with the call."""
    calls = [
        Call("Bash", {"command": "echo hello; echo error >&2"}),
        Call("Bash", {"command": "sleep 60", "run_in_background": True}),
        Call("Bash", {"command": "yes | head -c 200000"}),
    ]
    session = await run(project, [*calls, "done"], hook("PostToolUse", answering(project, {})))
    short, aside, long = (payload["tool_response"] for payload in told(project))
    fields = {"stderr": "", "interrupted": False, "isImage": False}
    assert short == {"stdout": "hello\nerror", **fields}
    assert results(session)[0].content == "hello\nerror"
    assert aside == {"stdout": "", **fields, "backgroundTaskId": aside["backgroundTaskId"]}
    assert aside["backgroundTaskId"] in results(session)[1].content
    assert long["stdout"] == results(session)[2].content
    assert (long["persistedOutputSize"], long["persistedOutputPath"] in long["stdout"]) == (200_000, True)
    home = session.agents.main.home
    assert home is not None
    assert home.workspace.responses == {}
    assert "toolUseResult" not in (session.run_folder / "transcripts/main.jsonl").read_text()


async def test_what_a_hook_says_of_a_result_is_read_and_stays_in_the_transcript(project: Path) -> None:
    said_of_it = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "mind the gap"}}
    session = await run(project, [WRITE, "done"], hook("PostToolUse", answering(project, said_of_it)))
    (message,) = [one for one in said(session) if "mind the gap" in one.text]
    assert message.text == "<system-reminder>\nmind the gap\n</system-reminder>"
    assert "mind the gap" in (session.run_folder / "transcripts/main.jsonl").read_text()


async def test_a_hook_may_replace_a_result_and_hear_of_failures(project: Path) -> None:
    other = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "something else"}}
    session = await run(project, [WRITE, "done"], hook("PostToolUse", answering(project, other)))
    assert results(session)[0].content == "something else"

    settings = hook("PostToolUseFailure", answering(project, {}))
    await run(project, [Call("Bash", {"command": "exit 3"}), "done"], settings)
    assert "3" in told(project)[-1]["error"]


async def test_a_prompt_that_a_hook_refuses_never_reaches_the_conversation(project: Path) -> None:
    """UserPromptSubmit, exit code 2."""
    settings = hook("UserPromptSubmit", "grep -q secret && { echo 'no secrets' >&2; exit 2; }; exit 0")
    model = ScriptedModel(["done"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        with pytest.raises(TurnFailed, match="no secrets"):
            await session.run("Tell me the secret.")
        assert said(session) == []
        answer = await session.run("Tell me the time.")
    assert answer.text == "done"
    assert "secret" not in (session.run_folder / "transcripts/main.jsonl").read_text()


async def test_what_prompt_and_start_hooks_print_is_read_with_the_first_prompt(project: Path) -> None:
    settings = hook("UserPromptSubmit", "echo it is raining")
    settings["hooks"]["SessionStart"] = [
        {"matcher": "startup", "hooks": [{"type": "command", "command": "echo on branch main"}]},
        {"matcher": "resume", "hooks": [{"type": "command", "command": "echo resumed"}]},
    ]
    session = await run(project, ["done"], settings)
    first = said(session)[0].text
    assert first.startswith("Go.")
    assert first.index("on branch main") < first.index("it is raining")
    assert "resumed" not in first

    model = ScriptedModel(["done"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", settings=settings, resume=session.id
    ) as again:
        await again.run("Again.")
    assert "resumed" in said(again)[-2].text


async def test_a_stop_hook_keeps_the_turn_going_and_is_told_that_it_has(project: Path) -> None:
    """`stop_hook_active` from the second time on. Behaviours (3), line 4."""
    command = f"cat >> {project}/told; echo >> {project}/told; [ -e {project}/ok ] || {{ touch {project}/ok; echo 'run the tests' >&2; exit 2; }}"
    session = await run(project, ["finished", "done"], hook("Stop", command))
    assert [payload["stop_hook_active"] for payload in told(project)] == [False, True]
    assert [payload["last_assistant_message"] for payload in told(project)] == ["finished", "done"]
    assert "run the tests" in said(session)[-2].text


async def test_a_stop_hook_that_always_refuses_is_overruled_after_eight_times(project: Path) -> None:
    """Behaviours (3), line 4; CL-49."""
    texts = ["again"] * STOP_BLOCK_CAP + ["done"]
    model = ScriptedModel(texts)
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", settings=hook("Stop", "echo more >&2; exit 2")
    ) as session:
        events = session.events()
        answer = await session.run("Go.")
    assert answer.text == "done"
    noticed = [event async for event in events if isinstance(event, AgentNoticed)]
    assert any("8 times in a row" in event.text for event in noticed)


async def test_a_hook_that_stops_everything_ends_the_turn_after_the_result(project: Path) -> None:
    """`continue: false` beats all else. RC-70."""
    settings = hook("PostToolUse", answering(project, {"continue": False, "stopReason": "enough"}))
    model = ScriptedModel([WRITE, "more"])
    with pytest.raises(Exception, match="1 left"):
        async with open_session(
            model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
        ) as session:
            with pytest.raises(TurnFailed, match="enough"):
                await session.run("Go.")
    assert not results(session)[0].is_error


async def test_paths_of_files_are_absolute_and_start_where_the_call_was_made(project: Path) -> None:
    """Also in the list of a batch, one of whose calls went to another folder."""
    settings = hook("PreToolUse", answering(project, {}), matcher="Write")
    settings["hooks"]["PostToolBatch"] = [{"hooks": [{"type": "command", "command": answering(project, {})}]}]
    (project / "sub").mkdir()
    calls = WrittenAnswer(
        [
            Call("Write", {"file_path": "./sub/../a.txt", "content": "a"}),
            Call("Bash", {"command": "cd sub"}),
            Call("Read", {"file_path": "../a.txt"}),
            Call("Read", {"file_path": f"{project}/a.txt"}),
            Call("Grep", {"pattern": "a", "path": "."}),
            Call("Grep", {"pattern": "a"}),
        ]
    )
    await run(project, [calls, "done"], settings)
    before, batch = told(project)
    at_once = [tool_call["tool_input"] for tool_call in batch["tool_calls"] if tool_call["tool_name"] != "Bash"]
    paths = [entry.get("file_path", entry.get("path")) for entry in at_once]
    assert paths == [f"{project}/a.txt"] * 3 + [f"{project}/sub", None]
    assert before["tool_input"] == at_once[0]


@pytest.mark.parametrize("name", ["", "checker"])
async def test_which_agent_it_is_is_told_of_one_that_was_chosen(project: Path, name: str) -> None:
    settings = hook("SessionStart", answering(project, {}))
    settings["hooks"]["Stop"] = settings["hooks"]["SessionStart"]
    await run(project, ["done"], settings, **({"main": AgentDefinition(name=name)} if name else {}))
    assert [payload.get("agent_type", "") for payload in told(project)] == [name, name]
    assert not any("agent_id" in payload for payload in told(project))


async def test_the_prompt_is_told_by_the_id_of_its_line_and_none_where_no_prompt_is_worked_on(
    project: Path,
) -> None:
    """Mechanism: `prompt_id` is that of the message whose turn runs; what a notice begins has none, nor has the session's end."""
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd")
    settings: dict[str, Any] = {**ALL, "hooks": {}}
    for event in events:
        settings["hooks"] |= hook(event, answering(project, {}))["hooks"]
    model = ScriptedModel([WRITE, "done", "sent", "noted"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        await session.run("Go.")
        home = session.agents.main.home
        assert home is not None
        assert home.turn is not None
        assert home.turn.prompt_id is None  # notices between turns go through it
        sent = session.send("Go on.")
        await session.wait_quiet()
        session.main.tell(Note("It has ended.", origin=TASK_NOTIFICATION))
        await session.wait_quiet()
    lines = [json.loads(line) for line in (session.run_folder / "transcripts/main.jsonl").read_text().splitlines()]
    first = next(line["uuid"] for line in lines if line["type"] == "user")
    by_event = [(payload["hook_event_name"], payload.get("prompt_id")) for payload in told(project)]
    assert by_event == [
        ("SessionStart", None),
        ("UserPromptSubmit", first),
        ("PreToolUse", first),
        ("Stop", first),
        ("UserPromptSubmit", sent),
        ("Stop", sent),
        ("Stop", None),
        ("SessionEnd", None),
    ]
    assert sent in {line.get("uuid") for line in lines}


async def test_a_prompt_that_a_turn_takes_up_is_told_by_its_own_id(project: Path) -> None:
    """Mechanism: its `UserPromptSubmit` is about itself; the turn stays that of the message with which it began."""
    settings = hook("UserPromptSubmit", answering(project, {}))
    settings["hooks"]["Stop"] = settings["hooks"]["UserPromptSubmit"]
    sent: list[str] = []

    @tool
    async def dig() -> str:
        """Dig."""
        sent.append(session.send("Mind the wall."))
        await wait_all_tasks_blocked()  # it is in the main agent's inbox
        return "dug"

    settings["permissions"] = {"allow": ["Dig"]}
    model = ScriptedModel([Call("Dig", {}), "done"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=[dig], settings=settings
    ) as session:
        await session.run("Go.")
    first, second, stop = (payload["prompt_id"] for payload in told(project))
    assert [second] == sent
    assert first == stop != second


async def test_errors_of_the_provider_have_the_names_that_matchers_know(project: Path) -> None:
    """The same words as on a stream, so that one matcher is enough."""
    settings = hook("StopFailure", answering(project, {}), matcher="invalid_request|model_not_found")
    kinds = ["bad_request", "overloaded", "not_found"]
    model = ScriptedModel([ProviderError("no", kind=kind, is_retryable=False) for kind in kinds])
    async with open_session(model=model, cwd=project, runs=project.parent / "runs", settings=settings) as session:
        for _ in kinds:
            with pytest.raises(TurnFailed):
                await session.run("Go.")
    assert [payload["error"] for payload in told(project)] == ["invalid_request", "model_not_found"]


async def test_an_error_of_the_provider_is_told(project: Path) -> None:
    settings = hook("StopFailure", answering(project, {}))
    model = ScriptedModel([ProviderError("it is full", kind="overloaded", is_retryable=False)])
    async with open_session(model=model, cwd=project, runs=project.parent / "runs", settings=settings) as session:
        with pytest.raises(TurnFailed):
            await session.run("Go.")
    assert told(project)[0]["error"] == "overloaded"


async def test_the_end_of_a_session_is_told_once(project: Path) -> None:
    await run(project, ["done"], hook("SessionEnd", answering(project, {})))
    assert [payload["reason"] for payload in told(project)] == ["other"]


@pytest.mark.parametrize("command", ["no-such-command-at-all", "echo '{ this is no JSON'", "kill -9 $$"])
async def test_a_hook_that_is_broken_is_a_notice_and_on_record(project: Path, command: str) -> None:
    settings = hook("PreToolUse", command)
    model = ScriptedModel([WRITE, "done"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        events = session.events()
        await session.run("Go.")
    assert (project / "a.txt").exists()
    seen = [event async for event in events]
    assert any(isinstance(event, AgentNoticed) and event.source == "PreToolUse" for event in seen)
    assert [event.state for event in seen if isinstance(event, HookRan)] == ["failed"]


async def test_the_if_of_a_hook_is_a_permission_rule(project: Path) -> None:
    settings = hook("PreToolUse", "exit 2", matcher="Bash", more={"if": "Bash(git push *)"})
    calls = [Call("Bash", {"command": command}) for command in ("echo a", "true && git push origin")]
    session = await run(project, [*calls, "done"], settings)
    assert [result.is_error for result in results(session)] == [False, True]


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_hooks_of_a_project_run_once_it_is_trusted(project: Path, *, is_trusted: bool) -> None:
    write(project / ".claude/settings.json", hook("PreToolUse", "echo no >&2; exit 2"))
    session = await run(project, [WRITE, "done"], ALL, sources=["project"], is_trusted=is_trusted)
    assert (project / "a.txt").exists() is not is_trusted
    assert any("trust" in problem for problem in session.problems) is not is_trusted


async def test_one_malformed_entry_disables_itself_only(project: Path) -> None:
    settings = hook("PreToolUse", "echo no >&2; exit 2")
    settings["hooks"]["PreToolUse"].append({"matcher": "(", "hooks": []})
    settings["hooks"]["Nonsense"] = []
    session = await run(project, [WRITE, "done"], settings)
    assert results(session)[0].is_error
    assert any("Nonsense" in problem for problem in session.problems)


async def test_a_definition_brings_hooks_of_its_own(project: Path) -> None:
    definition = AgentDefinition(name="careful", hooks=hook("PreToolUse", "echo no >&2; exit 2")["hooks"])
    session = await run(project, [WRITE, "done"], ALL, main=definition)
    assert results(session)[0].is_error


async def test_a_permission_hook_answers_in_the_place_of_a_person(project: Path) -> None:
    allow = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
    settings = {**hook("PermissionRequest", answering(project, allow)), "permissions": {}}
    session = await run(project, [WRITE, "done"], settings)
    assert not results(session)[0].is_error
    deny = {
        "hookSpecificOutput": {
            "hookEventName": "PermissionRequest",
            "decision": {"behavior": "deny", "message": "ask me tomorrow"},
        }
    }
    settings = {**hook("PermissionRequest", answering(project, deny)), "permissions": {}}
    session = await run(project, [Call("Write", {"file_path": "b.txt", "content": "b"}), "done"], settings)
    assert "ask me tomorrow" in results(session)[0].content


async def test_an_asynchronous_hook_is_heard_in_the_next_turn(project: Path) -> None:
    later = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "found later"}}
    settings = hook("PostToolUse", answering(project, later), more={"async": True})
    model = ScriptedModel([WRITE, "done", "and on"])
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        events = session.events()
        await session.run("Go.")
        async for event in events:
            if isinstance(event, HookRan):
                break
        await session.run("On.")
    assert "found later" in said(session)[-2].text


async def test_people_are_told_that_one_of_them_is_wanted_and_nobody_waits_for_that(project: Path) -> None:
    """Notification, by its type; the question is there while the hook still runs."""
    go = project / "go"
    slow = f"cat >> {project}/told; while [ ! -e {go} ]; do sleep 0.01; done; echo no >&2; exit 2"
    settings = {**hook("Notification", slow, matcher="permission_prompt"), "permissions": {}}
    settings["hooks"]["Notification"] += hook("Notification", "exit 1", matcher="idle_prompt")["hooks"]["Notification"]

    async def allow(_: PermissionQuestion) -> Allow:
        go.touch()
        return Allow()

    async with open_session(
        model=ScriptedModel([WRITE, "done"]),
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        settings=settings,
        can_use_tool=allow,
    ) as session:
        events = session.events()
        await session.run("Go.")
        await wait_ran(events, "Notification")

    (heard,) = told(project)
    assert heard["notification_type"] == "permission_prompt"
    assert heard["message"] == "main needs your permission to use Write"
    assert (project / "a.txt").exists()


async def test_where_nobody_can_be_asked_nobody_is_told(project: Path) -> None:
    settings = {**hook("Notification", f"touch {project}/told"), "permissions": {}}

    await run(project, [WRITE, "done"], settings)

    assert not (project / "told").exists()


async def test_a_stop_hook_is_told_what_runs_in_the_background(project: Path) -> None:
    sleep = Call("Bash", {"command": "sleep 60", "description": "wait", "run_in_background": True})

    await run(project, [sleep, "done"], hook("Stop", f"cat >> {project}/told"))

    (heard,) = told(project)
    (task,) = heard["background_tasks"]
    assert task.pop("id").startswith("b")
    assert task.pop("status") in {"pending", "running"}  # its process may have to be made yet
    assert task == {"type": "shell", "description": "wait", "command": "sleep 60"}


async def test_a_hook_with_a_prompt_asks_the_sessions_model(project: Path) -> None:
    handler = {"type": "prompt", "prompt": "May this run? $ARGUMENTS", "continueOnBlock": True}
    settings = {**ALL, "hooks": {"PreToolUse": [{"hooks": [handler]}]}}
    model = ScriptedModel(
        {"main": [WRITE, "done"], "hook": ['{"ok": false, "reason": "it is a bad idea"}']}, keeps_requests=True
    )
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        await session.run("Go.")
    assert "it is a bad idea" in results(session)[0].content
    (question,) = [request for request in model.requests if request.definition == "hook"]
    assert '"tool_name":"Write"' in question.messages[0].text


@pytest.mark.parametrize(
    ("own", "said", "models", "asked"),
    [
        ("claude-opus-5-5", None, {}, DEFAULT_ALIASES["haiku"]),
        ("claude-opus-5-5", None, {"available": ["opus"]}, ""),
        ("claude-opus-5-5", "sonnet", {}, DEFAULT_ALIASES["sonnet"]),
        ("claude-opus-5-5", "judge", {"aliases": {"judge": "claude-judge-1"}}, "claude-judge-1"),
        ("scripted", None, {}, ""),
    ],
)
async def test_a_prompt_is_put_to_the_model_that_it_names_or_to_a_fast_one(
    project: Path, own: str, said: str | None, models: dict[str, Any], asked: str
) -> None:
    handler = {"type": "prompt", "prompt": "May this be?", **({"model": said} if said else {})}
    settings = {**ALL, "models": models, "hooks": {"UserPromptSubmit": [{"hooks": [handler]}]}}
    model = ScriptedModel({"main": ["done"], "hook": ['{"ok": true}']}, name=own)
    async with open_session(model=model, cwd=project, runs=project.parent / "runs", settings=settings) as session:
        await session.run("Go.")
    assert [request.model for request in model.requests if request.definition == "hook"] == [asked]


async def test_hooks_are_told_the_effort_that_holds(project: Path) -> None:
    await run(project, ["done"], {**hook("Stop", f"cat >> {project}/told"), "effort": "high"})

    assert [payload["effort"] for payload in told(project)] == [{"level": "high"}]

"""Calls that a hook puts off: the turn ends with them, and the program goes on, in this process or a later one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from greenroom.agents import TOOL_UNAVAILABLE
from greenroom.agents._rounds import TOOL_DEFERRED
from greenroom.agents.events import CallDeferred, ToolBegan
from greenroom.core import TurnFailed
from greenroom.models import AnswerLike, Call, ScriptedModel
from greenroom.session import Session, open_session
from greenroom.tools import Tool
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.session.hook_commands import hook
from tests.session.scripted import results, said, write

WRITE = Call("Write", {"file_path": "a.txt", "content": "a"}, id="toolu_a")


def answers(project: Path, permission: str, **more: Any) -> None:
    """Set the answer of the hook from now on."""
    said = {"hookEventName": "PreToolUse", "permissionDecision": permission, **more}
    write(project / "answer.json", {"hookSpecificOutput": said})


def opened(project: Path, *script: AnswerLike, tools: tuple[Tool, ...] = STANDARD_TOOLS, **options: Any) -> Any:
    options.setdefault("model", ScriptedModel(script))
    settings = hook("PreToolUse", f"echo x >> {project}/asked; cat {project}/answer.json", matcher="Write")
    settings["permissions"] = {}
    return open_session(cwd=project, runs=project.parent / "runs", tools=tools, settings=settings, **options)


def times_asked(project: Path) -> int:
    return len((project / "asked").read_text().split())


async def put_off(project: Path, session: Session) -> None:
    session.permissions.allow_deferral()
    answer = await session.run("Go.")
    assert (answer.stop_reason, answer.deferred and answer.deferred.id) == (TOOL_DEFERRED, "toolu_a")
    assert not (project / "a.txt").exists()
    assert said(session)[-1].tool_uses[0].id == "toolu_a"


async def test_a_call_that_is_put_off_ends_the_turn_and_runs_when_the_program_goes_on(project: Path) -> None:
    answers(project, "defer")
    async with opened(project, WRITE, "done") as session:
        events = session.events(from_start=True)
        await put_off(project, session)
        assert (await session.resume_turn()).stop_reason == TOOL_DEFERRED  # the hook has not changed its mind
        answers(project, "allow", updatedInput={"file_path": "a.txt", "content": "as a person wants it"})
        answer = await session.resume_turn()
        assert (answer.text, answer.deferred) == ("done", None)
    assert (project / "a.txt").read_text() == "as a person wants it"
    assert [result.is_error for result in results(session)] == [False]
    assert times_asked(project) == 3
    assert not session.permissions.denials
    kinds = [type(event) async for event in events if isinstance(event, CallDeferred | ToolBegan)]
    assert kinds == [ToolBegan, CallDeferred, ToolBegan, CallDeferred, ToolBegan]


async def test_a_later_process_runs_it_once(project: Path) -> None:
    """Mechanism: on record it is put off until it begins to run; then it never runs again, whatever became of it."""
    answers(project, "defer")
    async with opened(project, WRITE) as first:
        await put_off(project, first)
    answers(project, "allow")
    async with opened(project, "done", resume=first.id) as second:
        assert second.was_cut
        assert (await second.resume_turn()).text == "done"
    assert [result.is_error for result in results(second)] == [False]
    (project / "a.txt").unlink()
    lines = [json.loads(line) for line in (second.run_folder / "transcripts/main.jsonl").read_text().splitlines()]
    assert sum(line.get("type") == "assistant" for line in lines) == 2
    async with opened(project, resume=first.id) as third:
        assert not third.was_cut
        home = third.agents.main.home
        assert home is not None
        assert home.deferred is None
    assert not (project / "a.txt").exists()


async def test_one_that_had_begun_when_the_process_was_killed_is_interrupted(project: Path) -> None:
    """As any other: nobody knows what it did."""
    answers(project, "defer")
    async with opened(project, WRITE) as first:
        await put_off(project, first)
    journal = first.run_folder / "journal.jsonl"
    began = next(line for line in journal.read_text().splitlines() if '"tool.begin"' in line)
    last = json.loads(journal.read_text().splitlines()[-1])
    again = json.dumps({**json.loads(began), "seq": last["seq"] + 1}, separators=(",", ":"))
    journal.write_text(f"{journal.read_text()}{again}\n")
    async with opened(project, "done", resume=first.id) as second:
        await second.resume_turn()
    (result,) = results(second)
    assert result.is_error
    assert not (project / "a.txt").exists()


@pytest.mark.parametrize("fits", ["two calls", "nobody goes on", "a sub-agent"])
async def test_where_it_cannot_be_put_off_whoever_can_be_asked_is(project: Path, fits: str) -> None:
    answers(project, "defer")
    other = Call("Write", {"file_path": "b.txt", "content": "b"})
    script: list[AnswerLike] = [[WRITE, other], "done"] if fits == "two calls" else [WRITE, "done"]
    async with opened(project, *script) as session:
        if fits != "nobody goes on":
            session.permissions.allow_deferral()
        if fits == "a sub-agent":
            handle = await session.spawn("general-purpose", "Go.")
            assert (await handle.wait_finished()).text.startswith("done")
            return
        answer = await session.run("Go.")
    assert (answer.text, answer.deferred) == ("done", None)
    assert all("nobody can be asked" in result.content for result in results(session))


async def test_a_prompt_gives_it_up(project: Path) -> None:
    answers(project, "defer")
    async with opened(project, WRITE, "done", "on") as session:
        await put_off(project, session)
        assert (await session.run("Never mind.")).text == "done"
        (result,) = results(session)
        assert result.is_error
        assert (await session.resume_turn()).text == "on"  # there is nothing to go on with but the conversation
    assert times_asked(project) == 1


async def test_a_tool_that_is_not_there_leaves_it_as_it_is(project: Path) -> None:
    answers(project, "defer")
    async with opened(project, WRITE) as first:
        await put_off(project, first)
    without = tuple(standard_tool for standard_tool in STANDARD_TOOLS if standard_tool.name != "Write")
    async with opened(project, tools=without, resume=first.id) as second:
        answer = await second.resume_turn()
        assert (answer.stop_reason, answer.deferred and answer.deferred.name) == (TOOL_UNAVAILABLE, "Write")
    answers(project, "allow")
    async with opened(project, "done", resume=first.id) as third:
        assert (await third.resume_turn()).text == "done"
    assert (project / "a.txt").read_text() == "a"


async def test_what_denies_beats_what_puts_off(project: Path) -> None:
    answers(project, "defer")
    settings = hook("PreToolUse", f"cat {project}/answer.json", "echo no >&2; exit 2")
    async with open_session(
        model=ScriptedModel([WRITE, "done"]),
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        settings=settings,
    ) as session:
        session.permissions.allow_deferral()
        assert (await session.run("Go.")).text == "done"
    assert "a hook denies it: no" in results(session)[0].content


async def test_a_hook_that_ends_everything_at_last_leaves_no_open_call(project: Path) -> None:
    answers(project, "defer")
    async with opened(project, WRITE) as session:
        await put_off(project, session)
        write(project / "answer.json", '{"continue": false, "stopReason": "enough"}')
        with pytest.raises(TurnFailed, match="enough"):
            await session.resume_turn()
    (result,) = results(session)
    assert result.is_error

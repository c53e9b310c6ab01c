"""Hooks of `Setup`, titles that hooks give, and folders that are added while a session runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.agents.events import AgentNoticed
from greenroom.core import UsageError
from greenroom.hooks import HookRan, HookSource, SourceKind, parse_callbacks
from greenroom.models import Call, ScriptedModel
from greenroom.session import Fork, SessionTitled, open_session, read_beginning
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.mcp.real import until
from tests.session.hook_commands import answering, hook, told
from tests.session.scripted import results, said
from tests.session.teamwork import told as events_of


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def opening(project: Path, *script: Any, **options: Any) -> Any:
    model = ScriptedModel([*script], keeps_requests=True)
    runs = project.parent / "runs"
    return open_session(model=model, cwd=project, runs=runs, tools=STANDARD_TOOLS, **options)


# --- Setup --------------------------------------------------------------------------------------------------------------


async def test_setup_hooks_run_before_those_of_the_start_and_only_where_that_is_asked_for(project: Path) -> None:
    settings = hook("Setup", answering(project, {}))
    settings["hooks"]["SessionStart"] = [{"hooks": [{"type": "command", "command": answering(project, {})}]}]

    async with opening(project, settings=settings):
        pass
    assert [payload["hook_event_name"] for payload in told(project)] == ["SessionStart"]

    async with opening(project, settings=settings, setup="maintenance"):
        pass
    assert [payload["hook_event_name"] for payload in told(project)[1:]] == ["Setup", "SessionStart"]
    assert told(project)[1]["trigger"] == "maintenance"


@pytest.mark.parametrize(("matcher", "runs"), [("init", True), ("maintenance", False), ("", True)])
async def test_a_matcher_of_setup_is_the_trigger(project: Path, matcher: str, *, runs: bool) -> None:
    settings = hook("Setup", f"touch {project}/ran", matcher=matcher)
    async with opening(project, settings=settings, setup="init"):
        pass
    assert (project / "ran").exists() is runs


async def test_what_a_setup_hook_adds_is_read_with_the_first_prompt_and_its_text_is_not(project: Path) -> None:
    """Stdout is context for other events only."""
    settings = hook("Setup", answering(project, specific("Setup", additionalContext="node is there")), "echo so what")
    async with opening(project, "done", settings=settings, setup="init") as session:
        await session.run("Go.")
    first = said(session)[0].text + "".join(one.text for one in said(session)[:2])
    assert "node is there" in first
    assert "so what" not in first


async def test_a_setup_hook_that_fails_is_a_notice_and_blocks_nothing(project: Path) -> None:
    """Table: no."""
    settings = hook("Setup", "echo 'no network' >&2; exit 2")
    async with opening(project, "done", settings=settings, setup="init") as session:
        assert (await session.run("Go.")).text == "done"
        (ran,) = [event for event in events_of(session, HookRan) if event.event == "Setup"]
        assert "no network" in ran.error
        assert any("no network" in event.text for event in events_of(session, AgentNoticed))


async def test_a_setup_that_there_is_not_is_refused_before_anything_is_written(project: Path) -> None:
    with pytest.raises(UsageError, match="setup must be 'init' or 'maintenance', got 'tidy'"):
        async with opening(project, setup="tidy"):
            pass
    assert not (project.parent / "runs").exists()


# --- titles -------------------------------------------------------------------------------------------------------------


def titles(session: Any) -> list[str]:
    return [event.title for event in events_of(session, SessionTitled)]


async def test_hooks_of_the_start_and_of_prompts_give_the_session_a_title(project: Path) -> None:
    settings = hook("SessionStart", answering(project, specific("SessionStart", sessionTitle="auth  refactor\n")))
    named = answering(project, specific("UserPromptSubmit", sessionTitle="repair the tests"))
    settings["hooks"]["UserPromptSubmit"] = [{"hooks": [{"type": "command", "command": named}]}]
    async with opening(project, "done", "done", settings=settings) as session:
        assert session.title == "auth refactor"
        await session.run("Go.")
        assert session.title == "repair the tests"
        await session.run("Go on.")
        assert titles(session) == ["auth refactor", "repair the tests"]

    lines = (session.run_folder / "transcripts" / "main.jsonl").read_text().splitlines()
    written = [line for line in map(json.loads, lines) if line["type"] == "custom-title"]
    assert [entry["customTitle"] for entry in written] == ["auth refactor", "repair the tests"]
    assert all(entry["sessionId"] == session.id for entry in written)
    assert read_beginning(session.run_folder).title == "repair the tests"


@pytest.mark.parametrize("is_fork", [False, True])
async def test_a_session_that_is_resumed_keeps_its_title_and_says_it_to_hooks(project: Path, *, is_fork: bool) -> None:
    async with opening(project, "done") as first:
        await first.run("Go.")
        first.set_title("the old one")
    again: Any = Fork(first.run_folder) if is_fork else first.run_folder
    settings = hook("SessionStart", answering(project, {}))
    async with opening(project, "done", settings=settings, resume=again) as second:
        assert second.title == "the old one"
        await second.run("Go on.")
    async with opening(project, resume=second.run_folder) as third:
        assert third.title == "the old one"  # also where nobody said it again

    assert told(project)[0]["session_title"] == "the old one"
    assert titles(second) == []


async def test_a_session_without_a_title_says_none(project: Path) -> None:
    async with opening(project, settings=hook("SessionStart", answering(project, {}))) as session:
        assert session.title == ""
    assert "session_title" not in told(project)[0]


async def test_a_title_after_a_compaction_is_passed_over(project: Path) -> None:
    """It is for the beginning of a session."""
    settings = hook(
        "SessionStart", answering(project, specific("SessionStart", sessionTitle="late")), matcher="compact"
    )
    async with opening(project, "done", "A summary.", settings=settings) as session:
        await session.run("Go.")
        await session.compact()
        assert [payload["source"] for payload in told(project)] == ["compact"]
        assert session.title == ""


@pytest.mark.parametrize("title", ["", " \n"])
async def test_a_blank_title_is_refused_of_programs_and_passed_over_of_hooks(project: Path, title: str) -> None:
    settings = hook("SessionStart", answering(project, specific("SessionStart", sessionTitle=title)))
    async with opening(project, settings=settings) as session:
        assert session.title == ""
        with pytest.raises(UsageError, match="a title needs text"):
            session.set_title(title)
        session.set_title("x" * 300)
        assert session.title == "x" * 200


# --- folders ------------------------------------------------------------------------------------------------------------


async def test_a_folder_that_is_added_can_be_worked_in_and_hooks_hear_of_it(project: Path) -> None:
    other = project.parent / "other"
    other.mkdir()
    (other / "a.txt").write_text("found it")
    settings = hook("DirectoryAdded", answering(project, {"continue": False}), matcher="register_repo_root")
    read = Call("Read", {"file_path": str(other / "a.txt")})
    async with opening(project, read, read, "done", settings=settings) as session:
        path = await session.files.add_folder("../other")
        assert path == other
        with trio.fail_after(30):
            await until(lambda: (project / "told").exists() and bool(told(project)))
        await session.run("Go.")

    (heard,) = told(project)
    assert (heard["directory"], heard["source"]) == (str(other), "register_repo_root")
    assert "found it" in results(session)[0].content


async def test_nobody_waits_for_hooks_of_a_folder(project: Path) -> None:
    other = project.parent / "other"
    other.mkdir()
    settings = hook("DirectoryAdded", "sleep 600")
    async with opening(project, settings=settings) as session:
        with trio.fail_after(20):
            await session.files.add_folder(other, source="slash_command")


async def test_a_folder_that_cannot_be_added_changes_nothing_and_tells_nobody(project: Path) -> None:
    """A folder that is one already is refused as well, by whatever name."""
    other = project.parent / "other"
    other.mkdir()
    (project.parent / "link").symlink_to(other)
    (project / "file").write_text("")
    heard: list[str] = []

    async def call_back(_: str, values: Any) -> dict[str, Any]:
        await trio.lowlevel.checkpoint()
        heard.append(values["directory"])
        return {}

    async with opening(project) as session:
        groups = {"DirectoryAdded": [{"hookCallbackIds": ["x"]}]}
        session.add_hooks(parse_callbacks(groups, HookSource("host", SourceKind.HOST), call_back))
        for wrong, why in (
            ("nowhere", "it is not a directory"),
            ("file", "it is not a directory"),
            (".", "the session already includes it"),
            ("x" * 300, "cannot add folder .*: File name too long"),
            ("a\0b", "it is not a directory"),
        ):
            with pytest.raises(UsageError, match=why):
                await session.files.add_folder(wrong)
        await session.files.add_folder(other)
        for again in (other, "../other", project.parent / "link"):
            with pytest.raises(UsageError, match="the session already includes it"):
                await session.files.add_folder(again)
        with trio.fail_after(30):
            await until(lambda: bool(heard))
    assert heard == [str(other)]

"""Compaction as a host asks for it, over settings, files and a resumed session."""

from __future__ import annotations

from pathlib import Path

import pytest
from trio.testing import MockClock

from greenroom.agents import AgentDefinition, load_conversation
from greenroom.core import SettingsError, TurnFailed, UsageError
from greenroom.models import Call, Say, ScriptedModel, Usage, WrittenAnswer
from greenroom.session import EVENTS, FOLDS, open_session
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.session.small_team import LEAD, MATE

SUMMARY = "<summary>We spoke.</summary>"


@tool(read_only=True)
async def peek() -> str:
    """Look at nothing."""
    return "nothing"


async def test_a_session_that_was_compacted_resumes_from_the_summary(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(
        model=ScriptedModel(["One.", SUMMARY]), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
    ) as first:
        await first.run("First.")
        done = await first.compact("names")
    model = ScriptedModel(["Two."])
    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "runs", resume="last", ports=virtual_ports(1)
    ) as second:
        assert not second.was_cut
        await second.run("Second.")

    assert done.summary == "We spoke."
    (message,) = model.requests[0].messages
    assert "We spoke." in message.text
    assert message.text.endswith("Second.")
    loaded = load_conversation(first.run_folder / "transcripts" / "main.jsonl")
    assert [message.role for message in loaded.messages] == ["user", "assistant"]
    journal = read_journal(first.run_folder / JOURNAL, EVENTS)
    assert [str(finding) for finding in check_journal(journal.entries, folds=FOLDS)] == []
    kinds = [entry.kind for entry in journal.entries]
    assert [kinds.count(text) for text in ("compact.begin", "compact.end", "fork.begin", "fork.end")] == [1, 1, 1, 1]


async def test_settings_say_when(tmp_path: Path, autojump_clock: MockClock) -> None:
    settings = {"compaction": {"window_tokens": 1_000, "summary_tokens": 100, "at_percent": 50}}
    model = ScriptedModel([WrittenAnswer([Call("Peek")], usage=Usage(500)), SUMMARY, "Done."])

    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "runs", tools=[peek], settings=settings, ports=virtual_ports()
    ) as session:
        await session.run("Go.")

    assert "We spoke." in model.requests[-1].messages[0].text


async def test_what_was_switched_off_is_refused(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREENROOM_DISABLE_COMPACT", "1")
    async with open_session(
        model=ScriptedModel(["One."]), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
    ) as session:
        await session.run("First.")
        with pytest.raises(UsageError, match="switched off"):
            await session.compact()


async def test_settings_that_make_no_sense_leave_no_run_behind(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for settings in ({"compaction": {"at_percent": 0}}, {"compaction": {"windows": 1}}, {"compaction": 3}):
        with pytest.raises((SettingsError, UsageError)):
            async with open_session(
                model=ScriptedModel([]), cwd=tmp_path, runs=tmp_path / "runs", settings=settings, ports=virtual_ports()
            ):
                pass
    monkeypatch.setenv("GREENROOM_AUTO_COMPACT_WINDOW", "many")
    with pytest.raises(UsageError, match="GREENROOM_AUTO_COMPACT_WINDOW"):
        async with open_session(model=ScriptedModel([]), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()):
            pass
    assert not (tmp_path / "runs").exists()


async def test_the_mates_that_live_are_told_of_after_a_compaction(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-86: compact with 3 live; what the model reads lists all three."""
    model = ScriptedModel({"lead": ["I see.", "Hm.", SUMMARY, "Well."], "mate": []})

    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as session:
        async with session.open_team("crew") as team:
            for name in ("ann", "bob", "cid", "dan"):
                await team.spawn(name, definition=MATE)
            team.teammates["dan"].kill()
            await team.teammates["dan"].wait_ended()
            await session.wait_quiet()  # the lead has read that one is gone
            await session.run("Go.")
            await session.compact()
            await session.run("More.")

    text = model.requests[-1].messages[0].text
    assert [name in text for name in ("ann", "bob", "cid", "dan")] == [True, True, True, False]


async def test_instructions_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are re-read from disk."""
    monkeypatch.setenv("GREENROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "their_home"))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    rules = project / "CLAUDE.md"
    rules.write_text("Use tabs.")
    model = ScriptedModel(["One.", SUMMARY, "Two."])

    async with open_session(
        model=model,
        cwd=project,
        runs=tmp_path / "runs",
        main=AgentDefinition(name="main", system_prompt="You work."),
        sources=("user", "project", "local"),
    ) as session:
        await session.run("First.")
        rules.write_text("Use spaces.")
        await session.compact()
        await session.run("Second.")

    assert ["tabs" in request.system for request in model.requests] == [True, True, False]
    assert "Use spaces." in model.requests[-1].system


async def test_a_provider_that_fails_is_told_and_leaves_the_session_as_it_was(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    model = ScriptedModel(["One.", WrittenAnswer([Say(" ")]), "Two."])

    async with open_session(model=model, cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()) as session:
        await session.run("First.")
        with pytest.raises(TurnFailed, match="no summary"):
            await session.compact()
        await session.run("Second.")

    assert [message.text for message in model.requests[-1].messages] == ["First.", "One.", "Second."]

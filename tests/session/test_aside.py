"""Side tasks of a host beside the turns of the main agent, through a whole session."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents.events import AgentNoticed, AgentSummarized, ForkBegan, ForkEnded
from greenroom.core import ActorEnded, ProviderError, TurnKilled, UsageError, event_of
from greenroom.models import Call, Say, ScriptedModel, Usage, WrittenAnswer
from greenroom.models._scripted import ScriptStep
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.testing import check_cache_prefixes, virtual_ports
from greenroom.tools import tool
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, check_journal, fold, read_journal
from tests.session.scripted import write

USED = Usage(input_tokens=100, output_tokens=10)


@tool(read_only=True)
async def wait() -> str:
    """Wait for a minute."""
    await trio.sleep(60)
    return "waited"


@asynccontextmanager
async def opened(project: Path, script: list[Any], **options: Any) -> AsyncIterator[tuple[Session, ScriptedModel]]:
    model = ScriptedModel(script)
    async with open_session(
        model=model,
        cwd=project,
        runs=project.parent / "runs",
        tools=(*STANDARD_TOOLS, wait),
        ports=virtual_ports(),
        **options,
    ) as session:
        yield session, model


def seen(session: Session, *kinds: type[Any]) -> list[Any]:
    return [event for event in map(event_of, session.runtime.recorder.latest()) if isinstance(event, kinds)]


def notes_of(session: Session) -> Path:
    home = session.agents.main.home
    assert home is not None
    assert home.profile.memory is not None
    return home.profile.memory.folder


async def test_a_side_question_is_answered_while_the_turn_runs_a_tool(project: Path, autojump_clock: MockClock) -> None:
    script = [WrittenAnswer([Call("Wait")]), WrittenAnswer([Say("I wait for a minute.")], usage=USED), "Done."]
    settings = {"models": {"budget": {"calls": 3}}}
    async with opened(project, script, settings=settings) as (session, model), trio.open_nursery() as nursery:
        nursery.start_soon(session.run, "Go.")
        await trio.sleep(10)
        assert await session.asides.ask("What are you doing?") == "I wait for a minute."
        assert trio.current_time() < 60
        assert session.main.is_busy
        await session.wait_quiet()
        assert session.usage == session.budget.spent.usage == USED
        assert session.budget.spent.calls == 3
    check_cache_prefixes(model.requests[:2])
    check_cache_prefixes([model.requests[0], model.requests[2]])
    transcript = (session.run_folder / "transcripts" / "main.jsonl").read_text()
    assert "What are you doing?" not in transcript
    assert len(transcript.splitlines()) == 4
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    assert [str(finding) for finding in check_journal(journal.entries, folds=FOLDS)] == []
    (view,) = fold(journal.entries, FOLDS).section("agents").values()
    assert view.usage == USED


async def test_a_side_question_ends_with_the_main_agent_and_nothing_else(
    project: Path, autojump_clock: MockClock
) -> None:
    never = ScriptStep(answer="Never.", wait_s=1_000)
    async with opened(project, ["One.", never]) as (session, _):
        await session.run("Go.")
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(ActorEnded):
                    await session.asides.ask("Well?")

            nursery.start_soon(ask)
            await trio.sleep(1)
            session.kill()
        with pytest.raises(ActorEnded):
            await session.asides.ask("Well?")
    assert seen(session, ForkEnded)[0].state == "killed"


async def test_an_interrupt_ends_the_turn_and_not_the_side_question(project: Path, autojump_clock: MockClock) -> None:
    script = [Call("Wait"), ScriptStep(answer="Still here.", wait_s=20)]
    async with opened(project, script) as (session, _), trio.open_nursery() as nursery:

        async def run() -> None:
            with pytest.raises(TurnKilled):
                await session.run("Go.")

        async def interrupt() -> None:
            await trio.sleep(15)
            session.interrupt()

        nursery.start_soon(run)
        nursery.start_soon(interrupt)
        await trio.sleep(10)
        assert await session.asides.ask("Well?") == "Still here."


async def test_an_error_of_the_provider_is_the_askers_and_a_suggestion_is_then_none(
    project: Path, autojump_clock: MockClock
) -> None:
    errors = [ProviderError("busy", kind="overloaded") for _ in range(2)]
    async with opened(project, ["One.", *errors, "commit it"]) as (session, _):
        assert await session.asides.suggest_prompt() == ""
        await session.run("Go.")
        with pytest.raises(ProviderError):
            await session.asides.ask("Well?")
        assert await session.asides.suggest_prompt() == ""
        assert [event.source for event in seen(session, AgentNoticed)] == ["prompt suggestion"]
        assert await session.asides.suggest_prompt() == "commit it"


# --- notes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_trusted", [False, True])
async def test_notes_are_kept_after_a_turn_where_the_settings_say_so(
    project: Path, autojump_clock: MockClock, is_trusted: bool
) -> None:
    """The end of the session waits for it; without the setting, as in a project that is not trusted, nothing is asked."""
    note = [Call("Write", {"file_path": "MEMORY.md", "content": "- tabs\n"})]
    write(project / ".greenroom/settings.local.json", {"extract_memory": True})
    script = ["One.", *([note, ScriptStep(answer="Noted.", wait_s=10)] if is_trusted else [])]
    async with opened(project, script, sources=["local"], is_trusted=is_trusted) as (session, _):
        answer = await session.run("Use tabs.")
        assert answer.text == "One."
        file = notes_of(session) / "MEMORY.md"

    assert file.exists() == is_trusted
    assert [event.state for event in seen(session, ForkEnded)] == ["completed"] * is_trusted
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    assert [str(finding) for finding in check_journal(journal.entries, folds=FOLDS)] == []
    lines = (session.run_folder / "transcripts" / "main.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["user", "assistant"]


async def test_notes_that_take_too_long_do_not_keep_a_session_open(project: Path, autojump_clock: MockClock) -> None:
    settings = {"extract_memory": True}
    script = ["One.", ScriptStep(answer="Never.", wait_s=1_000)]
    async with opened(project, script, sources=["project"], settings=settings) as (session, _):
        await session.run("Use tabs.")
    assert trio.current_time() < 100
    assert seen(session, ForkEnded)[0].state == "killed"


async def test_turns_that_end_while_notes_are_kept_are_looked_at_once(project: Path, autojump_clock: MockClock) -> None:
    settings = {"extract_memory": True}
    slow = ScriptStep(answer="NOTHING", wait_s=5)
    script = [ScriptStep(answer="One.", wait_s=1), slow, "Two.", "Three.", slow]
    async with opened(project, script, sources=["project"], settings=settings) as (session, model):
        await session.run("First.")
        await trio.sleep(1)
        await session.run("Second.")
        await session.run("Third.")
        await session.asides.finish()
        assert len(seen(session, ForkBegan)) == 2
    assert "the last 4 messages" in model.requests[-1].messages[-1].text


async def test_notes_are_kept_after_a_turn_that_nobody_waits_for(project: Path, autojump_clock: MockClock) -> None:
    settings = {"extract_memory": True}
    async with opened(project, ["One.", "NOTHING"], sources=["project"], settings=settings) as (session, _):
        session.send("First.")
        await session.wait_quiet()
        await session.asides.finish()
        assert [event.purpose for event in seen(session, ForkEnded)] == ["memory extraction"]


async def test_notes_that_cannot_be_kept_are_noticed_and_end_nothing(project: Path, autojump_clock: MockClock) -> None:
    """Those of two turns that ended meanwhile are tried once."""
    busy = [ScriptStep(error=ProviderError("busy", kind="overloaded"), wait_s=5) for _ in range(2)]
    settings = {"extract_memory": True}
    script = [ScriptStep(answer="One.", wait_s=1), busy[0], "Two.", "Three.", busy[1]]
    async with opened(project, script, sources=["project"], settings=settings) as (session, _):
        await session.run("First.")
        await trio.sleep(1)
        await session.run("Second.")
        await session.run("Third.")
        await session.asides.finish()
        assert [event.source for event in seen(session, AgentNoticed)] == ["memory extraction"] * 2


async def test_notes_are_put_in_order_on_demand(project: Path, autojump_clock: MockClock) -> None:
    script = ["One.", [Call("Read", {"file_path": "MEMORY.md"})], "Nothing to change."]
    async with opened(project, script, sources=["project"]) as (session, _):
        write(notes_of(session) / "MEMORY.md", "- tabs\n")
        await session.run("First.")
        changes = await session.asides.consolidate_memory()
    assert (changes.written, changes.text) == ((), "Nothing to change.")


async def test_a_session_without_memory_says_so(project: Path, autojump_clock: MockClock) -> None:
    async with opened(project, []) as (session, _):
        with pytest.raises(UsageError, match="keeps no notes"):
            await session.asides.consolidate_memory()
    async with opened(project, [], sources=["project"], settings={"autoMemoryEnabled": False}) as (session, _):
        with pytest.raises(UsageError, match="keeps no notes"):
            await session.asides.consolidate_memory()


# --- summaries -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_on", [False, True])
async def test_an_agent_in_the_background_says_what_it_does_where_the_settings_say_so(
    project: Path, autojump_clock: MockClock, is_on: bool
) -> None:
    """From a 30 s timer, stopped at the end."""
    summary = ["Waiting for a whole minute"] if is_on else []
    script = [ScriptStep(answer=[Call("Wait")], wait_s=5), *summary, "Waited."]
    settings = {"agent_progress_summaries": is_on}
    async with opened(project, script, settings=settings) as (session, model):
        handle = await session.spawn("general-purpose", "Wait.", background=True)
        await trio.sleep(45)
        expected = "Waiting for a whole minute" if is_on else ""
        assert handle.task.progress is not None
        assert handle.task.progress.summary == expected
        assert [agent.summary for agent in session.agents.all()] == ["", expected]
        assert [event.text for event in seen(session, AgentSummarized)] == summary
        result = await handle.wait_finished()
        assert (result.state, result.text) == ("completed", "Waited.")
        asked = len(model.requests)
        await trio.sleep(300)
        assert len(model.requests) == asked
    assert check_cache_prefixes(model.requests[:2]) == 1
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    assert [str(finding) for finding in check_journal(journal.entries, folds=FOLDS)] == []

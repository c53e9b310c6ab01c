"""Going on with a session that an earlier process began."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import CONTINUE, AgentDefinition, load_conversation
from greenroom.agents._blocks import LOST_RESULT
from greenroom.agents._repair import faults_of
from greenroom.core import ProviderError, TurnFailed, TurnKilled, UsageError
from greenroom.models import Call, ScriptedModel
from greenroom.models._scripted import ScriptStep
from greenroom.session import EVENTS, FOLDS, Fork, Session, open_session, read_beginning
from greenroom.session.record._resume import Beginning
from greenroom.store._transcript_reader import read_transcript
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from greenroom.trace import JOURNAL, check_journal, find_run, read_journal
from tests.session.small_team import ITEMS, LEAD, MATE, make_folder, playbook, survey


@tool(name="Wait")
async def wait() -> str:
    """Wait forever."""
    await trio.sleep_forever()
    return ""


def main_file(session: Session) -> Path:
    return session.run_folder / "transcripts" / "main.jsonl"


def violations_of(session: Session) -> list[str]:
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    return [f"{finding.id}: {finding.text}" for finding in check_journal(journal.entries, folds=FOLDS)]


async def test_a_resumed_session_has_its_conversation_id_and_files(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(
        model=ScriptedModel(["One."]), cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports()
    ) as first:
        await first.run("First.")
        main_id = first.main.id
    model = ScriptedModel(["Two."])
    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "runs", resume="last", ports=virtual_ports(1)
    ) as second:
        assert not second.was_cut
        assert (second.id, second.main.id) == (first.id, main_id)
        await second.run("Second.")

    assert [message.text for message in model.requests[0].messages] == ["First.", "One.", "Second."]
    lines = list(read_transcript(main_file(second)))
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert len(lines) == 4
    assert violations_of(second) == []


def test_what_a_run_was_opened_with_is_what_its_last_beginning_says(tmp_path: Path) -> None:
    """No other line counts, whatever stands in it; without a journal nothing is known."""
    lines = [
        '{"ev": "session.begin", "model": "first", "agent": "a"}',
        '{"ev": "session.begin", "model": "second", "agent": ""}',
        '{"ev": "other", "kind": "session.begin", "model": "third"}',
        '["session.begin"]',
        '{"ev": "session.begin", "model": "torn',
    ]
    assert read_beginning(tmp_path) == Beginning()
    (tmp_path / JOURNAL).write_text("\n".join(lines), encoding="utf-8")

    assert read_beginning(tmp_path) == Beginning(model="second")


async def test_a_turn_that_was_cut_in_a_tool_is_resumed(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-03, RC-87, CL-35; Behaviours (10), line 4."""
    async with (
        open_session(
            model=ScriptedModel([Call("Wait")]), cwd=tmp_path, runs=tmp_path / "r", tools=[wait], ports=virtual_ports()
        ) as first,
        trio.open_nursery() as nursery,
    ):

        async def run() -> None:
            with pytest.raises(TurnKilled):
                await first.run("Wait.")

        nursery.start_soon(run)
        await trio.sleep(1)
        content = main_file(first).read_bytes()
        first.kill()
    main_file(first).write_bytes(content + b'{"type":"us')  # what a crash in that moment leaves
    model = ScriptedModel(["Done."])
    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "r", resume=first.id, ports=virtual_ports(1)
    ) as second:
        assert second.was_cut
        assert (await second.resume_turn()).text == "Done."

    (request,) = model.requests
    assert faults_of(request.messages) == []
    assert [block for block in request.messages[-1].content if getattr(block, "content", "") == LOST_RESULT]
    assert request.messages[-1].text == CONTINUE
    loaded = load_conversation(main_file(second))
    assert faults_of(loaded.messages) == []
    assert not loaded.was_cut
    hidden = [line for line in read_transcript(main_file(second)) if line.get("isMeta")]
    assert [line["message"]["content"][0]["text"] for line in hidden] == [CONTINUE]
    assert violations_of(second) == []


async def test_an_agent_of_an_earlier_process_goes_on_under_its_id(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-87."""
    folder = make_folder(tmp_path / "project")
    async with open_session(
        model=playbook(), cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
    ) as first:
        await survey(first, mates=1)
        mate_id = first.agents.all()[1].id
    before = load_conversation(first.run_folder / "transcripts" / f"agent-{mate_id}.jsonl")
    model = ScriptedModel({"mate": ["I said what I know."]})
    async with open_session(
        model=model, cwd=folder, runs=tmp_path / "runs", main=LEAD, resume="last", ports=virtual_ports(1)
    ) as second:
        ref = await second.agents.resume(mate_id, definition=MATE, text="What else?")
        with pytest.raises(UsageError, match="belongs to this process"):
            await second.agents.resume(mate_id, definition=MATE)
        await second.wait_quiet()
        assert ref.id == mate_id

    (request,) = model.requests
    assert request.messages[: len(before.messages)] == before.messages
    assert len(before.messages) > ITEMS
    assert violations_of(second) == []


@pytest.mark.parametrize("agent_id", ["a0000000000000000", "../main", "main"])
async def test_an_agent_that_the_run_does_not_have_is_refused_and_nothing_is_stuck(
    tmp_path: Path, autojump_clock: MockClock, agent_id: str
) -> None:
    """CL-34."""
    definition = AgentDefinition(name="x")
    async with open_session(model=ScriptedModel([]), cwd=tmp_path, runs=tmp_path, ports=virtual_ports()) as session:
        for _ in range(2):  # the second one is refused for the same reason
            with pytest.raises(UsageError, match=r"no conversation of an agent|is not an agent id"):
                await session.agents.resume(agent_id, definition=definition)


@pytest.mark.parametrize("run", ["last", "20260101-000000-aaaaaa", "nonsense"])
async def test_a_session_that_is_not_there_is_refused_in_the_words_of_the_product(tmp_path: Path, run: str) -> None:
    """Behaviours (10), line 6."""
    with pytest.raises(UsageError, match=f"^No conversation found with session ID: {run}$"):
        async with open_session(model=ScriptedModel([]), cwd=tmp_path, runs=tmp_path / "runs", resume=run):
            raise AssertionError


async def test_an_answer_that_was_cut_off_is_resumed(tmp_path: Path, autojump_clock: MockClock) -> None:
    """What a killed process leaves of an answer is no end of the turn."""
    cut = ProviderError("cut", kind="cut")
    model = ScriptedModel([ScriptStep(answer="one two three four", error=cut, error_after=3)])
    async with open_session(model=model, cwd=tmp_path, runs=tmp_path / "r", ports=virtual_ports()) as first:
        with pytest.raises(TurnFailed) as caught:
            await first.run("Count.")
    model = ScriptedModel(["five"])
    async with open_session(
        model=model, cwd=tmp_path, runs=tmp_path / "r", resume="last", ports=virtual_ports(1)
    ) as second:
        assert second.was_cut
        await second.resume_turn()

    assert caught.value.partial
    assert [message.text for message in model.requests[0].messages] == ["Count.", caught.value.partial, CONTINUE]
    assert not load_conversation(main_file(second)).was_cut


async def test_a_fork_goes_on_in_a_run_of_its_own(tmp_path: Path) -> None:
    """Behaviours (10), line 7. Mechanism: the conversation is copied, and nothing else is opened."""
    told = tmp_path / "told"
    handler = {"type": "command", "command": f"cat >> {told}"}
    options: dict[str, Any] = {"cwd": tmp_path, "runs": tmp_path / "runs"}
    settings = {"hooks": {"SessionStart": [{"hooks": [handler]}]}}
    async with open_session(model=ScriptedModel(["One."]), **options) as first:
        await first.run("First.")
    before = {path: path.read_bytes() for path in first.run_folder.rglob("*") if path.is_file()}

    model = ScriptedModel(["Two."], keeps_requests=True)
    async with open_session(model=model, resume=Fork(first.id), settings=settings, **options) as second:
        await second.run("Second.")

    assert second.id != first.id
    assert {path: path.read_bytes() for path in first.run_folder.rglob("*") if path.is_file()} == before
    assert [message.text for message in model.requests[0].messages] == ["First.", "One.", "Second."]
    lines = [json.loads(line) for line in (second.run_folder / "transcripts/main.jsonl").read_text().splitlines()]
    assert {line["sessionId"] for line in lines} == {second.id}
    assert len(lines) == 4
    assert json.loads(told.read_text())["source"] == "fork"
    async with open_session(model=ScriptedModel(["Three."]), resume=second.id, **options) as again:
        assert (await again.run("Third.")).text == "Three."


async def test_the_last_session_is_the_last_that_has_a_conversation(tmp_path: Path, autojump_clock: MockClock) -> None:
    """One that ended before there was any is nothing to go on with, and in nobody's way."""
    runs = tmp_path / "runs"
    async with open_session(model=ScriptedModel(["One."]), cwd=tmp_path, runs=runs, ports=virtual_ports()) as first:
        await first.run("First.")
    async with open_session(model=ScriptedModel([]), cwd=tmp_path, runs=runs, ports=virtual_ports(1)) as second:
        pass
    main_file(second).unlink(missing_ok=True)
    model = ScriptedModel(["Two."])
    async with open_session(model=model, cwd=tmp_path, runs=runs, resume="last", ports=virtual_ports(2)) as third:
        assert third.id == first.id
        await third.run("Second.")


async def test_an_archived_conversation_is_forked_and_not_resumed(tmp_path: Path) -> None:
    options: dict[str, Any] = {"cwd": tmp_path, "runs": tmp_path / "runs"}
    async with open_session(model=ScriptedModel(["One."]), **options) as first:
        await first.run("First.")
    transcripts = first.run_folder / "transcripts"
    archived = transcripts / "main.jsonl.deleted.2026-11-22T07-31-05.123Z"
    (transcripts / "main.jsonl").rename(archived)

    with pytest.raises(UsageError, match="archived"):
        async with open_session(model=ScriptedModel([]), resume=first.id, **options):
            pass
    model = ScriptedModel(["Two."], keeps_requests=True)
    async with open_session(model=model, resume=Fork(first.run_folder), **options) as second:
        await second.run("Second.")

    assert [message.text for message in model.requests[0].messages] == ["First.", "One.", "Second."]
    assert [path.name for path in transcripts.iterdir()] == [archived.name]
    assert find_run(str(archived), tmp_path) == first.run_folder / JOURNAL
    assert find_run(str(transcripts / "main.jsonl"), tmp_path) == first.run_folder / JOURNAL

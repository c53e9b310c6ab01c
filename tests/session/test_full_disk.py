"""A disk that fills up in the middle of a session: nothing is reported as done that is not on record."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import ActorCreated
from greenroom.agents import Note
from greenroom.core import JournalError, event_of
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, ToolResultBlock
from greenroom.session import open_session
from greenroom.teams import ItemStatus
from greenroom.teams._board_messages import CreateItem
from greenroom.testing import virtual_ports
from tests.session.small_team import LEAD, MATE, make_folder
from tests.trace.disks import FillingDisk


async def test_spawns_and_claims_are_refused_and_the_end_says_what_is_missing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-111."""
    disk = FillingDisk()
    model = PlaybookModel({"lead": lambda _: "I could.", "mate": lambda _: "idle"})
    ports = attrs.evolve(virtual_ports(), disk=disk)
    with pytest.raises(JournalError, match="No space left"):
        async with open_session(
            model=model, cwd=make_folder(tmp_path / "p"), runs=tmp_path / "runs", main=LEAD, ports=ports
        ) as session:
            async with session.open_team("t") as team:
                await team.spawn("ann", definition=MATE)
                disk.is_full = True
                await trio.sleep(2)
                with pytest.raises(JournalError):
                    await team.spawn("bob", definition=MATE)  # the first that the disk refuses
                with pytest.raises(JournalError):
                    await team.spawn("cid", definition=MATE)
                created = [
                    event_of(record) for record in session.runtime.recorder.latest() if record[2] is ActorCreated
                ]
                names = [event.path.rpartition("/")[2] for event in created if isinstance(event, ActorCreated)]
                assert "bob" in names
                assert "cid" not in names, "nothing begins when it is known that nothing can be put on record"
                await trio.sleep(1)
                assert list(team.teammates) == ["ann"]
                assert [ref.path.rpartition("/")[2] for ref in team.supervisor.children()] == ["board", "ann"]
                with pytest.raises(JournalError):
                    await session.run("Try.")
                assert team.board.items() == ()
                await team.board.ref.ask(CreateItem(subject="one", description="", by="host"))
                await trio.sleep(1)
                assert [item.status for item in team.board.items()] == [ItemStatus.PENDING], "nobody may claim it"


async def test_calls_that_a_full_disk_meets_are_refused_and_no_model_is_asked_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-111: the disk fills up while the model thinks."""
    disk, asked = FillingDisk(), 0

    def lead(_: ModelRequest) -> AnswerLike:
        nonlocal asked
        asked += 1
        disk.is_full = True
        return [
            Call("TaskCreate", {"subject": "one", "description": ""}),
            Call("SendMessage", {"to": "ann", "message": "hello"}),
        ]

    model = PlaybookModel({"lead": lead, "mate": lambda _: "idle"})
    ports = attrs.evolve(virtual_ports(), disk=disk)
    with pytest.raises(JournalError, match="No space left"):
        async with open_session(
            model=model, cwd=make_folder(tmp_path / "p"), runs=tmp_path / "runs", main=LEAD, ports=ports
        ) as session:
            async with session.open_team("t") as team:
                await team.spawn("ann", definition=MATE)
                with pytest.raises(JournalError):
                    await session.run("Try.")
                home = session.agents.pool.main_home
                assert home is not None
                assert home.conversation is not None
                seen = [
                    block.content
                    for block in home.conversation.messages[-1].content
                    if isinstance(block, ToolResultBlock)
                ]
                session.main.tell(Note("Try again."))
                await session.wait_quiet()

    assert asked == 1
    assert len(seen) == 2
    assert "No space left" in seen[0]
    assert "nothing was sent" in seen[1]


async def test_an_agent_that_a_person_stops_makes_room_all_the_same(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record cannot even be kept for later; what waits for its place is told so, and does not wait forever."""
    disk = FillingDisk()

    with pytest.raises(JournalError, match="No space left"):
        async with open_session(
            model=PlaybookModel({"main": lambda _: "done", "general-purpose": lambda _: "done"}, wait_s=60),
            cwd=make_folder(tmp_path / "p"),
            runs=tmp_path / "runs",
            ports=attrs.evolve(virtual_ports(), disk=disk),
            settings={"delegation": {"max_running": 1}},
        ) as session:
            first = await session.spawn("general-purpose", "a", background=True)
            second = await session.spawn("general-purpose", "b", background=True)
            await trio.sleep(5)
            disk.is_full = True
            with pytest.raises(JournalError):
                await session.spawn("general-purpose", "c", background=True)
            monkeypatch.setattr("greenroom.trace._journal.PENDING_BYTES", 0)
            assert first.kill()
            with trio.fail_after(5):
                results = [await first.wait_finished(), await second.wait_finished()]

    assert [result.state for result in results] == ["killed", "failed"]
    assert "No space left" in results[1].error

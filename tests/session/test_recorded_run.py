"""A recorded run is run again without its model, and says where it is another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from greenroom.core import TurnFailed
from greenroom.core.ports import Ports
from greenroom.models import Call, Model, ModelRequest, PlaybookModel
from greenroom.models.recordings import MODEL_FILE, RecordedModel, ReplayMismatch, read_recording, recording
from greenroom.session import open_session
from greenroom.teams import ItemStatus
from greenroom.testing import check_cache_prefixes, run_virtual, virtual_ports
from tests.session.small_team import ITEMS, LEAD, make_folder, playbook, survey

if TYPE_CHECKING:
    from greenroom.models import AnswerLike


def recorder(model: Model, file: Path) -> Model:
    def write(lines: bytes) -> None:
        with file.open("ab") as opened:
            opened.write(lines)

    return recording(model, write)


def transcripts(run_folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (run_folder / "transcripts").iterdir()}


def test_a_team_that_is_run_again_says_the_same(tmp_path: Path) -> None:
    """Every transcript is the same to the byte, since time and ids are the same as well."""
    folder, file = make_folder(tmp_path / "project"), tmp_path / MODEL_FILE

    async def run(model: Model, runs: str) -> dict[str, str]:
        async with open_session(
            model=model, cwd=folder, runs=tmp_path / runs, main=LEAD, ports=virtual_ports()
        ) as session:
            assert await survey(session) == (ItemStatus.COMPLETED,) * ITEMS
        return transcripts(session.run_folder)

    first = run_virtual(run, recorder(playbook(), file), "first").result
    recorded = read_recording(file)
    replayed = RecordedModel(recorded)
    again = run_virtual(run, replayed, "second").result

    assert again == first
    assert len({exchange.agent for exchange in recorded.exchanges}) == 4
    replayed.assert_done()


def read_and_say(request: ModelRequest) -> AnswerLike:
    """Read the file, and say what is in it."""
    if len(request.messages) == 1:
        return Call("Read", {"file_path": "a.txt"})
    return f"It says {request.messages[-1].content[0]!r}."


async def ask(model: Model, folder: Path, runs: Path) -> str:
    async with open_session(model=model, cwd=folder, runs=runs, ports=Ports()) as session:
        return (await session.run("What does a.txt say?")).text


async def test_an_agent_has_another_id_in_another_run(tmp_path: Path) -> None:
    folder, file = make_folder(tmp_path / "project"), tmp_path / MODEL_FILE
    model = PlaybookModel({"main": read_and_say})
    with trio.fail_after(30):
        said = await ask(recorder(model, file), folder, tmp_path / "first")
        replayed = RecordedModel(read_recording(file))
        assert await ask(replayed, folder, tmp_path / "second") == said
    replayed.assert_done()


async def test_what_a_tool_says_otherwise_is_told(tmp_path: Path) -> None:
    """And not hidden behind the turn that it fails."""
    folder, file = make_folder(tmp_path / "project"), tmp_path / MODEL_FILE
    with trio.fail_after(30):
        await ask(recorder(PlaybookModel({"main": read_and_say}), file), folder, tmp_path / "first")
        (folder / "a.txt").write_text("b\n")
        replayed = RecordedModel(read_recording(file))
        with pytest.raises(TurnFailed) as caught:
            await ask(replayed, folder, tmp_path / "second")

    error = caught.value.__cause__
    assert isinstance(error, ReplayMismatch)
    assert (error.path, error.number) == ("messages[2].content[0].content", 2)
    assert str(error).endswith(r"was '     1\ta' and is '     1\tb'")


def test_the_requests_of_a_team_begin_with_the_ones_before_them(tmp_path: Path) -> None:
    """RC-117, on recorded requests."""
    folder, file = make_folder(tmp_path / "project"), tmp_path / MODEL_FILE

    async def run() -> None:
        model = recorder(playbook(), file)
        async with open_session(
            model=model, cwd=folder, runs=tmp_path / "runs", main=LEAD, ports=virtual_ports()
        ) as session:
            await survey(session)

    run_virtual(run)

    exchanges = read_recording(file).exchanges
    compared = check_cache_prefixes(exchanges)
    assert compared == len(exchanges) - 4

"""A run of one agent with tools is done again from its record."""

from __future__ import annotations

from pathlib import Path

from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.reruns import rerun
from greenroom.session import Session, open_session
from greenroom.testing import run_virtual, virtual_ports

SETTINGS = {"record": "effects"}


def read_and_say(request: ModelRequest) -> AnswerLike:
    """Read two files at once, look for one that is missing, and say what is in them."""
    if len(request.messages) == 1:
        return [Call("Read", {"file_path": "a.txt"}), Call("Read", {"file_path": "b.txt"})]
    if len(request.messages) == 3:
        return Call("Read", {"file_path": "missing.txt"})
    return f"They say {request.messages[2].content!r} and {request.messages[-1].content[0]!r}."


async def program(session: Session) -> None:
    await session.run("What do the files say?")


def record(folder: Path, model: PlaybookModel) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    (folder / "b.txt").write_text("b\n")

    async def run() -> Path:
        async with open_session(
            model=model, cwd=folder, runs=folder / "runs", settings=SETTINGS, ports=virtual_ports()
        ) as session:
            await program(session)
        return session.run_folder

    return run_virtual(run).result


def test_results_of_tools_come_from_the_record(tmp_path: Path) -> None:
    run = record(tmp_path / "project", PlaybookModel({"main": read_and_say}))
    (tmp_path / "project" / "a.txt").write_text("changed\n")
    (tmp_path / "project" / "b.txt").unlink()

    again = rerun(run, program)

    assert again.difference is None
    assert again.is_equal
    assert (again.run / "journal.jsonl").is_file()

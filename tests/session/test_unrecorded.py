"""Nothing that is not on record is sent to a model, wherever the disk refuses; and a call that a crash cut says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import INTERRUPTED
from greenroom.agents._blocks import LOST_RESULT
from greenroom.agents._repair import faults_of
from greenroom.core import GreenroomError, UsageError
from greenroom.core.ports import Disk, Ports, SystemDisk
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, ToolResultBlock
from greenroom.session import open_session
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from tests.session.crashes import RecordingDisk, recording_ports

EFFECTS: Final = ("first", "second", "third")


class RefusingDisk:
    """A disk that refuses every append from one of them on, the first in the middle of its bytes."""

    append_all = Disk.append_all

    def __init__(self, appends: int, part: float) -> None:
        self._left = appends
        self._part = part
        self._disk = SystemDisk()
        self.make_folder = self._disk.make_folder
        self.read = self._disk.read
        self.size = self._disk.size
        self.write = self._disk.write
        self.sync = self._disk.sync
        self.close = self._disk.close

    def append(self, path: Path, content: bytes) -> None:
        self._left -= 1
        if self._left >= 0:
            self._disk.append(path, content)
        elif self._left == -1:
            self._disk.append(path, content[: int(len(content) * self._part)])
            raise OSError(28, "No space left on device")
        else:
            raise OSError(28, "No space left on device")


@attrs.define
class Watched:
    """A conversation whose model looks, at each request, whether all that it is sent is on disk."""

    folder: Path
    unrecorded: list[str] = attrs.field(factory=list)
    requests: list[ModelRequest] = attrs.field(factory=list)
    effects: list[str] = attrs.field(factory=list)

    def model(self) -> PlaybookModel:
        return PlaybookModel({"main": self._main, "general-purpose": self._child})

    def tools(self) -> list[Any]:
        @tool(name="Touch")
        async def touch(what: str) -> str:
            """Have an effect."""
            self.effects.append(what)
            await trio.sleep(1)
            return f"{what} was touched"

        @tool(name="Wait")
        async def wait() -> str:
            """Take long."""
            await trio.sleep(1_000)
            return "waited"

        return [touch, wait]

    def note(self, request: ModelRequest) -> AnswerLike:
        """Answer at once."""
        self.requests.append(request)
        return "Fine."

    def _look(self, request: ModelRequest) -> None:
        self.requests.append(request)
        lines = "".join(path.read_text() for path in self.folder.glob("*/transcripts/*.jsonl"))
        for message in request.messages:
            for block in message.content:
                text = getattr(block, "text", "") or getattr(block, "content", "") or getattr(block, "id", "")
                if json.dumps(text)[1:-1] not in lines and json.dumps(text, ensure_ascii=False)[1:-1] not in lines:
                    self.unrecorded.append(text)

    def _main(self, request: ModelRequest) -> AnswerLike:
        self._look(request)
        match len(request.messages):
            case 1:
                return [Call("Touch", {"what": effect}) for effect in EFFECTS]
            case 3:
                return [Call("Touch", {"what": "last"}), Call("Wait", {})]
        return "Done."

    def _child(self, request: ModelRequest) -> AnswerLike:
        self._look(request)
        return Call("Touch", {"what": "child"}) if len(request.messages) == 1 else "Done."


async def run_once(watched: Watched, cwd: Path, ports: Ports, **options: Any) -> None:
    """Open a session, give it a prompt and an agent in the background, and leave it after a while."""
    async with open_session(
        model=watched.model(),
        cwd=cwd,
        runs=watched.folder,
        tools=watched.tools(),
        ports=ports,
        permission_mode="bypassPermissions",
        **options,
    ) as session:
        await session.spawn("general-purpose", "look", background=True)
        with trio.move_on_after(10):
            await session.run("go")


@pytest.mark.parametrize(("first", "part"), [(0, 0.0), (2, 0.5)])
async def test_no_model_is_sent_what_a_refusing_disk_does_not_hold(
    first: int, part: float, tmp_path: Path, autojump_clock: MockClock
) -> None:
    cwd = tmp_path / "project"
    cwd.mkdir()
    asked, failed = set(), 0
    for appends in range(first, 60, 4):
        watched = Watched(tmp_path / f"runs-{appends}")
        ports = attrs.evolve(virtual_ports(appends), disk=RefusingDisk(appends, part))
        try:
            await run_once(watched, cwd, ports)
        except GreenroomError:
            failed += 1
        assert (appends, watched.unrecorded) == (appends, [])
        asked.add(len(watched.requests))

    assert failed > 5, "the disk refused while the session ran"
    assert len(asked) > 3, "at different places"


async def test_calls_of_a_process_that_crashed_anywhere_read_so_and_keep_known_results(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    cwd, disk = tmp_path / "project", RecordingDisk()
    cwd.mkdir()
    first = Watched(tmp_path / "runs")
    await run_once(first, cwd, recording_ports(disk))
    (run,) = (tmp_path / "runs").iterdir()
    lost = kept = 0
    for count in range(1, len(disk.writes), 2):
        left = disk.restore(count, run, tmp_path / "crashed")
        if not (left / "transcripts" / "main.jsonl").exists():
            continue
        watched = Watched(tmp_path / "crashed")
        try:
            async with open_session(
                model=PlaybookModel({"main": watched.note}),
                cwd=cwd,
                runs=tmp_path / "crashed",
                resume=left,
                ports=virtual_ports(count),
            ) as session:
                await session.run("And now?")
        except UsageError:  # the crash came before there was a conversation
            continue
        request = watched.requests[-1]
        assert faults_of(request.messages) == []
        results = [
            block for message in request.messages for block in message.content if isinstance(block, ToolResultBlock)
        ]
        if count < first_interrupt(disk):
            assert INTERRUPTED not in {result.content for result in results}, count
        lost += sum(result.content == LOST_RESULT for result in results)
        kept += sum(result.content.endswith("was touched") for result in results)

    assert lost > 3
    assert kept > 3


def first_interrupt(disk: RecordingDisk) -> int:
    """Return the number of the write that says what the host did: it left the session while a call ran."""
    return next(number for number, (_, content, _) in enumerate(disk.writes) if INTERRUPTED.encode() in content)

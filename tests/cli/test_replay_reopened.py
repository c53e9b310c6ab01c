"""`greenroom replay` of a run that one process began, which was killed, and another one went on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents.events import AgentDefined, ModelBegan, ModelEnded
from greenroom.cli import main
from greenroom.session import EVENTS, SessionBegan, SessionEnded
from greenroom.supervisor import Runtime, open_runtime
from greenroom.trace import JOURNAL, Journal, open_journal
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, Double, Worker, fixed_schedule, make_ports, unlocked

RUN: Final = "20261120-225103-k3f9qz"
FILE: Final = FOLDER / JOURNAL
USAGE: Final[dict[str, Any]] = {
    "input_tokens": 10,
    "output_tokens": 1,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


async def _work(runtime: Runtime, journal: Journal) -> None:
    """One agent with a request of the model, and mail."""
    emit = journal.recorder.emit
    agent = await runtime.spawn(Worker, name="main")
    about: dict[str, Any] = {"actor": agent.id, "inc": 1, "turn": 1, "round": 1}
    emit(AgentDefined(actor=agent.id, inc=1, definition="lead", model="playbook", transcript=""))
    emit(ModelBegan(**about, messages=1))
    emit(ModelEnded(**about, **USAGE, state="completed", stop_reason="end_turn", error=""))
    agent.tell(0.5)
    agent.tell(0.5)
    assert await agent.ask(Double(2)) == 4


def run(disk: MemoryDisk, seed: int) -> bytes:
    """Write a whole session onto a disk, at the end of what is there, and return the journal."""

    async def session() -> None:
        ports = make_ports(disk, seed)
        async with open_journal(FOLDER, ports=ports, catalog=EVENTS, lock=unlocked) as journal:
            journal.recorder.emit(SessionBegan(session=RUN, model="playbook", cwd="."))
            async with open_runtime(ports=ports, recorder=journal.recorder) as runtime:
                await _work(runtime, journal)
            journal.recorder.emit(SessionEnded(state="completed", error=""))

    with fixed_schedule():
        trio.run(session, clock=MockClock(autojump_threshold=0))
    return disk.files[FILE]


def reopened(*, torn_bytes: int, seed: int) -> tuple[bytes, int]:
    """Return a journal of two processes, and the number of the first event of the second one.

    The first one was killed while a turn was open and a message waited; its last line is torn.
    """
    disk = MemoryDisk()
    lines = run(disk, 1).splitlines(keepends=True)
    cut = next(place for place, line in enumerate(lines) if json.loads(line).get("ev") == "turn.begin") + 1
    disk.files[FILE] = b"".join(lines[:cut]) + lines[cut][:torn_bytes]
    return run(disk, seed), cut


@pytest.fixture(params=[(0, 1), (7, 1), (7, 2)], ids=["whole-same-ids", "torn-same-ids", "torn-other-ids"])
def second_begin(request: pytest.FixtureRequest, tmp_path: Path) -> int:
    torn_bytes, seed = request.param
    content, first = reopened(torn_bytes=torn_bytes, seed=seed)
    folder = tmp_path / RUN
    folder.mkdir()
    (folder / JOURNAL).write_bytes(content)
    return first


def replay(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["replay", RUN, *arguments, "--runs", str(tmp_path), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_summary_counts_both_processes(
    second_begin: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, facts = replay(tmp_path, capsys)

    assert (code, facts["processes"], facts["torn_bytes"], facts["faults"]) == (0, 2, 0, [])
    assert facts["end"]["state"] == "completed"
    assert facts["spans"]["model"]["outcomes"] == {"completed": 2}
    assert facts["tokens"] == {"input_tokens": 20, "output_tokens": 2}


def test_a_run_that_was_killed_and_resumed_is_sound(
    second_begin: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, facts = replay(tmp_path, capsys, "--check")

    assert facts["violations"] == []
    assert (code, facts["has_ended"], facts["open"]) == (0, True, [])


def test_every_moment_of_both_processes_can_be_shown(
    second_begin: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, summary = replay(tmp_path, capsys)
    for seq in range(1, summary["events"] + 1):
        code, facts = replay(tmp_path, capsys, "--at", str(seq))
        assert (code, facts["seq"], facts["faults"]) == (0, seq, [])


def test_what_the_first_process_left_open_is_lost_when_the_second_begins(
    second_begin: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, before = replay(tmp_path, capsys, "--at", str(second_begin - 1))
    _, after = replay(tmp_path, capsys, "--at", str(second_begin))

    assert after["event"]["ev"] == "session.begin"
    busy = [view["path"] for view in before["sections"]["actors"].values() if view["turn_msg"]]
    assert [path.rpartition("/")[2] for path in busy] == ["main"]
    assert not any(view["is_lost"] for view in before["sections"]["actors"].values())
    assert all(view["is_lost"] for view in after["sections"]["actors"].values() if not view["is_gone"])

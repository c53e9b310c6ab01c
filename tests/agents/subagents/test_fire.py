"""Every cell of the matrix of `tools/fire`, and kills at any moment."""

from __future__ import annotations

import tempfile
from pathlib import Path

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.core import JournalError
from greenroom.models import PlaybookModel
from greenroom.session import open_session
from greenroom.testing import virtual_ports
from tests.trace.disks import FillingDisk
from tools.fire.expected import Fault, Moment, Work, expected
from tools.fire.stage import CELLS, MARK, Cell, FireModel, Stage, faults_on_disk, play_virtually


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "-".join(cell).replace(" ", "_"))
def test_what_comes_of_work_under_fire_is_told_once_and_as_it_is(cell: Cell, tmp_path: Path) -> None:
    """RC-04, RC-50: one end, one notice or result with all that was said, conversations that can be resumed."""
    seen = play_virtually(cell, tmp_path)

    assert seen.problems(expected(*cell)) == []


@settings(max_examples=25)
@given(work=st.sampled_from([work for work in Work if work is not Work.SHELL]), tenths=st.integers(0, 90))
def test_a_kill_at_any_moment_wins_or_loses_and_is_told_once(work: Work, tenths: int) -> None:
    """RC-04, RC-10: whether the work had ended is decided once, and the one notice or result says so."""
    with tempfile.TemporaryDirectory() as folder:
        seen = play_virtually((work, Fault.KILL, Moment.FIRST), Path(folder), kill_s=tenths / 10)

    assert seen.task is not None
    assert seen.faults == []
    assert seen.task.state in {"completed", "killed"}
    assert seen.told == ("result" if work is Work.FOREGROUND else "notice")
    assert seen.error is None


async def test_on_a_full_disk_the_host_starts_no_agent(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-111: what cannot be put on record does not begin, and the host is told why."""
    disk = FillingDisk()
    model = PlaybookModel({"worker": lambda _: "done"})
    worker = AgentDefinition(name="worker", system_prompt="You work.")
    ports = attrs.evolve(virtual_ports(), disk=disk)
    with pytest.raises(JournalError, match="No space left"):
        async with open_session(model=model, cwd=tmp_path, runs=tmp_path / "runs", ports=ports) as session:
            disk.is_full = True
            await trio.sleep(2)
            with pytest.raises(JournalError):  # the first that the disk refuses
                await session.spawn(worker, "Work.", background=True)
            begun = len(session.agents.pool.subagents)
            with pytest.raises(JournalError):
                await session.spawn(worker, "Work.", background=True)
            assert len(session.agents.pool.subagents) == begun


async def test_a_session_may_end_while_a_command_runs(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Its end is on record: after that of all agents, before that of the session."""
    stage = Stage(work=Work.SHELL, fault=Fault.HANG, moment=Moment.FIRST)
    async with trio.open_nursery() as stage.nursery:
        async with open_session(
            model=FireModel(stage), cwd=tmp_path, runs=tmp_path / "runs", tools=stage.tools(), ports=virtual_ports()
        ) as session:
            await session.run(MARK)
        stage.nursery.cancel_scope.cancel()

    assert stage.seen.task is not None
    assert stage.seen.task.state == "killed"
    assert faults_on_disk(session.run_folder, is_whole=True) == []

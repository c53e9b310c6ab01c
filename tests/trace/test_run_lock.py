"""The lock of a run: one process writes, and the next may as soon as that one has ended, whatever it forked before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final, Self

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.core import JournalError
from greenroom.core.ports import InlineBlocking, Ports, SystemDisk
from greenroom.trace import hold_run, open_journal

HOLDER: Final = """
import os, signal, sys
from pathlib import Path
from greenroom.trace import hold_run

with hold_run(Path(sys.argv[1])):
    if os.fork() == 0:  # like a child between fork and exec, it has the lock's file open
        os.read(0, 1)
        os._exit(0)
    print("held", flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    os.read(0, 1)
"""


class Holder:
    """A process that holds the lock of a run, and a child that it has forked."""

    def __init__(self, folder: Path, how: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"
        if how == "killed":
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End both processes."""
        if self.process.stdout is not None and not self.process.stdout.closed:
            self.process.communicate()  # its input ends, and its output ends when nobody is left


async def begin(folder: Path) -> None:
    async with open_journal(folder, ports=Ports(disk=SystemDisk(), blocking=InlineBlocking())):
        pass


async def test_a_run_is_free_once_the_child_of_a_killed_process_has_let_go(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    with Holder(tmp_path, "killed") as holder:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(begin, tmp_path)
            await wait_all_tasks_blocked()
            holder.end()
            mock_clock.jump(1)


async def test_a_run_whose_lock_stays_held_is_refused_after_a_moment(tmp_path: Path, autojump_clock: MockClock) -> None:
    with Holder(tmp_path, "killed") as holder:
        with pytest.raises(JournalError, match=rf"another process writes this run \(pid {holder.process.pid}\)"):
            await begin(tmp_path)

    assert 0.1 < trio.current_time() < 1


async def test_a_run_that_a_live_process_writes_is_refused_at_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    with Holder(tmp_path, "alive"):
        with pytest.raises(JournalError, match="another process writes this run"), hold_run(tmp_path):
            raise AssertionError
        with pytest.raises(JournalError, match="another process writes this run"):
            await begin(tmp_path)

    assert trio.current_time() == 0

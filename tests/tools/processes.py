"""Helpers for the tests of processes: processes that are really there, and a look at who is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import trio

from greenroom.core.ports import SystemIds, ThreadBlocking
from greenroom.tools import SystemProcesses, open_processes

PYTHON_TREE = """
import os, signal, subprocess, sys, time
depth = int(sys.argv[1])
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if depth:
    for _ in range(2):
        subprocess.Popen([sys.executable, "-S", __file__, str(depth - 1), *sys.argv[2:]])
with open(sys.argv[3], "a") as file:
    file.write(f"{os.getpid()}\\n")
time.sleep(1000)
"""


def system_processes(folder: Path, **more: Any) -> AbstractAsyncContextManager[SystemProcesses]:
    options = {"mark": "test", "grace_s": 0.3, **more}
    return open_processes(blocking=ThreadBlocking(), ids=SystemIds(), folder=folder / "tasks", **options)


def tree_program(folder: Path) -> Path:
    """Write a program that starts two of itself, so deep, notes its number in a file, and sleeps."""
    program = folder / "tree.py"
    program.write_text(PYTHON_TREE)
    return program


def numbers_in(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except OSError:
        return False


def members(group: int) -> list[int]:
    """The processes of a group that run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            is_member = os.getpgid(int(entry.name)) == group
        except OSError:
            continue
        if is_member and is_running(int(entry.name)):
            found.append(int(entry.name))
    return found


def marked(value: bytes) -> list[int]:
    """The running processes with this in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if value in (entry / "environ").read_bytes() and is_running(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something in the world outside; bounded."""
    with trio.fail_after(60):
        while not is_so():  # noqa: ASYNC110 - what is waited for has no event in this process
            await trio.sleep(0.01)


def end(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue

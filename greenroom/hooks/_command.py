"""Running a command: a process group of its own, told on stdin, ended with whoever waits for it.

Rule 1: when `run_command` is left in any way, the whole group has been ended: TERM, a grace, KILL. What wants to live
longer has to make a session of its own. Rule 2: its environment is what it is given, nothing of ours. Rule 3: more output
than is kept is read all the same, so that nobody waits for a full pipe.
Must not know: hooks.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, final

import attrs
import trio

KILL_GRACE_S: Final = 2.0
"""How long a process may take to end after TERM, and after KILL, before it is given up."""
KEPT_BYTES: Final = 1024 * 1024
"""What is kept of each of its two outputs."""
SHOWN_EVERY_S: Final = 1.0
_RECEIVE_BYTES: Final = 65_536
_SHELLS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "bash": (("bash", "-c"), ("sh", "-c")),
    "powershell": (("pwsh", "-NoProfile", "-NonInteractive", "-Command"), ("powershell", "-NoProfile", "-Command")),
}


class OnOutput(Protocol):
    """Takes what a process has printed so far; it may only store and wake."""

    def __call__(self, stdout: str, stderr: str, /, *, is_last: bool) -> None:
        """Take it; `is_last` says that nothing more comes."""
        ...


@final
@attrs.frozen(kw_only=True)
class Finished:
    """A process that has ended by itself."""

    exit_code: int
    """Below 0 for the number of the signal that ended it."""
    stdout: str
    stderr: str
    was_cut: bool
    """Whether it printed more than is kept."""


def shell_line(command: str, shell: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command line that has a shell run `command`; looks at the disk.

    Raises:
        FileNotFoundError: There is no such shell on the PATH of `environment`.
    """
    for program, *options in _SHELLS[shell]:
        found = shutil.which(program, path=environment.get("PATH", os.defpath))
        if found is not None:
            return (found, *options, command)
    raise FileNotFoundError(f"there is no {shell} on the PATH")


async def run_command(
    command: Sequence[str],
    *,
    told: str,
    cwd: Path,
    environment: Mapping[str, str],
    kill_grace_s: float = KILL_GRACE_S,
    on_output: OnOutput | None = None,
) -> Finished:
    """Run a command to its end and return what came of it.

    Cancelled, it ends the process group first, within two graces.

    Args:
        command: Program and arguments; a program without a slash is looked for on the PATH of `environment`.
        told: What it reads on stdin, which is closed after it.
        cwd: Where it runs.
        environment: All of its environment.
        kill_grace_s: Time between TERM and KILL, in seconds.
        on_output: Called with what it has printed, each second and at its end, however that comes; None: nobody looks.

    Raises:
        OSError: It could not be started.
    """
    process = await trio.lowlevel.open_process(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(environment),
        start_new_session=True,  # a group that can be ended as a whole, and no terminal to ask on
    )
    stdout, stderr = _Output(), _Output()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_tell, process, told.encode())
            nursery.start_soon(stdout.read, process.stdout)
            nursery.start_soon(stderr.read, process.stderr)
            if on_output is not None:
                nursery.start_soon(_show, stdout, stderr, on_output)
            await _wait_exited(process)
            # What it started may hold its pipes for as long as it likes: that is over now, but what is in them counts.
            _signal(process, signal.SIGTERM)
            with trio.move_on_after(kill_grace_s):
                await stdout.ended.wait()
                await stderr.ended.wait()
            nursery.cancel_scope.cancel()
    finally:
        if on_output is not None:
            on_output(stdout.text, stderr.text, is_last=True)
        with trio.CancelScope(shield=True):
            await _end(process, kill_grace_s)
    exit_code = process.returncode
    return Finished(
        exit_code=-signal.SIGKILL if exit_code is None else exit_code,
        stdout=stdout.text,
        stderr=stderr.text,
        was_cut=stdout.was_cut or stderr.was_cut,
    )


@final
class _Output:
    """One of the outputs, as far as it is kept."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.was_cut = False
        self.ended = trio.Event()

    @property
    def text(self) -> str:
        return self._kept.decode(errors="replace")

    async def read(self, stream: trio.abc.ReceiveStream | None) -> None:
        assert stream is not None
        try:
            while chunk := await stream.receive_some(_RECEIVE_BYTES):
                room = KEPT_BYTES - len(self._kept)
                self._kept += chunk[:room]
                self.was_cut = self.was_cut or len(chunk) > room
        finally:
            self.ended.set()


async def _show(stdout: _Output, stderr: _Output, on_output: OnOutput) -> None:
    while True:
        await trio.sleep(SHOWN_EVERY_S)
        on_output(stdout.text, stderr.text, is_last=False)


async def _tell(process: trio.Process, told: bytes) -> None:
    assert process.stdin is not None
    async with process.stdin:
        try:
            await process.stdin.send_all(told)
        except trio.BrokenResourceError:
            pass  # it did not want to know


async def _wait_exited(process: trio.Process) -> None:
    """Wait until the process has ended, if possible without reaping it: until then its group's number is not reused."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not on this system
        await process.wait()
        return
    try:
        await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def _signal(process: trio.Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left there (macOS says so with the second)


async def _end(process: trio.Process, kill_grace_s: float) -> None:
    _signal(process, signal.SIGTERM)
    with trio.move_on_after(kill_grace_s):
        await _wait_exited(process)
    _signal(process, signal.SIGKILL)
    with trio.move_on_after(kill_grace_s):
        await process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            await stream.aclose()

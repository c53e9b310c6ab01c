"""Running a command: a process group of its own, told on stdin, ended with whoever waits for it.

Rule 1: when `run_command` is left in any way, the whole group has been ended: TERM, a grace, KILL; unless it says that nobody
is to wait for it, and somebody takes it. What wants to live longer has to make a session of its own. Rule 2: its environment is what it is given, nothing of ours. Rule 3: more output
than is kept is read all the same, so that nobody waits for a full pipe.
Must not know: hooks.
"""

from __future__ import annotations

import codecs
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
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
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
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
    leaves: Callable[[str], bool] | None = None,
) -> Finished | Running:
    """Run a command to its end and return what came of it; or, where it says that nobody is to wait, return it while it runs.

    Cancelled, it ends the process group first, within two graces.

    Args:
        command: Program and arguments; a program without a slash is looked for on the PATH of `environment`.
        told: What it reads on stdin, which is closed after it.
        cwd: Where it runs.
        environment: All of its environment.
        kill_grace_s: Time between TERM and KILL, in seconds.
        on_output: Called with what it has printed, each second and at its end, however that comes; None: nobody looks.
        leaves: Says of what it has printed so far whether nobody is to wait for it; None: it is waited for in any case. It is asked
            until a line is complete.

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
    running = Running(process, kill_grace_s)
    if leaves is None:
        return await running.to_end(told, on_output)
    done: Finished | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.leave, leaves, nursery.cancel_scope)
            done = await running.to_end(told, on_output)
            nursery.cancel_scope.cancel("it has ended")
    except BaseException:
        if running.is_left:  # whoever was to take it is being ended, too
            with trio.CancelScope(shield=True):
                await running.end()
        raise
    return running if running.is_left else done


@final
class Running:
    """A process that runs. Made by `run_command`; whoever gets one has to call `to_end` before anything is waited for."""

    def __init__(self, process: trio.Process, kill_grace_s: float) -> None:
        self._process = process
        self._kill_grace_s = kill_grace_s
        self._stdout, self._stderr = _Output(), _Output()
        self._was_told = trio.Event()
        self._has_ended = False
        self.is_left = False
        """Whether it runs on without the one who started it."""

    @property
    def printed(self) -> str:
        """What it has printed so far."""
        return self._stdout.text

    async def to_end(self, told: str | None = None, on_output: OnOutput | None = None) -> Finished:
        """Wait for its end, and return what came of it. Cancelled, it ends the process group first, unless it is left.

        Args:
            told: What it reads; None where it has been told.
            on_output: As of `run_command`.
        """
        process, stdout, stderr = self._process, self._stdout, self._stderr
        self.is_left = False
        try:
            async with trio.open_nursery() as nursery:
                if told is not None:
                    nursery.start_soon(self._tell, told.encode())
                nursery.start_soon(stdout.read, process.stdout)
                nursery.start_soon(stderr.read, process.stderr)
                if on_output is not None:
                    nursery.start_soon(_show, stdout, stderr, on_output)
                await _wait_exited(process)
                self._has_ended = True
                # What it started may hold its pipes for as long as it likes: that is over now, but what is in them counts.
                _signal(process, signal.SIGTERM)
                with trio.move_on_after(self._kill_grace_s):
                    await stdout.ended.wait()
                    await stderr.ended.wait()
                nursery.cancel_scope.cancel()
        finally:
            if on_output is not None:
                on_output(stdout.text, stderr.text, is_last=True)
            if not self.is_left:
                with trio.CancelScope(shield=True):
                    await self.end()
        exit_code = process.returncode
        return Finished(
            exit_code=-signal.SIGKILL if exit_code is None else exit_code,
            stdout=stdout.text,
            stderr=stderr.text,
            was_cut=stdout.was_cut or stderr.was_cut,
        )

    async def leave(self, leaves: Callable[[str], bool], waits: trio.CancelScope) -> None:
        """End the wait for it, once what it prints first says so and it has read all that it is told."""
        while True:
            await self._stdout.grown.wait()
            self._stdout.grown = trio.Event()
            text = self._stdout.text
            if leaves(text):
                await self._was_told.wait()
                if not self._has_ended:
                    self.is_left = True
                    waits.cancel("nobody is to wait for it")
                return
            if "\n" in text.strip():
                return

    async def _tell(self, told: bytes) -> None:
        await _tell(self._process, told)
        self._was_told.set()

    async def end(self) -> None:
        """End the whole group."""
        await _end(self._process, self._kill_grace_s)


@final
class _Output:
    """One of the outputs, as far as it is kept."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.was_cut = False
        self.ended = trio.Event()
        self.grown = trio.Event()

    @property
    def text(self) -> str:
        return decoded(bytes(self._kept))

    async def read(self, stream: trio.abc.ReceiveStream | None) -> None:
        assert stream is not None
        while chunk := await stream.receive_some(_RECEIVE_BYTES):
            room = KEPT_BYTES - len(self._kept)
            self._kept += chunk[:room]
            self.was_cut = self.was_cut or len(chunk) > room
            self.grown.set()
        self.ended.set()


def decoded(printed: bytes) -> str:
    """Return the text that a program has printed: UTF-8, or UTF-16 where it begins as such."""
    for mark, name in _MARKS:
        if printed.startswith(mark):
            return printed[len(mark) :].decode(name, errors="replace")
    head = printed[:2]
    if len(head) == 2 and b"\0" in head and any(head):  # without a mark: half of the first character is empty
        return printed.decode("utf-16-be" if head[0] == 0 else "utf-16-le", errors="replace")
    return printed.decode(errors="replace")


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

"""Commands of hooks: each runs in a process group of its own, reads its input from stdin, and ends with its caller.

Rule 1: when `run_command` is left in any way, the whole group has ended (TERM, a grace period, KILL), unless the
process detached itself and a caller took it over. A process that is to live longer has to start a session of its own.
Rule 2: the environment is exactly the one given; nothing of ours is added. Rule 3: output beyond the limit is read and
dropped, so that no process blocks on a full pipe.

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
"""Seconds that a process may take to end after TERM, and again after KILL, before it is given up."""
KEPT_BYTES: Final = 1024 * 1024
"""Bytes kept of each of the two outputs."""
SHOWN_EVERY_S: Final = 1.0
_RECEIVE_BYTES: Final = 65_536
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SHELLS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "bash": (("bash", "-c"), ("sh", "-c")),
    "powershell": (("pwsh", "-NoProfile", "-NonInteractive", "-Command"), ("powershell", "-NoProfile", "-Command")),
}


class OnOutput(Protocol):
    """Callback for the output of a process so far; it may only store and wake."""

    def __call__(self, stdout: str, stderr: str, /, *, is_last: bool) -> None:
        """Receive the output; `is_last` is True if no more follows."""
        ...


@final
@attrs.frozen(kw_only=True)
class Finished:
    """A process that ended by itself."""

    exit_code: int
    """Negative for the number of the signal that ended it."""
    stdout: str
    stderr: str
    was_cut: bool
    """True if it printed more than is kept."""


def shell_line(command: str, shell: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command line that runs `command` in a shell; reads the disk.

    Raises:
        FileNotFoundError: The shell is not on the PATH of `environment`.
    """
    for program, *options in _SHELLS[shell]:
        found = shutil.which(program, path=environment.get("PATH", os.defpath))
        if found is not None:
            return (found, *options, command)
    raise FileNotFoundError(f"{shell} was not found on the PATH")


async def run_command(
    command: Sequence[str],
    *,
    stdin: str,
    cwd: Path,
    environment: Mapping[str, str],
    kill_grace_s: float = KILL_GRACE_S,
    on_output: OnOutput | None = None,
    leaves: Callable[[str], bool] | None = None,
) -> Finished | Running:
    """Run a command and return its result, or the running process if it detaches itself.

    On cancellation, the process group is ended first, within two grace periods.

    Args:
        command: Program and arguments; a program without a slash is looked up on the PATH of `environment`.
        stdin: Text for its stdin, which is closed afterwards.
        cwd: Its working directory.
        environment: Its complete environment.
        kill_grace_s: Time between TERM and KILL, in seconds.
        on_output: Called with the output so far, each second and at the end, however it ends; None disables it.
        leaves: Returns True if the output so far detaches the process; None if it cannot detach. It is called until a
            line
            is complete.

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
        start_new_session=True,  # a group that can be ended as a whole, without a terminal to prompt on
    )
    running = Running(process, kill_grace_s)
    if leaves is None:
        return await running.to_end(stdin, on_output)
    done: Finished | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.leave, leaves, nursery.cancel_scope)
            done = await running.to_end(stdin, on_output)
            nursery.cancel_scope.cancel("it has ended")
    except BaseException:
        if running.is_left:  # the task that was to take it over is being cancelled, too
            with trio.CancelScope(shield=True):
                await running.end()
        raise
    return running if running.is_left else done


@final
class Running:
    """A running process, made by `run_command`. Its owner must call `to_end` before awaiting anything else."""

    def __init__(self, process: trio.Process, kill_grace_s: float) -> None:
        self._process = process
        self._kill_grace_s = kill_grace_s
        self._stdout, self._stderr = _HandlerOutput(), _HandlerOutput()
        self._was_written = trio.Event()
        self._has_ended = False
        self.is_left = False
        """True if it continues without the task that started it."""

    @property
    def printed(self) -> str:
        """The output so far."""
        return self._stdout.text

    async def to_end(self, stdin: str | None = None, on_output: OnOutput | None = None) -> Finished:
        """Wait for its end and return the result. On cancellation, end the process group first unless it is detached.

        Args:
            stdin: Text for its stdin; None if that has been written.
            on_output: As for `run_command`.
        """
        process, stdout, stderr = self._process, self._stdout, self._stderr
        self.is_left = False
        try:
            async with trio.open_nursery() as nursery:
                if stdin is not None:
                    nursery.start_soon(self._write_stdin, stdin.encode())
                nursery.start_soon(stdout.read, process.stdout)
                nursery.start_soon(stderr.read, process.stderr)
                if on_output is not None:
                    nursery.start_soon(_show, stdout, stderr, on_output)
                await _wait_exited(process)
                self._has_ended = True
                # Processes that it started may hold its pipes as long as they like: ignore them, but use the output so
                # far.
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
        """Stop waiting for it once its first output detaches it and its input has been written."""
        while True:
            await self._stdout.grown.wait()
            self._stdout.grown = trio.Event()
            text = self._stdout.text
            if leaves(text):
                await self._was_written.wait()
                if not self._has_ended:
                    self.is_left = True
                    waits.cancel("the process detached itself")
                return
            if "\n" in text.strip():
                return

    async def _write_stdin(self, stdin: bytes) -> None:
        await _write_stdin(self._process, stdin)
        self._was_written.set()

    async def end(self) -> None:
        """End the whole group."""
        await _end(self._process, self._kill_grace_s)


@final
class _HandlerOutput:
    """One of the two outputs, up to the size limit."""

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
    """Return the text of an output: UTF-8, or UTF-16 if it begins with its byte order mark."""
    for mark, name in _MARKS:
        if printed.startswith(mark):
            return printed[len(mark) :].decode(name, errors="replace")
    head = printed[:2]
    if (
        len(head) == 2 and b"\0" in head and any(head)
    ):  # without a byte order mark: half of the first character is empty
        return printed.decode("utf-16-be" if head[0] == 0 else "utf-16-le", errors="replace")
    return printed.decode(errors="replace")


async def _show(stdout: _HandlerOutput, stderr: _HandlerOutput, on_output: OnOutput) -> None:
    while True:
        await trio.sleep(SHOWN_EVERY_S)
        on_output(stdout.text, stderr.text, is_last=False)


async def _write_stdin(process: trio.Process, stdin: bytes) -> None:
    assert process.stdin is not None
    async with process.stdin:
        try:
            await process.stdin.send_all(stdin)
        except trio.BrokenResourceError:
            pass  # it closed its stdin without reading


async def _wait_exited(process: trio.Process) -> None:
    """Wait until the process has ended, if possible without reaping it: until then its group id is not reused."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not supported on this system
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
        pass  # no process of the group is left (macOS reports the second)


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

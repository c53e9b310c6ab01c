"""Processes that tools start: each in a group of its own, which ends with the scope that runs it.

Rule 1: the input is empty, the output goes straight into a file: a process is never stopped by a reader that is busy, and
what it printed can be looked at meanwhile. Only what is talked to (`open_piped`) has pipes. Rule 2: however `run` is left,
nothing of the group is left: asked to end, given a grace, killed. Rule 3: the first process is not collected before the group has ended, so its number cannot be given to a
stranger meanwhile. Rule 4: the session's reaper knows every group while it lives.
Must not know: shells, tasks, agents.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.containment import ChildKind, Secrets, child_environment
from greenroom.core import make_private_folder, open_private, task_id, whole_path
from greenroom.core.ports import Blocking, Ids
from greenroom.tools._outputs import read_tail
from greenroom.tools._processes import ProcessEnd
from greenroom.tools._reaper import Reaper
from greenroom.tools._tool_errors import ToolError

GRACE_S: Final = 2.0
"""Time between asking a group to end and killing it."""
MAX_OUTPUT_BYTES: Final = 64 * 1024**2
"""A process that prints more is ended, unless a setting says otherwise."""
_LOOK_S: Final = 0.25
_FIRST_LOOK_S: Final = 0.01
_POLL_S: Final = 0.01
_KILL_S: Final = 5.0
_CLOSED_S: Final = 1.0
"""Time between closing the input of a program that is talked to and asking it to end."""
_LAST_WORDS: Final = 300
"""Number of characters shown of a program's last complaint."""
_PROC: Final = Path("/proc")
# No program that a tool starts has anybody to page for, to edit or to ask.
_UNATTENDED: Final = {
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
}


@final
@attrs.define(eq=False, kw_only=True)
class PipedProcess:
    """A program that is talked to. Made by `SystemProcesses.open_piped`; the block is what it lives in."""

    stdin: trio.abc.SendStream
    stdout: trio.abc.ReceiveStream
    pid: int
    """Its process id, which is that of its group."""
    wait_ended: Callable[[], Awaitable[None]] = attrs.field(repr=False)
    """Waits until it has ended by itself; one task at a time.

    Raises:
        ToolError: It complained too much, and is to be ended.
    """
    exit_code: int | None = None
    """The exit code, as in `ProcessEnd`; known when the block has been left, None if it had to be ended."""
    last_words: str = ""
    """The last that it complained about, once the block has been left."""


@final
@attrs.define(eq=False)
class _ProcessGroup:
    first: subprocess.Popen[bytes]
    pidfd: int | None

    @property
    def id(self) -> int:
        return self.first.pid

    def has_first_ended(self) -> bool:
        return os.waitid(os.P_PID, self.id, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def is_alive(self) -> bool:
        """True if any of its processes runs; those that have ended and were not collected do not count."""
        if not _PROC.is_dir():
            return not self.has_first_ended()
        # By name: a path for each entry would cost more than all the rest.
        return any(_runs(int(name)) for name in os.listdir(_PROC) if name.isdigit() and self._has(int(name)))  # noqa: PTH208

    def send(self, number: int) -> None:
        try:
            os.killpg(self.id, number)
        except ProcessLookupError:
            pass  # the last one ended just now
        except PermissionError:
            pass  # what is left has become another user's: the system alone can end it

    def _has(self, pid: int) -> bool:
        try:
            return os.getpgid(pid) == self.id
        except OSError:
            return False


def _runs(pid: int) -> bool:
    try:
        # The name in parentheses may hold anything; the state is the first letter behind it.
        return (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except OSError:
        return False


async def _wait_a_moment(group: _ProcessGroup, look_s: float = _LOOK_S) -> None:
    """Wait until the first process has ended, or it is time to look again."""
    with trio.move_on_after(look_s if group.pidfd is not None else _POLL_S):
        if group.pidfd is not None:
            await trio.lowlevel.wait_readable(group.pidfd)
        else:
            await trio.sleep_forever()


def _size(*paths: Path) -> int:
    """Return how much is in these files; one that was removed is empty."""
    size = 0
    for path in paths:
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def _shorten(path: Path, limit: int) -> None:
    """Leave no more in a file of output than the limit; a missing one is fine."""
    if _size(path) > limit:
        os.truncate(path, limit)


@final
class SystemProcesses:
    """Processes of the machine. Made by `open_processes`."""

    def __init__(
        self,
        *,
        blocking: Blocking,
        ids: Ids,
        folder: Path,
        reaper: Reaper,
        environ: Mapping[str, str],
        pass_env: Collection[str],
        secrets: Secrets,
        grace_s: float,
        max_output_bytes: int,
    ) -> None:
        self._blocking = blocking
        self._ids = ids
        self._folder = whole_path(folder)
        self._reaper = reaper
        self._environ = environ
        self._pass_env = pass_env
        self._secrets = secrets
        self._grace_s = grace_s
        self._max_output_bytes = max_output_bytes

    def new_output(self, letter: str = "b") -> Path:
        """Return `<folder>/b........output`."""
        return self._folder / f"{task_id(self._ids, letter)}.output"

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        output: Path,
        env: Mapping[str, str] | None = None,
        errors: Path | None = None,
    ) -> ProcessEnd:
        """Run a program to its end; see `Processes.run`."""
        files = (output,) if errors is None else (output, errors)
        group = await self._started(command, cwd, files, env, is_piped=False)
        left_others = False
        try:
            await self._wait_first(group, *files)
            left_others = await self._blocking.run(group.is_alive)
        finally:
            # Not under the caller's deadline, and bounded by our own.
            with trio.CancelScope(shield=True):
                exit_code = await self._end(group)
                for file in files:
                    await self._blocking.run(_shorten, file, self._max_output_bytes)
                    if self._secrets:
                        await self._blocking.run(self._secrets.mask_file, file)
        return ProcessEnd(exit_code, left_others)

    @asynccontextmanager
    async def open_piped(
        self, command: Sequence[str], *, cwd: Path, complaints: Path, env: Mapping[str, str] | None = None
    ) -> AsyncIterator[PipedProcess]:
        """Start a program that is talked to, for as long as the block lasts.

        However the block is left, its input is closed, it gets a second to end by itself, and then its whole group is
        ended as by `run`; that is not under the caller's deadline.

        Args:
            command: The program and its arguments.
            cwd: An absolute folder.
            complaints: What it prints to its stderr is appended to this file, which is made.
            env: Variables beside those of this program that hold no secret.

        Raises:
            ToolError: It cannot be started.
        """
        group = await self._started(command, cwd, (complaints,), env, is_piped=True)
        process = None
        try:
            assert group.first.stdin is not None
            assert group.first.stdout is not None
            # The streams close the descriptors; the objects that had them must not.
            stdin, stdout = (
                trio.lowlevel.FdStream(os.dup(stream.fileno())) for stream in (group.first.stdin, group.first.stdout)
            )
            group.first.stdin.close()
            group.first.stdout.close()

            async def wait_ended() -> None:
                await self._wait_first(group, complaints)

            process = PipedProcess(stdin=stdin, stdout=stdout, pid=group.id, wait_ended=wait_ended)
            yield process
        finally:
            with trio.CancelScope(shield=True):
                if process is not None:
                    await process.stdin.aclose()
                    with trio.move_on_after(_CLOSED_S):
                        while not group.has_first_ended():
                            await _wait_a_moment(group)
                    ended_by_itself = group.has_first_ended()
                    exit_code = await self._end(group)
                    await self._blocking.run(_shorten, complaints, self._max_output_bytes)
                    await process.stdout.aclose()
                    if self._secrets:
                        await self._blocking.run(self._secrets.mask_file, complaints)
                    process.exit_code = exit_code if ended_by_itself else None
                    process.last_words = await self._blocking.run(read_tail, complaints, _LAST_WORDS)
                else:
                    await self._end(group)

    async def _started(
        self, command: Sequence[str], cwd: Path, files: Sequence[Path], env: Mapping[str, str] | None, *, is_piped: bool
    ) -> _ProcessGroup:
        kind = ChildKind.SERVER if is_piped else ChildKind.COMMAND
        named = {**self._environ, **_UNATTENDED, **(env or {}), **self._reaper.environment}
        variables = child_environment(kind, named=named, passed=self._pass_env)
        try:
            return await self._blocking.run(self._start, list(command), cwd, files, variables, is_piped=is_piped)
        except OSError as error:
            where = f" in {cwd}" if str(error.filename) == str(cwd) else ""
            why = (error.strerror or str(error)).lower()
            raise ToolError(f"{command[0]} cannot be started{where}: {why}") from error

    def _start(
        self, command: list[str], cwd: Path, files: Sequence[Path], env: dict[str, str], *, is_piped: bool
    ) -> _ProcessGroup:
        self._reaper.be_ready()
        make_private_folder(files[0].parent)
        with ExitStack() as opened:
            descriptors = []
            for file in files:
                descriptors.append(open_private(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW))
                opened.callback(os.close, descriptors[-1])
            first = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if is_piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE if is_piped else descriptors[0],
                stderr=descriptors[-1],
                bufsize=0,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        try:
            self._reaper.watch(first.pid)
            return _ProcessGroup(first, os.pidfd_open(first.pid) if hasattr(os, "pidfd_open") else None)
        except OSError:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
            for pipe in filter(None, (first.stdin, first.stdout)):
                pipe.close()
            raise

    async def _wait_first(self, group: _ProcessGroup, *files: Path) -> None:
        """Wait until the first process has ended.

        The output is looked at often as long as it grows fast, or a second of it could be more than all that is allowed.

        Raises:
            ToolError: It printed more than the limit; the group was killed.
        """
        limit, size, look_s = self._max_output_bytes, 0, _FIRST_LOOK_S
        masked = dict.fromkeys(files, 0)
        while not group.has_first_ended():
            await _wait_a_moment(group, look_s)
            for file in files if self._secrets else ():
                masked[file] = await self._blocking.run(self._secrets.mask_file, file, masked[file])
            before, size = size, await self._blocking.run(_size, *files)
            look_s = _FIRST_LOOK_S if size - before > limit // 64 else min(2 * look_s, _LOOK_S)
            if size > limit:
                break
        else:
            size = await self._blocking.run(_size, *files)
        if size > limit:
            group.send(signal.SIGKILL)  # asked to end, it would continue to print during the whole grace period
            raise ToolError(
                f"the command was ended because it printed more than {limit} bytes (the setting "
                f"limits.command_output_bytes); the start is in {files[0]}. Print less, or write to a file of your own."
            )

    async def _end(self, group: _ProcessGroup) -> int:
        is_alive = await self._blocking.run(group.is_alive)
        for number, time_s in ((signal.SIGTERM, self._grace_s), (signal.SIGKILL, _KILL_S)):
            if not is_alive:
                break
            group.send(number)
            deadline = trio.current_time() + time_s
            while is_alive and trio.current_time() < deadline:
                await trio.sleep(_POLL_S)
                is_alive = await self._blocking.run(group.is_alive)
        if group.pidfd is not None:
            os.close(group.pidfd)
        if is_alive:
            # Stuck in the kernel, where no signal reaches it: the reaper keeps trying when the session ends.
            group.first.returncode = -signal.SIGKILL
        else:
            await self._blocking.run(self._reaper.forget, group.id)
            await self._blocking.run(group.first.wait)
        return group.first.returncode


@asynccontextmanager
async def open_processes(
    *,
    blocking: Blocking,
    ids: Ids,
    folder: Path,
    mark: str,
    environ: Mapping[str, str] | None = None,
    pass_env: Collection[str] = (),
    secrets: Secrets | None = None,
    grace_s: float = GRACE_S,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> AsyncIterator[SystemProcesses]:
    """Open the processes of a session; leaving ends its reaper, and whatever had left its group.

    Args:
        blocking: Where blocking calls run.
        ids: Where the names of output files come from.
        folder: Where output files lie: `tasks` in the run folder. Made when it is needed.
        mark: What tells this session from all others of this machine: its id.
        environ: Variables for all of them, beside those of this program; looked at whenever one is started.
        pass_env: Names of variables of this program that they get although the names say that they hold secrets, or
            although no server needs them; `*` stands for any characters.
        secrets: What is masked in files of output, at once and in their place; nothing, unless given.
        grace_s: Seconds between asking a group to end and killing it.
        max_output_bytes: A process that prints more is killed with its group, and its file is cut to this.
    """
    reaper = Reaper(mark)
    try:
        yield SystemProcesses(
            blocking=blocking,
            ids=ids,
            folder=folder,
            reaper=reaper,
            environ={} if environ is None else environ,
            pass_env=pass_env,
            secrets=Secrets() if secrets is None else secrets,
            grace_s=grace_s,
            max_output_bytes=max_output_bytes,
        )
    finally:
        with trio.CancelScope(shield=True):
            await blocking.run(reaper.close)

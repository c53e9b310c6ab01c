"""Commands in processes of their own, without the seconds in which each would import the runtime and the SDK.

A server of the standard library's imports everything once, and forks for each command. So a command has its own process
id, folder, environment, pipes, signals and end, as one that Python was started for. What only a fresh start shows (what is
imported when, what the interpreter says at its end) is held by the tests that run `python -m greenroom` or `python -c`.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Final, TextIO, final

_SERVER: Final = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "greenroom.agents.subagents",
        "greenroom.cli._replay_command",
        "greenroom.cli._run_command",
        "greenroom.headless._control",
        "greenroom.swarm._swarm",
        "greenroom.cli._swarm_command",
        "greenroom.models._anthropic_client",
        "tests.cli.forked_warm",
    ]
)


@final
class Forked:
    """A command that runs; used like `subprocess.Popen` with text pipes.

    Its arguments are those of greenroom, or `-c` and a program as for Python itself. In a program warnings are errors.
    """

    def __init__(
        self, *arguments: str, environ: Mapping[str, str], cwd: Path | None = None, stdin: int = subprocess.DEVNULL
    ) -> None:
        ours, theirs = zip(*(_pipe(is_read=is_read) for is_read in (True, False, False)), strict=True)
        folder = str(cwd or Path.cwd())
        self._process = _SERVER.Process(target=_become, args=(arguments, folder, dict(environ), theirs))
        try:
            self._process.start()
        finally:
            for end in theirs:
                end.close()
        write, out, err = (os.dup(end.fileno()) for end in ours)
        for end in ours:
            end.close()
        self.stdin: TextIO | None = os.fdopen(write, "w", encoding="utf-8")
        self.stdout: TextIO | None = os.fdopen(out, encoding="utf-8")
        self.stderr: TextIO | None = os.fdopen(err, encoding="utf-8")
        if stdin == subprocess.DEVNULL:
            self.stdin.close()
            self.stdin = None

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.communicate()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("greenroom", timeout or 0)
        return self.returncode

    def communicate(self, said: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """Say what there is to say, and return what has not been read yet once the command has ended."""
        with ThreadPoolExecutor(2) as readers:
            out, err = (readers.submit(_rest_of, stream) for stream in (self.stdout, self.stderr))
            if self.stdin is not None and not self.stdin.closed:
                with closing(self.stdin):
                    self.stdin.write(said or "")
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()  # or the readers would wait as well
                raise
            return out.result(), err.result()


def run_forked(
    *arguments: str, environ: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    with Forked(*arguments, environ=environ, cwd=cwd) as process:
        out, err = process.communicate(timeout=50)
        return subprocess.CompletedProcess(arguments, process.wait(), out, err)


def run_afresh(
    *arguments: str, environ: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Start Python for a command, and run it to its end."""
    command = [sys.executable, "-m", "greenroom", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environ, cwd=cwd, timeout=50, check=False)


def _pipe(*, is_read: bool) -> tuple[Connection, Connection]:
    """Return our end of a pipe and that of the command, which reads from it or writes to it."""
    reader, writer = _SERVER.Pipe(duplex=False)
    return (writer, reader) if is_read else (reader, writer)


def _rest_of(stream: TextIO | None) -> str:
    if stream is None or stream.closed:
        return ""
    with stream:
        return stream.read()


def _become(
    arguments: tuple[str, ...], folder: str, environ: dict[str, str], streams: tuple[Connection, Connection, Connection]
) -> None:
    """Run the command in the process that was forked for it."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    if arguments[0] == "-c":
        _run_code(arguments[1])
        return
    from greenroom import __main__ as program

    sys.argv = [program.__file__, *arguments]
    program.main()


def _run_code(code: str) -> None:
    """Run a program as the main module, as `python -W error -c` does."""
    main = ModuleType("__main__")
    sys.argv, sys.path[:0] = ["-c"], [""]
    sys.modules["__main__"] = main
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, "<string>", "exec"), vars(main))

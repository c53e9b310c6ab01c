"""Port to the processes that tools start, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import attrs
import trio

from greenroom.core.ports import Blocking
from greenroom.tools._outputs import INLINE_CHARACTERS, Output, read_output


@attrs.frozen
class ProcessEnd:
    """The end of a process."""

    exit_code: int
    """0 to 255, or minus the number of the signal that ended it."""
    left_others: bool = False
    """True if processes that it had started were still running, and were ended."""


@attrs.frozen(kw_only=True)
class ProcessResult:
    """The result of `ToolContext.run_process`."""

    exit_code: int | None
    """0 to 255, or minus the number of the signal that ended it; None after a timeout."""
    output: Output
    output_file: Path | None
    """The whole output, if it is too long to be shown."""

    @property
    def has_timed_out(self) -> bool:
        """True if it was ended by the timeout."""
        return self.exit_code is None


class Processes(Protocol):
    """The port through which tools start processes."""

    def new_output(self, letter: str = "b") -> Path:
        """Return a name for a file of output that no other one has; the stem is the id of a shell task, or of a monitor's (`m`)."""
        ...

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        output: Path,
        env: Mapping[str, str] | None = None,
        errors: Path | None = None,
    ) -> ProcessEnd:
        """Run a program to its end, and everything it started to theirs.

        Cancelled, it ends the whole group before it lets go, which takes a grace of some seconds at most.

        Args:
            command: The program and its arguments.
            cwd: An absolute folder.
            output: What it prints is appended to this file, which is made.
            env: Variables beside those of this program that hold no secret.
            errors: What it prints to its stderr is appended to this file, which is made; by default to `output`.

        Raises:
            ToolError: It cannot be started, or printed too much and was ended.
        """
        ...


async def run_process(
    processes: Processes,
    blocking: Blocking,
    command: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    most: int = INLINE_CHARACTERS,
) -> ProcessResult:
    """Run a program and return what it printed; see `ToolContext.run_process`."""
    output = processes.new_output()
    end = None
    with trio.move_on_after(timeout_s):
        end = await processes.run(command, cwd=cwd, output=output, env=env)
    shown = await blocking.run(read_output, output, most)
    if not shown.is_cut:
        await blocking.run(output.unlink, missing_ok=True)
    return ProcessResult(
        exit_code=None if end is None else end.exit_code,
        output=shown,
        output_file=output if shown.is_cut else None,
    )

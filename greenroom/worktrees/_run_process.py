"""The port to run a program to its end; git is run through it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, final

import attrs
import trio


@final
@attrs.frozen(kw_only=True)
class ProgramResult:
    """End of a program, with its output."""

    returncode: int
    stdout: bytes
    stderr: bytes


class RunProcess(Protocol):
    """Runs a program to its end. If cancelled, it ends the program before it returns."""

    async def __call__(
        self, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stdin: bytes = b""
    ) -> ProgramResult:
        """Return its end; a status other than 0 is not an error here.

        Raises:
            OSError: It could not be started.
        """
        ...


async def run_process(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stdin: bytes = b""
) -> ProgramResult:
    """Run a program with Trio; if cancelled, it is asked to end, and killed 5 s later."""
    done: subprocess.CompletedProcess[bytes] = await trio.run_process(
        list(command),
        cwd=cwd,
        env=dict(environment),
        stdin=stdin,
        capture_stdout=True,
        capture_stderr=True,
        check=False,
        # Protected from the user's Ctrl-C: half a clean-up is worse than none.
        start_new_session=True,
    )
    return ProgramResult(returncode=done.returncode, stdout=done.stdout, stderr=done.stderr)

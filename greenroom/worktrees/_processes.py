"""Running a program to its end: the port through which git is reached."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, final

import attrs
import trio


@final
@attrs.frozen(kw_only=True)
class ProcessEnd:
    """How a program ended, and what it wrote."""

    returncode: int
    stdout: bytes
    stderr: bytes


class RunProcess(Protocol):
    """Runs a program to its end. Cancelled, it ends the program before it returns."""

    async def __call__(
        self, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stdin: bytes = b""
    ) -> ProcessEnd:
        """Return how it ended; a status other than 0 is no error here.

        Raises:
            OSError: It could not be started.
        """
        ...


async def run_process(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stdin: bytes = b""
) -> ProcessEnd:
    """Run a program with Trio; cancelled, it is asked to end, and killed 5 s later."""
    done: subprocess.CompletedProcess[bytes] = await trio.run_process(
        list(command),
        cwd=cwd,
        env=dict(environment),
        stdin=stdin,
        capture_stdout=True,
        capture_stderr=True,
        check=False,
        # Not to be reached by the Ctrl-C that is meant for us: half a clean-up is worse than none.
        start_new_session=True,
    )
    return ProcessEnd(returncode=done.returncode, stdout=done.stdout, stderr=done.stderr)

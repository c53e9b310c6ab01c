"""What a skill needs of the world, to be handed in: whoever may say yes, whoever runs a command, whoever reads a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, final

import attrs


@final
@attrs.frozen(kw_only=True)
class ShellCommand:
    """A command of a skill, ready to run."""

    text: str
    """For the shell, as its author wrote it: no argument was put into it."""
    arguments: tuple[str, ...] = ()
    """The shell's positions from zero: `bash -c TEXT ARGUMENT0 ARGUMENT1 ...`. The values are data to the shell."""
    environ: Mapping[str, str] = attrs.field(factory=dict)
    """To be added to the environment."""
    shell: str = "bash"
    cwd: Path
    timeout_s: float


@final
@attrs.frozen(kw_only=True)
class ShellOutcome:
    """How a command ended."""

    exit_code: int
    output: str
    """Both of its outputs, in the order in which they came."""
    timed_out: bool = False


class ShellRunner(Protocol):
    """Runs commands."""

    async def run(self, command: ShellCommand) -> ShellOutcome:
        """Run a command to its end, or end it, and all that it started, when its time is up or the caller is cancelled."""
        ...


class MayRun(Protocol):
    """Says whether a command may run: what is not plainly allowed, may not, because nobody is asked."""

    async def __call__(self, command: str, allowed: Sequence[str]) -> bool:
        """Return whether all that a command line does is allowed by the rules of the session and by these.

        Args:
            command: With the arguments put in.
            allowed: The skill's `allowed-tools`.
        """
        ...


class FileReader(Protocol):
    """Reads files that a skill refers to, where the session may read."""

    async def read(self, path: str, most: int) -> str | None:
        """Return the text of a file, at most so many bytes of it; None where it is not there, or may not be read."""
        ...

"""Ports of skills: permission, commands, files."""

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
    """Text for the shell, as its author wrote it, without arguments."""
    arguments: tuple[str, ...] = ()
    """The shell's positions from zero: `bash -c TEXT ARGUMENT0 ARGUMENT1 ...`. The values are data to the shell."""
    environ: Mapping[str, str] = attrs.field(factory=dict)
    """Additional environment variables."""
    shell: str = "bash"
    cwd: Path
    timeout_s: float


@final
@attrs.frozen(kw_only=True)
class ShellOutcome:
    """End of a command."""

    exit_code: int
    output: str
    """Both of its outputs, in order of arrival."""
    timed_out: bool = False


class ShellRunner(Protocol):
    """Runs commands."""

    async def run(self, command: ShellCommand) -> ShellOutcome:
        """Run a command to its end; end it, with everything it started, at its timeout or if the caller is cancelled."""
        ...


class MayRun(Protocol):
    """Permission check of a command: anything not plainly allowed is refused, because nobody is asked."""

    async def __call__(self, command: str, allowed: Sequence[str]) -> bool:
        """Return True if the rules of the session and the skill allow everything that a command line does.

        Args:
            command: The line, with the arguments substituted.
            allowed: The skill's `allowed-tools`.
        """
        ...


class FileReader(Protocol):
    """Reads files that a skill refers to, within the session's permissions."""

    async def read(self, path: str, most: int) -> str | None:
        """Return the text of a file, at most `most` bytes of it; None if it does not exist, or may not be read."""
        ...

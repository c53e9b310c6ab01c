"""Processes of one agent in the sandbox of its session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import final

import attrs

from greenroom.containment import Sandbox
from greenroom.core import Blocking
from greenroom.tools._process_groups import ProcessEnd, Processes
from greenroom.tools._tool_errors import ToolError


@final
@attrs.frozen
class SandboxedProcesses:
    """Starts processes as another port does, each in the sandbox."""

    _processes: Processes
    _sandbox: Sandbox
    _roots: tuple[Path, ...]
    _blocking: Blocking

    def new_output(self) -> Path:
        """Return a name for a file of output that no other one has."""
        return self._processes.new_output()

    async def run(
        self, command: Sequence[str], *, cwd: Path, output: Path, env: Mapping[str, str] | None = None
    ) -> ProcessEnd:
        """Run a program to its end; see `Processes.run`.

        Raises:
            ToolError: There is no sandbox to be had, it cannot be started, or it printed too much.
        """
        why = await self._blocking.run(self._sandbox.why_not)
        if why:
            raise ToolError(f"the command was not run: it needs the sandbox, and {why}")
        # Where the shell notes the folder in which it ended; it lies in the run folder.
        files = [path for path in (output.with_suffix(".cwd"),) if path.is_file()]
        wrapped = self._sandbox.command(command, cwd=cwd, roots=self._roots, files=files)
        return await self._processes.run(wrapped, cwd=cwd, output=output, env=env)

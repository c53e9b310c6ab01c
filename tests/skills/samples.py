"""Skills, ports and shells for tests: no process is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from greenroom.skills import RenderPorts, ShellCommand, ShellOutcome, Skill

HERE = Path("/project")


def skill(body: str = "", **fields: Any) -> Skill:
    return Skill(**{"name": "fix", "path": HERE / ".claude/skills/fix/SKILL.md", "body": body, **fields})


@attrs.define
class Shells:
    """Runs nothing: keeps what it was asked, and answers."""

    answer: Callable[[ShellCommand], ShellOutcome] = lambda _: ShellOutcome(exit_code=0, output="out\n")
    allows: Callable[[str], bool] = lambda _: True
    ran: list[ShellCommand] = attrs.field(factory=list)
    asked: list[str] = attrs.field(factory=list)
    rules: Sequence[str] = ()

    async def run(self, command: ShellCommand) -> ShellOutcome:
        self.ran.append(command)
        return self.answer(command)

    async def may_run(self, command: str, allowed: Sequence[str]) -> bool:
        self.asked.append(command)
        self.rules = allowed
        return self.allows(command)

    @property
    def ports(self) -> RenderPorts:
        return RenderPorts(cwd=HERE, project=HERE, is_trusted=True, session="s1", shell=self, may_run=self.may_run)


@attrs.define
class Files:
    contents: dict[str, str]

    async def read(self, path: str, most: int) -> str | None:
        content = self.contents.get(path)
        return None if content is None else content[:most]

"""Tools of team members, and the tool that writes a swarm's report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from greenroom.core.ports import Disk
from greenroom.teams._board_tools import board_tools
from greenroom.teams._roster import Roster
from greenroom.tools import Tool, ToolContext, ToolError, tool

DELEGATE_TOOLS: Final = (
    *("Agent", "SendMessage", "TaskStop", "TeamCreate", "TeamDelete"),
    *("TaskCreate", "TaskGet", "TaskList", "TaskUpdate"),
)
"""Tools of a lead in delegate mode: to spawn, to write, to end, and to work on the board."""


def delegate_tools(available: Iterable[str]) -> list[str]:
    """Return the tools that a lead in delegate mode keeps."""
    return [tool for tool in available if tool in DELEGATE_TOOLS]


def member_tools(roster: Roster, me: str) -> tuple[Tool, ...]:
    """Return the tools of the member called `me`, except the mail tool, which all agents of the session share."""
    return board_tools(roster, me)


def report_tool(path: Path, disk: Disk) -> Tool:
    """Return the tool that writes the report into the run folder."""

    @tool(name="WriteReport")
    async def write(content: str, ctx: ToolContext) -> str:
        """Write the final report of this run, replacing an earlier one. Call it once, when all results are in: your turn ends.

        Args:
            content: The report, as Markdown.
        """
        try:
            await ctx.blocking(disk.write, path, content.encode("utf-8", "replace"))
        except OSError as error:
            raise ToolError(f"cannot write the report: {error.strerror or error}") from error
        ctx.end_turn()
        return f"The report was written: {path.name}, {len(content)} characters."

    return write

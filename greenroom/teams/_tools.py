"""Which tools the members of a team have; and the one with which a command's report is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from greenroom.core import Disk
from greenroom.teams._board_tools import board_tools
from greenroom.teams._roster import Roster
from greenroom.tools import Tool, ToolContext, ToolError, tool

DELEGATE_TOOLS: Final = (
    *("Agent", "SendMessage", "TaskStop", "TeamCreate", "TeamDelete"),
    *("TaskCreate", "TaskGet", "TaskList", "TaskUpdate"),
)
"""All that a lead in delegate mode has (agents 7.97): to spawn, to write, to end, and to work on the board."""


def delegate_tools(available: Iterable[str]) -> list[str]:
    """Return what a lead in delegate mode keeps of its tools."""
    return [tool for tool in available if tool in DELEGATE_TOOLS]


def member_tools(roster: Roster, me: str) -> tuple[Tool, ...]:
    """Return the tools of the member called `me`, but the one for mail, which it shares with all agents of the session."""
    return board_tools(roster, me)


def report_tool(path: Path, disk: Disk) -> Tool:
    """Return the tool that leaves a command's report in the run folder."""

    @tool(name="WriteReport")
    async def write(content: str, ctx: ToolContext) -> str:
        """Write the final report of this run, replacing an earlier one. Call it once, when all results are in.

        Args:
            content: The report, as Markdown.
        """
        try:
            await ctx.blocking(disk.write, path, content.encode("utf-8", "replace"))
        except OSError as error:
            raise ToolError(f"the report was not written: {error.strerror or error}") from error
        return f"The report was written: {path.name}, {len(content)} characters."

    return write

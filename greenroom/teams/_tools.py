"""Which tools the members of a team have; and the one with which a command's report is written."""

from __future__ import annotations

from pathlib import Path

from greenroom.core import Disk
from greenroom.teams._board_tools import board_tools
from greenroom.teams._roster import Roster
from greenroom.tools import Tool, ToolContext, ToolError, tool


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

"""Tools that a session puts its own in the place of: they start and reach the agents of that session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.agents.crew._agent_tool import AGENT_TOOL
from greenroom.agents.crew._crew import SEND_MESSAGE
from greenroom.agents.crew._worktree_tools import (
    ENTER_DESCRIPTION,
    ENTER_SCHEMA,
    ENTER_WORKTREE,
    EXIT_DESCRIPTION,
    EXIT_SCHEMA,
    EXIT_WORKTREE,
)
from greenroom.tools import Tool, ToolContext, ToolError


@final
@attrs.frozen
class SessionTool:
    """Stands for a tool of the session that it is given to."""

    name: str
    description: str = "A tool of the session."
    input_schema: Mapping[str, Any] = attrs.field(factory=lambda: {"type": "object"})
    is_read_only: bool = True

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Refuse: nobody has put the session's own in its place.

        Raises:
            ToolError: Always.
        """
        raise ToolError(f"{self.name} works in an open session only")


AGENT_TOOLS: Final[tuple[Tool, ...]] = (SessionTool(AGENT_TOOL), SessionTool(SEND_MESSAGE))
"""`Agent` and `SendMessage`, for the `tools` of `open_session`."""

WORKTREE_TOOLS: Final[tuple[Tool, ...]] = (
    SessionTool(ENTER_WORKTREE, ENTER_DESCRIPTION, ENTER_SCHEMA, is_read_only=False),
    SessionTool(EXIT_WORKTREE, EXIT_DESCRIPTION, EXIT_SCHEMA, is_read_only=False),
)
"""`EnterWorktree` and `ExitWorktree`, for the `tools` of `open_session`."""

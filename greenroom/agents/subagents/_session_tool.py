"""Placeholders of the tools that every session brings itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import attrs

from greenroom.tools import ToolContext, ToolError


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

"""Settings of a session with one MCP server, which is named far."""

from __future__ import annotations

from typing import Any


def settings(*, interactive: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "mcpServers": {"far": {"command": "far"}},
        "permissions": {"allow": ["mcp__far"]},
        "delegation": {"interactive": interactive},
        **more,
    }

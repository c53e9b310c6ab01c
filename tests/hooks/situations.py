"""Helpers for the tests of hooks: a context, runners over real scripts and over handlers that are scripted."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from greenroom.core import PeerError
from greenroom.hooks import HookRunner, HookServices, HookSet, HookSource, SourceKind, merge_hooks, parse_hooks
from greenroom.hooks.inputs import HookContext, PreToolUseInput, StopInput

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from greenroom.hooks import HookRan

BOUND_S: Final = 30.0  # real time on a shared machine; a wait that ends takes milliseconds
CALL: Final = PreToolUseInput(tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="toolu_1")
STOP: Final = StopInput(stop_hook_active=False, last_assistant_message="Done.")
HERE: Final = HookContext(session_id="20261120-225103-k3f9qz", cwd=Path("/"), actor="a0123456789abcdef")


def hooks_of(
    event: str, *handlers: Mapping[str, Any], matcher: str = "", kind: SourceKind = SourceKind.USER
) -> HookSet:
    """Return hooks as a settings file with these handlers gives them; it has to be without a problem."""
    values = {"hooks": {event: [{"matcher": matcher, "hooks": list(handlers)}]}}
    parsed = parse_hooks(values, HookSource("settings", kind))
    assert parsed.problems == ()
    return merge_hooks([parsed])


class Scripts:
    """Real shell scripts in a folder, the runner that runs them, and what it puts on record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: list[dict[str, Any]] = []
        self.context = HookContext(
            session_id=HERE.session_id, cwd=folder, actor=HERE.actor, transcript_path=folder / "main.jsonl"
        )

    def command(self, body: str, name: str = "hook.sh", **more: Any) -> dict[str, Any]:
        """Write a script and return the handler that runs it."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return {"type": "command", "command": str(path), "args": [], **more}

    def runner(self, hooks: HookSet, **services: Any) -> HookRunner:
        """Return a runner with the PATH and nothing else in its environment, unless it is said."""
        services.setdefault("environment", {"PATH": os.environ.get("PATH", os.defpath)})
        return HookRunner(hooks, HookServices(project=self.folder, emit=self._note, **services))

    def _note(self, event_class: type[HookRan], *fields: Any) -> int:
        import attrs

        names = [field.name for field in attrs.fields(event_class)]
        self.records.append(dict(zip(names, fields, strict=True)))
        return 0


class ScriptedTools:
    """MCP tools that are functions: the handlers of tests in virtual time."""

    def __init__(self, **tools: Callable[[Mapping[str, Any]], Awaitable[str]]) -> None:
        self._tools = tools

    async def call(self, server: str, tool: str, values: Mapping[str, Any]) -> str:
        """Call the function of that name."""
        if tool not in self._tools:
            raise PeerError(f"server {server!r} is not connected")
        return await self._tools[tool](values)


def tool(name: str, **more: Any) -> dict[str, Any]:
    """Return the handler that calls one of the scripted tools."""
    return {"type": "mcp_tool", "server": "s", "tool": name, **more}

"""The tool of an MCP server that decides about calls of a headless run, in place of a person.

Whatever goes wrong is a refusal that says so in one line, to the model and once on standard error. An answer has as long as
that of a person. Agents do not have that tool: they may not call the approver themselves.
"""

from __future__ import annotations

import re
from typing import Any, Final, final

import trio

from greenroom.agents import PermissionQuestion
from greenroom.core import UsageError
from greenroom.headless._protocol import decision_of
from greenroom.mcp import McpError, McpServers
from greenroom.permissions import Allow, Deny
from greenroom.terminal import note

FLAG: Final = "--permission-prompt-tool"
STDIO: Final = "stdio"
"""Names the program at standard input in the place of a tool."""
_TOOL: Final = re.compile(r"mcp__[A-Za-z0-9_-]+__[A-Za-z0-9_-]+")


def check_approver(name: str | None, *, talks: bool) -> None:
    """Look at what is to decide about calls.

    Args:
        name: What the flag says; None for nothing.
        talks: Whether a program talks to the run.

    Raises:
        UsageError: It cannot be asked.
    """
    if name == STDIO and not talks:
        raise UsageError(f"{FLAG} stdio is the program at standard input: it needs --input-format stream-json")
    if name not in {None, STDIO} and not _TOOL.fullmatch(name or ""):
        raise UsageError(f"{FLAG} must be stdio, or the tool of an MCP server as mcp__server__tool, got {name!r}")


def tool_of(name: str | None) -> list[str]:
    """Return the tool that decides about calls, as a rule for it; nothing where none does."""
    return [] if name is None or name == STDIO else [name]


@final
class ToolApprover:
    """Asks a tool about calls.

    Args:
        name: What a model would call it by.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._servers: McpServers | None = None
        self._deadline_s = 0.0
        self._noted: set[str] = set()

    def open(self, servers: McpServers, deadline_s: float) -> None:
        """Take the servers of the session, which is open now, and the seconds that a question waits there."""
        self._servers, self._deadline_s = servers, deadline_s

    async def can_use_tool(self, question: PermissionQuestion) -> Allow | Deny:
        """Ask the tool about a call; if cancelled, the request to its server is cancelled."""
        if self._servers is None:
            await trio.lowlevel.checkpoint()
            return self._refused("it cannot be asked before the session is open")
        with trio.move_on_after(self._deadline_s):
            try:
                tool = await self._servers.find_tool(self._name)
                return self._read(await tool.ask(_about(question)))
            except (McpError, UsageError) as error:
                return self._refused(str(error))
        why = f"it did not decide about {question.tool} within {self._deadline_s:g} s"
        note(f"{FLAG} {self._name}: {why}")
        return Deny(message=f"{self._name} was asked: {why}", cause="deadline")

    def _read(self, text: str) -> Allow | Deny:
        import orjson

        try:
            values = orjson.loads(text)
        except orjson.JSONDecodeError:
            values = None
        if not isinstance(values, dict):
            return self._refused('its answer must be a JSON object: {"behavior": "allow" or "deny", ...}')
        try:
            return decision_of(values)
        except UsageError as error:
            return self._refused(f"its answer cannot be read: {error}")

    def _refused(self, why: str) -> Deny:
        """Return a refusal for want of a decision, and say once to people why there is none."""
        why = " ".join(why.split())
        if why not in self._noted:
            self._noted.add(why)
            note(f"{FLAG} {self._name}: {why}")
        return Deny(message=f"{self._name} was asked, and did not decide: {why}", cause="closed")


def _about(question: PermissionQuestion) -> dict[str, Any]:
    return {"tool_name": question.tool, "input": dict(question.input), "tool_use_id": question.call_id}

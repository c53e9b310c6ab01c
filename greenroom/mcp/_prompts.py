"""Prompts of servers as commands: `/mcp__<server>__<prompt> arguments`.

Rule 1: arguments are shell-style words, in the order in which the server names them; the last one has all that is left. Rule 2:
what a server says goes into one message of the user's; what it puts into the assistant's mouth is marked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.mcp._errors import CallFailed
from greenroom.mcp._names import PREFIX, tool_name
from greenroom.mcp._peer import CallResult, PromptInfo
from greenroom.mcp._results import Keep, render
from greenroom.mcp._server import Server

_CALL: Final = re.compile(rf"/({PREFIX}\S+)(?:\s+(.*))?", re.DOTALL)


def prompt_call(text: str) -> tuple[str, str] | None:
    """Return the name and the arguments of the prompt that a user's words call; None where they call none."""
    found = _CALL.fullmatch(text.strip())
    return None if found is None else (found[1], found[2] or "")


@final
@attrs.frozen(eq=False)
class McpPrompt:
    """A prompt of a server, as a user has it."""

    server: Server
    info: PromptInfo
    name: str
    """What it is called by, behind a `/`."""
    _most: int
    """How much of it a model gets, in characters."""
    _keep: Keep = attrs.field(repr=False)

    @property
    def description(self) -> str:
        """What the server says about it."""
        return self.info.description

    @property
    def argument_hint(self) -> str:
        """What to type behind the name: `<what is needed> [what is not]`."""
        return " ".join(f"<{one.name}>" if one.is_required else f"[{one.name}]" for one in self.info.arguments)

    async def expand(self, typed: str) -> str:
        """Return what the prompt says.

        Args:
            typed: The arguments, as they were typed.

        Raises:
            UsageError: An argument is missing, or there is one too many.
            McpError: The server is not connected, refused, or did not answer in time.
        """
        parts = await self.server.get_prompt(self.info.name, self._values(typed))
        said: list[str] = []
        for one in parts:
            shown = await render(CallResult(parts=(one.part,)), self._keep, self._most, may_show=False)
            said.append(shown.text if one.role == "user" else f"[assistant]\n{shown.text}")
        text = "\n\n".join(one for one in said if one.strip())
        if not text:
            raise CallFailed(f"the prompt {self.info.name} of {self.server.name} says nothing")
        return text

    def _values(self, typed: str) -> dict[str, str]:
        arguments = self.info.arguments
        if typed.strip() and not arguments:
            raise UsageError(f"/{self.name} takes no arguments; write: /{self.name}")
        values = fill_in([one.name for one in arguments], typed)
        missing = [one.name for one in arguments if one.is_required and one.name not in values]
        if missing:
            raise UsageError(f"/{self.name} needs {', '.join(missing)}; write: /{self.name} {self.argument_hint}")
        return values


def fill_in(names: Sequence[str], typed: str) -> dict[str, str]:
    """Return values for arguments, in order; the last one has all that is left, and one that nothing is left for is left out."""
    try:
        words = shlex.split(typed)
    except ValueError:  # quotes that do not match are characters like others
        words = typed.split()
    if not names:
        return {}
    *first, last = names
    values = dict(zip(first, words, strict=False))
    rest = words[len(first) :]
    return {**values, last: " ".join(rest)} if rest else values


def make_prompts(servers: Iterable[Server], *, most: int, keep: Keep) -> tuple[McpPrompt, ...]:
    """Return the prompts of servers, each name once: the first has it."""
    made: dict[str, McpPrompt] = {}
    for server in servers:
        for info in server.prompts:
            name = tool_name(server.name, info.name)
            made.setdefault(name, McpPrompt(server, info, name, most, keep))
    return tuple(made.values())

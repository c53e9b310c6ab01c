"""Prompts of servers as commands: `/mcp__<server>__<prompt> arguments`.

Arguments are shell-style words in the server's order; the last one takes the rest. A prompt becomes one message of the
user; the parts in the assistant's role are marked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.mcp._call_results import Keep, render
from greenroom.mcp._mcp_errors import CallFailed
from greenroom.mcp._peer import CallResult, PromptInfo
from greenroom.mcp._server import Server
from greenroom.mcp._tool_names import PREFIX, tool_name

_CALL: Final = re.compile(rf"/({PREFIX}\S+)(?:\s+(.*))?", re.DOTALL)


def prompt_call(text: str) -> tuple[str, str] | None:
    """Return the name and the arguments of the prompt that a user's text calls; None if it calls none."""
    found = _CALL.fullmatch(text.strip())
    return None if found is None else (found[1], found[2] or "")


@final
@attrs.frozen(eq=False)
class McpPrompt:
    """A prompt of a server, as offered to the user."""

    server: Server
    info: PromptInfo
    name: str
    """The command's name, after the `/`."""
    _most: int
    """The part that a model gets, in characters."""
    _keep: Keep = attrs.field(repr=False)

    @property
    def description(self) -> str:
        """The server's description."""
        return self.info.description

    @property
    def argument_hint(self) -> str:
        """The arguments to type after the name: `<required> [optional]`."""
        return " ".join(
            f"<{argument.name}>" if argument.is_required else f"[{argument.name}]" for argument in self.info.arguments
        )

    async def expand(self, typed: str) -> str:
        """Return the text of the prompt.

        Args:
            typed: The arguments, as typed.

        Raises:
            UsageError: An argument is missing, or there is one too many.
            McpError: The server is not connected, refused, or did not answer in time.
        """
        parts = await self.server.get_prompt(self.info.name, self._values(typed))
        said: list[str] = []
        for part in parts:
            shown = await render(CallResult(parts=(part.part,)), self._keep, self._most, may_show=False)
            said.append(shown.text if part.role == "user" else f"[assistant]\n{shown.text}")
        text = "\n\n".join(text for text in said if text.strip())
        if not text:
            raise CallFailed(f"the prompt {self.info.name} of {self.server.name} is empty")
        return text

    def _values(self, typed: str) -> dict[str, str]:
        arguments = self.info.arguments
        if typed.strip() and not arguments:
            raise UsageError(f"/{self.name} takes no arguments; use /{self.name}")
        values = fill_in([argument.name for argument in arguments], typed)
        missing = [argument.name for argument in arguments if argument.is_required and argument.name not in values]
        if missing:
            raise UsageError(f"/{self.name} requires {', '.join(missing)}; use /{self.name} {self.argument_hint}")
        return values


def fill_in(names: Sequence[str], typed: str) -> dict[str, str]:
    """Return values for arguments, in order; the last takes the rest, and those without a value are left out."""
    try:
        words = shlex.split(typed)
    except ValueError:  # unmatched quotes are ordinary characters
        words = typed.split()
    if not names:
        return {}
    *first, last = names
    values = dict(zip(first, words, strict=False))
    rest = words[len(first) :]
    return {**values, last: " ".join(rest)} if rest else values


def make_prompts(servers: Iterable[Server], *, most: int, keep: Keep) -> tuple[McpPrompt, ...]:
    """Return the prompts of servers; of several with one name, the first."""
    made: dict[str, McpPrompt] = {}
    for server in servers:
        for info in server.prompts:
            name = tool_name(server.name, info.name)
            made.setdefault(name, McpPrompt(server, info, name, most, keep))
    return tuple(made.values())

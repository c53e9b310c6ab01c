"""Handlers that others run: MCP tools and models. Here are the ports that the engine fills, and what is put to them.

Must not know: MCP, models, permissions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from greenroom.hooks._inputs import HookContext, as_json, plain

ARGUMENTS: Final = "$ARGUMENTS"
INSTRUCTIONS: Final = (
    "You decide for a hook. Answer with one JSON object and nothing else: "
    '{"ok": true} to let it pass, or {"ok": false, "reason": "..."} to say why not. '
    'Add "impossible": true if what is asked for can never be reached.'
)
AGENT_INSTRUCTIONS: Final = (
    "You decide for a hook. Look for yourself with your tools, as far as that is needed, and change nothing. End with one "
    'JSON object and nothing else: {"ok": true} to let it pass, or {"ok": false, "reason": "..."} to say why not.'
)
_PATH: Final = re.compile(r"\$\{([^${}]+)\}")


class HandlerFailed(Exception):
    """A handler gave no answer: why. It becomes a problem of the outcome."""


class McpCaller(Protocol):
    """Calls tools of the MCP servers of a session."""

    async def call(self, server: str, tool: str, values: Mapping[str, Any]) -> str:
        """Return the text of the tool's result.

        Raises:
            PeerError: The server is not connected, or the tool failed.
        """
        ...


class PromptAsker(Protocol):
    """Asks a model one question, without tools."""

    async def ask(self, system: str, prompt: str, *, model: str | None) -> str:
        """Return the model's text.

        Args:
            system: How to answer.
            prompt: What to judge.
            model: A name from the settings; None is a fast one.

        Raises:
            ProviderError: The model could not be asked.
        """
        ...


class AgentAsker(Protocol):
    """Lets an agent look for itself, with tools that only read."""

    async def ask(self, system: str, prompt: str, *, model: str | None, context: HookContext) -> str:
        """Return what the agent says last. Cancelled, the agent has ended before this returns.

        Args:
            system: How to answer.
            prompt: What to judge.
            model: An alias or a name; None is that of the agent whose hook it is.
            context: Whose hook it is.

        Raises:
            GreenroomError: No agent could be started, or it came to no answer.
        """
        ...


class RuleMatcher(Protocol):
    """Knows the language of permission rules."""

    def matches(self, rule: str, tool_name: str, tool_input: Mapping[str, Any]) -> bool:
        """Say whether a call is one that `rule` is about; True where that cannot be found out."""
        ...


class ToolNames:
    """The rules that need no language: of `Bash(git *)` it compares the name and takes the rest as fulfilled."""

    def matches(self, rule: str, tool_name: str, tool_input: Mapping[str, Any]) -> bool:
        """Say whether the rule names the tool."""
        del tool_input
        return rule.strip().partition("(")[0] == tool_name


def fill_prompt(prompt: str, encoded: Mapping[str, Any]) -> str:
    """Put the input in the place of `$ARGUMENTS`, or after the prompt."""
    told = as_json(encoded)
    return prompt.replace(ARGUMENTS, told) if ARGUMENTS in prompt else f"{prompt}\n\n{told}"


def fill_paths(value: Any, encoded: Mapping[str, Any]) -> Any:
    """Put values of the input in the place of `${tool_input.path}` in all strings of `value`.

    A string that is one such path becomes the value itself; what is not there becomes an empty text.
    """
    if isinstance(value, Mapping):
        return {key: fill_paths(inner, encoded) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [fill_paths(inner, encoded) for inner in value]
    if not isinstance(value, str):
        return value
    whole = _PATH.fullmatch(value)
    if whole:
        return _at(whole[1], encoded)
    return _PATH.sub(lambda found: _text(_at(found[1], encoded)), value)


def _at(path: str, encoded: Mapping[str, Any]) -> Any:
    found: Any = encoded
    for step in path.strip().split("."):
        if isinstance(found, Mapping) and step in found:
            found = found[step]
        elif isinstance(found, Sequence) and not isinstance(found, str) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return ""
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else as_json({"": plain(value)})[4:-1]

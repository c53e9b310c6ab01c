"""Ports for handlers that others run (MCP tools, models, agents), and the prompts that they are given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from greenroom.hooks.inputs import HookContext, as_json, plain

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
    """A handler gave no answer. Its message becomes a problem of the outcome."""


class McpCaller(Protocol):
    """Caller of the tools of a session's MCP servers."""

    async def call(self, server: str, tool: str, values: Mapping[str, Any]) -> str:
        """Return the text of the tool's result.

        Raises:
            PeerError: The server is not connected, or the tool failed.
        """
        ...


class PromptAsker(Protocol):
    """Port to a model that answers one question without tools."""

    async def ask(self, system: str, prompt: str, *, model: str | None) -> str:
        """Return the model's text.

        Args:
            system: Instructions for the answer.
            prompt: The question.
            model: A name from the settings; None uses a fast model.

        Raises:
            ProviderError: The model could not be asked.
        """
        ...


class AgentAsker(Protocol):
    """Port to an agent that may inspect files with read-only tools."""

    async def ask(self, system: str, prompt: str, *, model: str | None, context: HookContext) -> str:
        """Return the agent's last message. On cancellation, the agent is stopped before this returns.

        Args:
            system: Instructions for the answer.
            prompt: The question.
            model: An alias or a name; None uses the model of the agent that the hook belongs to.
            context: The agent that the hook belongs to.

        Raises:
            GreenroomError: No agent could be started, or it gave no answer.
        """
        ...


class RuleMatcher(Protocol):
    """Matcher of permission rules."""

    def matches(self, rule: str, tool_name: str, tool_input: Mapping[str, Any]) -> bool:
        """True if `rule` applies to the call, or if that cannot be determined."""
        ...


class ToolNames:
    """Rule matcher without a rule language: for `Bash(git *)` it compares the tool name and assumes that the rest
    matches.
    """

    def matches(self, rule: str, tool_name: str, tool_input: Mapping[str, Any]) -> bool:
        """True if the rule names the tool."""
        del tool_input
        return rule.strip().partition("(")[0] == tool_name


def fill_prompt(prompt: str, encoded: Mapping[str, Any]) -> str:
    """Insert the input in place of `$ARGUMENTS`, or append it to the prompt."""
    encoded_json = as_json(encoded)
    return prompt.replace(ARGUMENTS, encoded_json) if ARGUMENTS in prompt else f"{prompt}\n\n{encoded_json}"


def fill_paths(value: Any, encoded: Mapping[str, Any]) -> Any:
    """Replace `${tool_input.path}` in all strings of `value` with values of the input.

    A string that consists of one such path becomes the value itself; a path that does not exist becomes an empty
    string.
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

"""Settings of MCP: the part `mcp` of the settings, and the environment variables for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.sources import Diagnostic, Kind
from greenroom.core.validation import checked

START_TIMEOUT_S: Final = 30.0
CALL_TIMEOUT_S: Final = 100_000.0
IDLE_NETWORK_S: Final = 300.0
IDLE_STDIO_S: Final = 1_800.0
BACKGROUND_AFTER_S: Final = 120.0
OUTPUT_TOKENS: Final = 25_000
CHARS_PER_TOKEN: Final = 4
"""Estimated characters per token."""


def _positive(_: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    if isinstance(value, bool) or not value > 0:
        raise UsageError(f"{attribute.name} must be more than 0, got {value!r}")


def _not_negative(_: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    if isinstance(value, bool) or not value >= 0:
        raise UsageError(f"{attribute.name} must be 0 or more, got {value!r}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class McpSettings:
    """Time limits of servers and their calls, and size limits of results."""

    start_timeout_s: float = attrs.field(default=START_TIMEOUT_S, validator=_positive)
    """Time for a server to answer and to list its tools; also the time that a call waits for a server that is being
    connected.
    """
    call_timeout_s: float = attrs.field(default=CALL_TIMEOUT_S, validator=_positive)
    """Maximum duration of a call, unless the server's entry sets one."""
    idle_network_s: float = attrs.field(default=IDLE_NETWORK_S, validator=_not_negative)
    """Maximum time without progress in a call of a remote server; 0 disables the limit."""
    idle_stdio_s: float = attrs.field(default=IDLE_STDIO_S, validator=_not_negative)
    """Maximum time without progress in a call of a server that is a program; 0 disables the limit."""
    output_tokens: int = attrs.field(default=OUTPUT_TOKENS, validator=_positive)
    """Maximum size of a result for the model, in tokens of four characters; the rest is saved to a file."""
    background_after_s: float = attrs.field(default=BACKGROUND_AFTER_S, validator=_not_negative)
    """Time after which a call of the main agent moves to the background; 0 disables it. If no person watches, this
    needs `GREENROOM_AUTO_BACKGROUND_TASKS`.
    """
    only_given: bool = False
    """True if only servers given by the program are connected (`--strict-mcp-config`), besides an administrator's."""
    may_grow: bool = False
    """True if the program may add its own servers while the session runs, as a program that talks to `greenroom run`
    does.
    """

    @property
    def output_chars(self) -> int:
        """The part of a result that a model gets, in characters."""
        return self.output_tokens * CHARS_PER_TOKEN

    def idle_s(self, *, is_stdio: bool) -> float:
        """Return the maximum time without progress in a call, in seconds; infinite if disabled."""
        return (self.idle_stdio_s if is_stdio else self.idle_network_s) or math.inf


# Ours first. The others are in milliseconds, except the tokens.
_VARIABLES: Final = (
    ("start_timeout_s", ("GREENROOM_MCP_TIMEOUT", "MCP_TIMEOUT"), 1000.0),
    ("call_timeout_s", ("GREENROOM_MCP_TOOL_TIMEOUT", "MCP_TOOL_TIMEOUT"), 1000.0),
    ("idle", ("GREENROOM_MCP_TOOL_IDLE_TIMEOUT", "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"), 1000.0),
    ("background_after_s", ("GREENROOM_MCP_AUTO_BACKGROUND_MS", "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS"), 1000.0),
    ("output_tokens", ("GREENROOM_MAX_MCP_OUTPUT_TOKENS", "MAX_MCP_OUTPUT_TOKENS"), 1.0),
)
_FROM_ZERO: Final = frozenset(("idle", "background_after_s"))
VARIABLES: Final = tuple(names for _, names, _ in _VARIABLES)
"""The environment variables that are read: ours, and the established one."""


def with_environment(settings: McpSettings, environ: Mapping[str, str]) -> tuple[McpSettings, tuple[Diagnostic, ...]]:
    """Return the settings with the values of the environment, and the unusable variables."""
    found: list[Diagnostic] = []
    for field, names, per_unit in _VARIABLES:
        name = next((candidate for candidate in names if environ.get(candidate, "").strip()), None)
        if name is None:
            continue
        value = environ[name].strip()
        # Without sign or exponent, and no more digits than any of them could need.
        if (
            not (value.isascii() and value.isdigit())
            or len(value) > 15
            or (field not in _FROM_ZERO and int(value) == 0)
        ):
            least = "0" if field in _FROM_ZERO else "1"
            text = f"must be a whole number from {least}, got {value[:40]!r}; it is ignored"
            found.append(Diagnostic(kind=Kind.IGNORED, source=name, text=text))
            continue
        number = int(value)
        if field == "idle":
            settings = attrs.evolve(settings, idle_network_s=number / per_unit, idle_stdio_s=number / per_unit)
        else:
            made: dict[str, Any] = {field: number if field == "output_tokens" else number / per_unit}
            settings = attrs.evolve(settings, **made)
    return settings, tuple(found)

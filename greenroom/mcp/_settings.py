"""What can be set about MCP: the part `mcp` of the settings, and the variables that people have for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError, checked
from greenroom.core.sources import Diagnostic, Kind

START_TIMEOUT_S: Final = 30.0
CALL_TIMEOUT_S: Final = 100_000.0
IDLE_NETWORK_S: Final = 300.0
IDLE_STDIO_S: Final = 1_800.0
BACKGROUND_AFTER_S: Final = 120.0
OUTPUT_TOKENS: Final = 25_000
CHARS_PER_TOKEN: Final = 4
"""What a token is taken for where nobody counts."""


def _positive(_: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    if isinstance(value, bool) or not value > 0:
        raise UsageError(f"{attribute.name} has to be more than 0, not {value!r}")


def _not_negative(_: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    if isinstance(value, bool) or not value >= 0:
        raise UsageError(f"{attribute.name} has to be 0 or more, not {value!r}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class McpSettings:
    """How long servers and their calls may take, and how much of a result is shown."""

    start_timeout_s: float = attrs.field(default=START_TIMEOUT_S, validator=_positive)
    """Until a server has answered and listed its tools; also how long a call waits for one that is being connected."""
    call_timeout_s: float = attrs.field(default=CALL_TIMEOUT_S, validator=_positive)
    """For a whole call, unless the server's entry says otherwise."""
    idle_network_s: float = attrs.field(default=IDLE_NETWORK_S, validator=_not_negative)
    """How long a call of a server on the network may go without a sign of progress; 0 for ever."""
    idle_stdio_s: float = attrs.field(default=IDLE_STDIO_S, validator=_not_negative)
    """The same for a program."""
    output_tokens: int = attrs.field(default=OUTPUT_TOKENS, validator=_positive)
    """How much of a result a model gets, in tokens of four characters; the rest is kept in a file."""
    background_after_s: float = attrs.field(default=BACKGROUND_AFTER_S, validator=_not_negative)
    """How long the main agent waits for a call before it goes on in the background; 0 for ever. Without a person, only where
    `GREENROOM_AUTO_BACKGROUND_TASKS` is on."""
    only_given: bool = False
    """Whether no servers are connected but those that the program gives (`--strict-mcp-config`), save an administrator's."""
    may_grow: bool = False
    """Whether the program may bring servers of its own while the session runs, as one that talks to `greenroom run` does."""

    @property
    def output_chars(self) -> int:
        """How much of a result a model gets, in characters."""
        return self.output_tokens * CHARS_PER_TOKEN

    def idle_s(self, *, is_stdio: bool) -> float:
        """Return how long a call may go without a sign of progress, in seconds; infinite where nobody minds."""
        return (self.idle_stdio_s if is_stdio else self.idle_network_s) or math.inf


# Ours first. What people have is in milliseconds, save the tokens.
_VARIABLES: Final = (
    ("start_timeout_s", ("GREENROOM_MCP_TIMEOUT", "MCP_TIMEOUT"), 1000.0),
    ("call_timeout_s", ("GREENROOM_MCP_TOOL_TIMEOUT", "MCP_TOOL_TIMEOUT"), 1000.0),
    ("idle", ("GREENROOM_MCP_TOOL_IDLE_TIMEOUT", "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"), 1000.0),
    ("background_after_s", ("GREENROOM_MCP_AUTO_BACKGROUND_MS", "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS"), 1000.0),
    ("output_tokens", ("GREENROOM_MAX_MCP_OUTPUT_TOKENS", "MAX_MCP_OUTPUT_TOKENS"), 1.0),
)
_FROM_ZERO: Final = frozenset(("idle", "background_after_s"))
VARIABLES: Final = tuple(names for _, names, _ in _VARIABLES)
"""The environment variables that are read: ours, and the one that people have."""


def with_environment(settings: McpSettings, environ: Mapping[str, str]) -> tuple[McpSettings, tuple[Diagnostic, ...]]:
    """Return the settings with what the environment says instead, and what of it cannot be used."""
    found: list[Diagnostic] = []
    for field, names, per_unit in _VARIABLES:
        name = next((one for one in names if environ.get(one, "").strip()), None)
        if name is None:
            continue
        value = environ[name].strip()
        # Without sign or exponent, and no more digits than any of them could mean.
        if (
            not (value.isascii() and value.isdigit())
            or len(value) > 15
            or (field not in _FROM_ZERO and int(value) == 0)
        ):
            least = "0" if field in _FROM_ZERO else "1"
            text = f"takes a whole number from {least}, not {value[:40]!r}; it is left out"
            found.append(Diagnostic(kind=Kind.IGNORED, source=name, text=text))
            continue
        number = int(value)
        if field == "idle":
            settings = attrs.evolve(settings, idle_network_s=number / per_unit, idle_stdio_s=number / per_unit)
        else:
            made: dict[str, Any] = {field: number if field == "output_tokens" else number / per_unit}
            settings = attrs.evolve(settings, **made)
    return settings, tuple(found)

"""Variables of the environment that set up a session, unless another part reads them; they take precedence over files.

Rule 1: a variable that is empty says nothing. Rule 2: one that cannot be meant as it stands is refused, by its name.
Must not know: where variables come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.agents import CONTINUE
from greenroom.core import UsageError
from greenroom.hooks import SESSION_END_LIMIT_S, STOP_BLOCK_CAP
from greenroom.tools import SIDE_BY_SIDE, ToolSet
from greenroom.tools.builtin import BashLimits, bash_tool, bash_with

SIDE_BY_SIDE_CALLS: Final = "GREENROOM_MAX_TOOL_USE_CONCURRENCY"
STOP_BLOCKS: Final = "GREENROOM_STOP_HOOK_BLOCK_CAP"
RESUME_PROMPT: Final = "GREENROOM_RESUME_PROMPT"
SESSION_END_MS: Final = "GREENROOM_SESSIONEND_HOOKS_TIMEOUT_MS"
BASH_DEFAULT_MS: Final = "BASH_DEFAULT_TIMEOUT_MS"
BASH_MAX_MS: Final = "BASH_MAX_TIMEOUT_MS"
BASH_OUTPUT: Final = "BASH_MAX_OUTPUT_LENGTH"


@final
@attrs.frozen(kw_only=True)
class EnvironmentLimits:
    """Limits that no settings file has."""

    side_by_side: int = SIDE_BY_SIDE
    """Maximum number of read-only calls of one message that run at once."""
    stop_blocks: int = STOP_BLOCK_CAP
    """Maximum number of times in a row that stop hooks may keep a turn going; 0 for no limit."""
    session_end_s: float = SESSION_END_LIMIT_S
    """Seconds that all hooks of the end share."""
    bash: BashLimits = attrs.field(factory=BashLimits)

    def put_into(self, tools: ToolSet) -> ToolSet:
        """Return tools with these limits; a tool of the program's own keeps its."""
        if tools.get(bash_tool.name) is not bash_tool:
            return tools
        bash = bash_with(self.bash)
        return ToolSet(bash if tool is bash_tool else tool for tool in tools.values())


def exported_variables(session_id: str, project: Path) -> dict[str, str]:
    """Return what commands of a session's agents are given, by which they can tell where they run."""
    return {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_SESSION_ID": session_id,
        "CLAUDE_PROJECT_DIR": str(project),
        "GREENROOM_PROJECT_DIR": str(project),
        "GREENROOM_SESSION_ID": session_id,
    }


def resume_prompt(environ: Mapping[str, str]) -> str:
    """Return what an agent is told whose turn an earlier process did not bring to its end."""
    return environ.get(RESUME_PROMPT, "").strip() or CONTINUE


def limits_from_environment(environ: Mapping[str, str]) -> EnvironmentLimits:
    """Return the limits that variables say.

    Raises:
        UsageError: One of them is not a whole number, or out of range.
    """
    usual = EnvironmentLimits()
    bash = usual.bash
    most_ms = _number(environ, BASH_MAX_MS, 1, bash.most_ms)
    default_ms = min(_number(environ, BASH_DEFAULT_MS, 1, bash.default_ms), most_ms)
    return EnvironmentLimits(
        side_by_side=_number(environ, SIDE_BY_SIDE_CALLS, 1, usual.side_by_side),
        stop_blocks=_number(environ, STOP_BLOCKS, 0, usual.stop_blocks),
        session_end_s=_number(environ, SESSION_END_MS, 1, round(1000 * usual.session_end_s)) / 1000,
        bash=BashLimits(
            default_ms=default_ms, most_ms=most_ms, characters=_number(environ, BASH_OUTPUT, 1, bash.characters)
        ),
    )


def _number(environ: Mapping[str, str], name: str, least: int, default: int) -> int:
    ours = name if name.startswith("GREENROOM_") else f"GREENROOM_{name}"
    found = next((known for known in (ours, name) if environ.get(known, "").strip()), "")
    if not found:
        return default
    text = environ[found].strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) >= least):
        raise UsageError(f"{found} is a whole number of at least {least}, not {text!r}")
    return int(text)

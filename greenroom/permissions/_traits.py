"""Traits of tools that rules depend on: the input that is a call's subject, and the kind of effect. Callers pass the
traits of tools that differ from the table.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final, final

import attrs

from greenroom.core.validation import checked


class ToolKind(StrEnum):
    """The effects of a tool's calls on the world, for permissions."""

    READ = "read"
    """Reads files, or nothing outside the session: allowed in the working directories."""
    EDIT = "edit"
    """Changes a file."""
    SHELL = "shell"
    """Runs a script in bash."""
    NETWORK = "network"
    """Fetches something from elsewhere."""
    SESSION = "session"
    """Affects only the session (starting agents, the list of tasks, mail): allowed unless a rule matches."""
    PLACE = "place"
    """Moves the agent into another checkout, or out of it: needs permission unless a rule allows it."""
    INTERACTIVE = "interactive"
    """Asks the user a question: only the user can answer it."""
    OTHER = "other"
    """Anything else: needs permission."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class ToolTraits:
    """The traits of a tool that permissions depend on."""

    kind: ToolKind = ToolKind.OTHER
    subject: str = ""
    default_subject: str = ""
    searches: bool = False


def _table() -> dict[str, ToolTraits]:
    edit = ToolTraits(kind=ToolKind.EDIT, subject="file_path")
    search = ToolTraits(kind=ToolKind.READ, subject="path", searches=True)
    table = {
        "Read": ToolTraits(kind=ToolKind.READ, subject="file_path"),
        "NotebookRead": ToolTraits(kind=ToolKind.READ, subject="notebook_path"),
        **dict.fromkeys(("Grep", "Glob", "LS", "CodeFacts", "TreeFacts"), search),
        **dict.fromkeys(("Edit", "MultiEdit", "Write"), edit),
        "NotebookEdit": ToolTraits(kind=ToolKind.EDIT, subject="notebook_path"),
        "Bash": ToolTraits(kind=ToolKind.SHELL, subject="command"),
        "Monitor": ToolTraits(kind=ToolKind.SHELL, subject="command"),
        "PowerShell": ToolTraits(subject="command"),
        "WebFetch": ToolTraits(kind=ToolKind.NETWORK, subject="url"),
        "WebSearch": ToolTraits(kind=ToolKind.NETWORK, subject="query"),
        "Agent": ToolTraits(kind=ToolKind.SESSION, subject="subagent_type", default_subject="general-purpose"),
        "Skill": ToolTraits(subject="skill"),
        "EnterWorktree": ToolTraits(kind=ToolKind.PLACE, subject="path"),
        "ExitWorktree": ToolTraits(kind=ToolKind.PLACE),
        "ExitPlanMode": ToolTraits(kind=ToolKind.INTERACTIVE),
        "AskUserQuestion": ToolTraits(kind=ToolKind.INTERACTIVE),
    }
    own = (
        "TodoWrite TaskCreate TaskGet TaskList TaskUpdate TaskOutput TaskStop SendMessage ToolSearch EnterPlanMode "
        "TeamCreate TeamDelete ListAgents WriteReport CronCreate CronDelete CronList ScheduleWakeup"
    )
    return table | dict.fromkeys(own.split(), ToolTraits(kind=ToolKind.SESSION))


KNOWN_TOOLS: Final = _table()
READ_TOOLS: Final = frozenset(name for name, traits in KNOWN_TOOLS.items() if traits.kind is ToolKind.READ)
EDIT_TOOLS: Final = frozenset(name for name, traits in KNOWN_TOOLS.items() if traits.kind is ToolKind.EDIT)
SHELL_TOOLS: Final = frozenset(name for name, traits in KNOWN_TOOLS.items() if traits.kind is ToolKind.SHELL)
FILE_TOOLS: Final = READ_TOOLS | EDIT_TOOLS | {"Cd"}
"""Tools whose specifier is a path; `Cd` stands for a change of folder in a shell."""
PARAMETERS: Final = {
    "Agent": frozenset(("model", "name", "run_in_background", "isolation", "mode", "team_name", "description")),
    "Bash": frozenset(("run_in_background", "timeout", "dangerouslyDisableSandbox")),
    "Monitor": frozenset(("persistent", "timeout_ms")),
    "Grep": frozenset(("output_mode", "multiline", "type", "glob")),
    "Edit": frozenset(("replace_all",)),
    "NotebookEdit": frozenset(("edit_mode", "cell_type")),
}
"""Parameters that a specifier `name:value` can refer to; for tools that are not listed, any parameter."""

HANDS_ON: Final = frozenset(("Agent", "SendMessage"))
"""Tools that delegate work to other agents, whose later calls are decided separately. In mode auto, the delegated work
itself is reviewed."""
OTHER_SESSION: Final = "session:"
SOCKET: Final = "uds:"
BRIDGE: Final = "bridge:"
OUTSIDE: Final = (OTHER_SESSION, SOCKET, BRIDGE)
"""How the addresses of agents outside of the session begin."""
"""Prefix of a recipient outside the session."""

_CHANGING: Final = frozenset((ToolKind.EDIT, ToolKind.SHELL, ToolKind.PLACE, ToolKind.OTHER))
_ALIASES: Final = {"Task": "Agent"}


def canonical_name(tool: str) -> str:
    """Return the current name of a tool: `Task` is now `Agent`."""
    return _ALIASES.get(tool, tool)


def may_change(tool: str, traits: ToolTraits) -> bool:
    """True if a call may change files or run commands, as far as is known of its tool; of an unknown one it is assumed."""
    return traits.kind in _CHANGING and tool != "Skill"


@lru_cache(maxsize=1024)
def traits_of(tool: str, *, is_read_only: bool = False) -> ToolTraits:
    """Return what is known about a tool.

    Args:
        tool: Its name.
        is_read_only: The tool's own claim. It is used only for tools that are not in the table, and never for tools of
            MCP servers, whose claims are not trusted.
    """
    known = KNOWN_TOOLS.get(canonical_name(tool))
    if known is not None:
        return known
    if is_read_only and not tool.startswith("mcp__"):
        return ToolTraits(kind=ToolKind.READ)
    return ToolTraits()

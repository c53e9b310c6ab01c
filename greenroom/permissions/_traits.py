"""Traits of tools for rules: the input that is a call's subject, and the kind of work. Callers pass differences from
the table.
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
    """Looks at files, or at nothing outside: runs in the working directories."""
    EDIT = "edit"
    """Changes a file."""
    SHELL = "shell"
    """Runs a script in bash."""
    NETWORK = "network"
    """Fetches something from elsewhere."""
    SESSION = "session"
    """Acts on the session only (starting agents, the list of tasks, mail): runs unless a rule matches."""
    PLACE = "place"
    """Moves the agent into another checkout, or out of it: asked unless a rule allows it."""
    INTERACTIVE = "interactive"
    """Asks the user a question: never answered without them."""
    OTHER = "other"
    """Anything else: asked."""


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
        **dict.fromkeys(("Grep", "Glob", "LS"), search),
        **dict.fromkeys(("Edit", "MultiEdit", "Write"), edit),
        "NotebookEdit": ToolTraits(kind=ToolKind.EDIT, subject="notebook_path"),
        "Bash": ToolTraits(kind=ToolKind.SHELL, subject="command"),
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
        "TeamCreate TeamDelete ListAgents WriteReport"
    )
    return table | dict.fromkeys(own.split(), ToolTraits(kind=ToolKind.SESSION))


KNOWN_TOOLS: Final = _table()
READ_TOOLS: Final = frozenset(name for name, traits in KNOWN_TOOLS.items() if traits.kind is ToolKind.READ)
EDIT_TOOLS: Final = frozenset(name for name, traits in KNOWN_TOOLS.items() if traits.kind is ToolKind.EDIT)
FILE_TOOLS: Final = READ_TOOLS | EDIT_TOOLS | {"Cd"}
"""Tools whose specifier is a path; `Cd` stands for a change of folder in a shell."""
PARAMETERS: Final = {
    "Agent": frozenset(("model", "name", "run_in_background", "isolation", "mode", "team_name", "description")),
    "Bash": frozenset(("run_in_background", "timeout", "dangerouslyDisableSandbox")),
    "Grep": frozenset(("output_mode", "multiline", "type", "glob")),
    "Edit": frozenset(("replace_all",)),
    "NotebookEdit": frozenset(("edit_mode", "cell_type")),
}
"""Parameters that a specifier `name:value` can mean; of a tool that is not here, any."""

HANDS_ON: Final = frozenset(("Agent", "SendMessage"))
"""Tools that delegate work to other agents, whose calls are their own: in mode auto, the delegated work is reviewed."""
OTHER_SESSION: Final = "session:"
"""Prefix of an address outside the session."""

_ALIASES: Final = {"Task": "Agent"}


def canonical_name(tool: str) -> str:
    """Return the name that a tool has today: `Task` is `Agent`."""
    return _ALIASES.get(tool, tool)


@lru_cache(maxsize=1024)
def traits_of(tool: str, *, is_read_only: bool = False) -> ToolTraits:
    """Return what is known about a tool.

    Args:
        tool: Its name.
        is_read_only: What the tool says of itself; it counts where the table does not know the tool, and not for tools of
            MCP servers, whose word is not ours.
    """
    known = KNOWN_TOOLS.get(canonical_name(tool))
    if known is not None:
        return known
    if is_read_only and not tool.startswith("mcp__"):
        return ToolTraits(kind=ToolKind.READ)
    return ToolTraits()

"""What the rules know about tools: which input says what a call is about, and what kind of work it is.

Must not know: the tools themselves; whoever calls hands in what differs from the table.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final, final

import attrs

from greenroom.core import checked


class ToolKind(StrEnum):
    """What a tool's calls do, as far as permissions go."""

    READ = "read"
    """Looks at files, or at nothing outside: runs in the working directories."""
    EDIT = "edit"
    """Changes a file."""
    SHELL = "shell"
    """Runs a script in bash."""
    NETWORK = "network"
    """Fetches something from elsewhere."""
    SESSION = "session"
    """Acts on the session alone (starting agents, the list of tasks, mail): runs unless a rule speaks (agents 1.27)."""
    PLACE = "place"
    """Takes the agent into another checkout, or out of it: asked unless a rule allows it (agents 11.14)."""
    INTERACTIVE = "interactive"
    """Asks the user something: never answered without them (agents 1.113)."""
    OTHER = "other"
    """Anything else: asked."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class ToolTraits:
    """What permissions need to know about a tool.

    Attributes:
        kind: What its calls do.
        subject: The input that says what a call is about: the path, command, URL or name; empty where there is none.
        default_subject: What holds when that input is left out.
        searches: Whether the path is a folder that is searched (an empty one: the current folder).
    """

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
READ_TOOLS: Final = frozenset(name for name, one in KNOWN_TOOLS.items() if one.kind is ToolKind.READ)
EDIT_TOOLS: Final = frozenset(name for name, one in KNOWN_TOOLS.items() if one.kind is ToolKind.EDIT)
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
"""Tools by which work is handed to somebody whose calls these are not: in the mode auto, what is handed on is reviewed."""
OTHER_SESSION: Final = "session:"
"""How an address begins that leads out of the session."""

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

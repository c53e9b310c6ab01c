"""The tools of a child: those of the session, less what no child gets, less what its definition leaves out.

The order: what is never for children, what is not for the background, `disallowedTools`, `tools`.
What the caller may use in its present turn has no influence. A list that names something and means nothing
is a mistake, and refused; an empty one, and one that `disallowedTools` empties, are meant. A scoped denial such as
`Bash(rm *)` takes no tool away; it is a rule of permissions.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, final

from greenroom.agents._definition import AgentDefinition
from greenroom.mcp import names_tool
from greenroom.permissions import Mode, ToolKind, traits_of
from greenroom.tools import ToolError

COORDINATOR_TOOLS: Final = ("Agent", "SendMessage", "TaskStop")
"""All that a coordinator has: it delegates, and does nothing itself."""
SIMPLE_WORKER_TOOLS: Final = ("Bash", "Read", "Edit")
_MCP: Final = "mcp__"
_SPAWN: Final = "Agent"
_LEAVE_PLAN: Final = "ExitPlanMode"
_NEVER: Final = frozenset(
    {
        *("AskUserQuestion", "EndConversation", "EnterPlanMode", "ScheduleWakeup", "TaskOutput"),
        *("WaitForMcpServers", "Workflow"),
    }
)
_IN_BACKGROUND: Final = frozenset(
    {
        *(
            "Read",
            "Grep",
            "Glob",
            "CodeFacts",
            "TreeFacts",
            "Bash",
            "PowerShell",
            "Edit",
            "Write",
            "NotebookEdit",
            "WebFetch",
            "WebSearch",
        ),
        *("TodoWrite", "Skill", "ToolSearch", "EnterWorktree", "ExitWorktree", "Monitor", "TaskStop", "SendMessage"),
        *("Artifact", "ListAgents", _SPAWN, _LEAVE_PLAN),
    }
)
_LIST_TASKS: Final = ("TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
_FOR_TEAMMATES: Final = frozenset({*_LIST_TASKS, "CronCreate", "CronDelete", "CronList"})
_GIVEN_TO_TEAMMATES: Final = frozenset({*_LIST_TASKS, "SendMessage"})
_NOT_FOR_WORKERS: Final = frozenset({"ListAgents", "SendMessage", "StructuredOutput", "TeamCreate", "TeamDelete"})
_BUILT_IN: Final = _NEVER | _IN_BACKGROUND | _FOR_TEAMMATES | _NOT_FOR_WORKERS
_ALIASES: Final = {"Task": _SPAWN}


@final
class ZeroTools(ToolError):
    """The list of tools of a definition means none that its agent could have.

    Attributes:
        agent: Name of the definition.
        unrecognized: Entries that are the name of nothing.
        unavailable: Entries that name what an agent of this kind never has.
        absent: Entries that name what this session does not have.
    """

    def __init__(
        self,
        agent: str,
        *,
        unrecognized: tuple[str, ...],
        unavailable: tuple[str, ...],
        absent: tuple[str, ...],
        near: tuple[str, ...] = (),
    ) -> None:
        groups = (
            ("unrecognized", unrecognized),
            ("not available to subagents", unavailable),
            ("matched no tools in this session", absent),
        )
        listed = " ".join(f"{what} [{', '.join(entries)}]" for what, entries in groups if entries)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        super().__init__(
            f"Agent '{agent}' would be spawned with zero tools — refusing. "
            f"Its tools list resolved to nothing: {listed}{hint}"
        )
        self.agent = agent
        self.unrecognized = unrecognized
        self.unavailable = unavailable
        self.absent = absent


def tools_for_child(
    available: Sequence[str],
    definition: AgentDefinition,
    *,
    is_background: bool,
    can_spawn: bool,
    mode: Mode,
    is_teammate: bool = False,
) -> list[str]:
    """Return the names of the tools that a child of a type has, in the order of `available`.

    Args:
        available: Names of the tools that the session could give it, those of its MCP servers included; for a
            coordinator's worker what `worker_tools` leaves of them.
        definition: Its own.
        is_background: Whether it runs in the background.
        can_spawn: Whether it is high enough to start agents itself.
        mode: Of its permissions: only in plan mode is there a plan to leave.
        is_teammate: Whether it is one; it keeps the list of tasks, and gets it and mail if its own list leaves them out.

    Raises:
        ZeroTools: Its list names something, and nothing that it could have.
    """
    is_withheld = partial(
        _is_withheld, is_background=is_background, can_spawn=can_spawn, mode=mode, is_teammate=is_teammate
    )
    possible = [tool for tool in available if not is_withheld(tool)]
    denied = [_base(disallowed_tool) for disallowed_tool in definition.disallowed_tools if "(" not in disallowed_tool]
    rest = [tool for tool in possible if not _is_named(denied, tool)]
    if definition.tools is None or "*" in definition.tools:
        return rest
    listed = [_base(each) for each in definition.tools]
    if listed and not any(_is_named(listed, tool) for tool in possible):
        left = [each for each in definition.tools if not _is_named(denied, _base(each))]
        if left:  # else its denials emptied it
            raise _zero_tools(definition.name, left, available, is_withheld)
    given = _GIVEN_TO_TEAMMATES if is_teammate else frozenset()
    return [tool for tool in rest if tool in given or _is_named(listed, tool)]


def possible_tools(
    available: Iterable[str], *, is_background: bool, can_spawn: bool, mode: Mode, is_teammate: bool = False
) -> list[str]:
    """Return what `tools_for_child` leaves to a child, whatever its definition says."""
    is_withheld = partial(
        _is_withheld, is_background=is_background, can_spawn=can_spawn, mode=mode, is_teammate=is_teammate
    )
    return [tool for tool in available if not is_withheld(tool)]


def coordinator_tools(available: Iterable[str]) -> list[str]:
    """Return what a coordinator has of the session's tools."""
    return [tool for tool in available if tool in COORDINATOR_TOOLS]


def worker_tools(available: Iterable[str], *, is_simple: bool = False) -> list[str]:
    """Return what a coordinator's worker can have of the session's tools: no mail, no team, no structured output.

    Args:
        available: Names of the tools that the session could give it.
        is_simple: Whether the session is kept to the least: a shell, reading and editing.
    """
    if is_simple:
        return [tool for tool in available if tool in SIMPLE_WORKER_TOOLS]
    return [tool for tool in available if tool not in _NOT_FOR_WORKERS and _fits_background(tool)]


def _is_withheld(tool: str, *, is_background: bool, can_spawn: bool, mode: Mode, is_teammate: bool) -> bool:
    if tool in _NEVER or (tool == _SPAWN and not can_spawn) or (tool == _LEAVE_PLAN and mode is not Mode.PLAN):
        return True
    if is_teammate and tool in _FOR_TEAMMATES:
        return False
    return (is_background or is_teammate) and not _fits_background(tool)


def _fits_background(tool: str) -> bool:
    return tool in _IN_BACKGROUND or not _is_built_in(tool)


def _is_built_in(tool: str) -> bool:
    """Return whether it is one of the runtime's own; those of MCP servers and of the embedding program are not."""
    return not tool.startswith(_MCP) and (tool in _BUILT_IN or traits_of(tool).kind is not ToolKind.OTHER)


def _base(entry: str) -> str:
    """Return the name in an entry: the types in `Agent(a, b)` are for a session's own agent, scopes are for rules."""
    name = entry.partition("(")[0].strip()
    return _ALIASES.get(name, name)


def _is_named(entries: Iterable[str], tool: str) -> bool:
    return any(entry in {tool, "*"} or (entry.startswith(_MCP) and names_tool(entry, tool)) for entry in entries)


def _zero_tools(
    agent: str, entries: Sequence[str], available: Sequence[str], is_withheld: Callable[[str], bool]
) -> ZeroTools:
    unavailable = [entry for entry in entries if is_withheld(_base(entry))]
    others = [each for each in entries if each not in unavailable]
    unrecognized = [other for other in others if not (other.startswith(_MCP) or _is_built_in(_base(other)))]
    names = sorted({*_BUILT_IN - _NEVER, *available})
    near = [close[0] for each in unrecognized if (close := difflib.get_close_matches(_base(each), names, n=1))]
    return ZeroTools(
        agent,
        unrecognized=tuple(unrecognized),
        unavailable=tuple(unavailable),
        absent=tuple(each for each in others if each not in unrecognized),
        near=tuple(dict.fromkeys(near)),
    )

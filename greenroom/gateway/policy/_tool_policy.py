"""Which tools a session is offered: aliases, groups, patterns, and lists that can only take away.

Rule 1: a denial always wins. Rule 2: an `allow` keeps of what is there, and brings nothing back. Rule 3: a sub-agent has
neither the session tools nor those that start agents, except `sessions_spawn` where it may start others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.gateway.config._agents import AgentConfig, ToolRules
from greenroom.gateway.config._config import GatewayConfig

OriginClass: TypeAlias = Literal["owner", "group", "people"]
"""Who writes to a session: only owners, a group, or a person who is none."""

SESSION_TOOLS: Final = ("sessions_list", "sessions_history", "sessions_send", "sessions_spawn")
"""Tools that no sub-agent has."""
AGENT_TOOLS: Final = (
    *("Agent", "SendMessage", "TeamCreate", "TeamDelete"),
    *("TaskCreate", "TaskGet", "TaskList", "TaskUpdate"),
)
"""The other vocabulary: tools for sub-agents and teams."""
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("Read",),
    "write": ("Write",),
    "edit": ("Edit",),
    "apply_patch": ("Edit",),
    "exec": ("Bash",),
    "bash": ("Bash",),
    "process": ("TaskOutput", "TaskStop"),
    "grep": ("Grep",),
    "find": ("Glob",),
    "ls": ("Glob",),
    "web_fetch": ("WebFetch",),
}
"""Names of OpenClaw for tools of ours."""
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "group:fs": ("Read", "Write", "Edit", "Grep", "Glob"),
    "group:runtime": ("Bash", "TaskOutput", "TaskStop", "Monitor"),
    "group:web": ("WebFetch", "WebSearch"),
    "group:sessions": (*SESSION_TOOLS, "session_status", "subagents", "agents_list"),
    "group:memory": ("memory_search", "memory_get"),
    "group:automation": ("cron", "gateway"),
    "group:safe-child": (
        *("gateway", "agents_list", "whatsapp_login", "session_status", "cron"),
        *("memory_search", "memory_get"),
    ),
}
"""Names for several tools."""


@final
@attrs.frozen
class OfferedTools:
    """The tools of a session, and why the others are not among them."""

    names: tuple[str, ...]
    """The tools that are offered, in the given order."""
    why: Mapping[str, str]
    """For each of the others, the setting that took it away."""


def tools_of(
    config: GatewayConfig,
    agent: AgentConfig,
    tool_names: Sequence[str],
    *,
    is_child: bool,
    may_spawn: bool = False,
    origin_class: OriginClass = "owner",
    room: ToolRules | None = None,
) -> OfferedTools:
    """Return the tools that a session is offered.

    Args:
        config: The configuration.
        agent: The agent of the session.
        tool_names: The tools that there are.
        is_child: True for the session of a sub-agent.
        may_spawn: True if that sub-agent may start others.
        origin_class: Who writes to the session; for a sub-agent, to the one that it descends from.
        room: Rules of the group, if the session is one's.
    """
    left = list(dict.fromkeys(tool_names))
    why: dict[str, str] = {}
    stages: Iterable[tuple[str, ToolRules]] = _stages(config, agent, origin_class=origin_class, room=room)
    if is_child:
        denied = {*SESSION_TOOLS, *AGENT_TOOLS} - ({"sessions_spawn"} if may_spawn else set())
        ours = ("sub-agents start no others", ToolRules(deny=tuple(denied)))
        stages = chain([ours], stages, [("tools.subagents.tools", config.tools.subagents.tools)])
    for setting, kept in stages:
        gone = [name for name in left if not _keeps(kept, name)]
        why |= dict.fromkeys(gone, setting)
        left = [name for name in left if name not in why]
    return OfferedTools(tuple(left), why)


def may_call(offered: OfferedTools, name: str) -> bool:
    """True if a call of a tool is carried out: a tool that is not offered is refused when a model calls it anyway."""
    return name in offered.names


@lru_cache(maxsize=4_096)
def fits(pattern: str, name: str) -> bool:
    """True if a pattern means a tool: a name, an alias, a group, or a text with `*`; case does not count."""
    return any(one.fullmatch(name.lower()) for one in _compiled(pattern.strip().lower()))


def idle_patterns(config: GatewayConfig, tool_names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the patterns that mean no tool that there is, each with its path and in the order of the file."""
    names = tuple(tool_names)
    return tuple(
        (f"{path}[{at}]", pattern)
        for path, patterns in _lists(config)
        for at, pattern in enumerate(patterns)
        if not any(fits(pattern, name) for name in names)
    )


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[re.Pattern[str], ...]:
    words = ALIASES.get(pattern) or GROUPS.get(pattern) or (pattern,)
    return tuple(re.compile(".*".join(map(re.escape, word.lower().split("*"))), re.DOTALL) for word in words)


@lru_cache(maxsize=4_096)
def _keeps(rules: ToolRules, name: str) -> bool:
    is_allowed = rules.allow is None or any(fits(pattern, name) for pattern in rules.allow)
    return is_allowed and not any(fits(pattern, name) for pattern in rules.deny)


def _stages(
    config: GatewayConfig, agent: AgentConfig, *, origin_class: OriginClass, room: ToolRules | None
) -> Iterator[tuple[str, ToolRules]]:
    tools = config.tools
    other = AGENT_TOOLS if tools.vocabulary == "sessions" else GROUPS["group:sessions"]
    yield "tools.vocabulary", ToolRules(deny=tuple(other))
    yield "tools", ToolRules(allow=tools.allow, deny=tools.deny)
    yield f"agents.list ({agent.id})", agent.tools
    if origin_class != "owner":
        yield f"tools.byOrigin.{origin_class}", getattr(tools.by_origin, origin_class)
    if room is not None:
        yield "groups", room


def _lists(config: GatewayConfig) -> Iterator[tuple[str, tuple[str, ...]]]:
    tools = config.tools
    rules = [
        ("tools", ToolRules(allow=tools.allow, deny=tools.deny)),
        ("tools.subagents.tools", tools.subagents.tools),
        *((f"agents.list[{at}].tools", agent.tools) for at, agent in enumerate(config.agents.list)),
    ]
    for path, each in rules:
        yield f"{path}.allow", each.allow or ()
        yield f"{path}.deny", each.deny

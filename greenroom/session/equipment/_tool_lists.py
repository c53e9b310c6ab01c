"""The lists of tools of a definition, as a session reads them.

Rule: a list that names something and means nothing is a mistake, and refused; an empty one, and one that `disallowedTools`
empties, are meant.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

from greenroom.agents import AgentDefinition
from greenroom.core import UsageError
from greenroom.mcp import names_tool
from greenroom.permissions import ToolKind, canonical_name, traits_of
from greenroom.tools.builtin import STANDARD_TOOLS

_MCP: Final = "mcp__"
_SKILL: Final = "Skill"


def names(patterns: Iterable[str], tool: str) -> bool:
    """Say whether a list of tools names one: by its name, of today or before, or an MCP server's all at once.

    What stands behind it in parentheses is about its calls, such as the types in `Agent(a, b)`.
    """
    whole, of_servers = _read(tuple(patterns))
    return tool in whole or any(names_tool(pattern, tool) for pattern in of_servers)


@lru_cache(maxsize=1024)
def _read(patterns: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names that a list says, and its entries about MCP servers: it is the same for each agent of a kind."""
    of_servers = tuple(pattern for pattern in patterns if pattern.startswith(_MCP))
    others = [pattern for pattern in patterns if not pattern.startswith(_MCP)]
    return frozenset((*others, *(canonical_name(each.partition("(")[0].strip()) for each in others))), of_servers


def check_tool_list(definition: AgentDefinition, tools: Collection[str], *, are_all_there: bool) -> None:
    """Refuse a definition whose list of tools means none of those that there are.

    Args:
        definition: The agent's.
        tools: Names of the tools that the session could give it.
        are_all_there: Whether no MCP server is still to come; before that, an entry about such tools may mean some.

    Raises:
        UsageError: Nothing in the list means anything; the text names it, in the groups of the product.
    """
    listed = definition.tools or ()
    entries = [name for name in listed if are_all_there or not name.startswith(_MCP)]
    if not listed or "*" in listed or len(entries) < len(listed):
        return
    if _SKILL in entries or any(names(entries, tool) for tool in tools):
        return
    standard = {tool.name for tool in STANDARD_TOOLS}
    unknown = [
        entry for entry in entries if not (entry.startswith(_MCP) or _is_known(entry.partition("(")[0], standard))
    ]
    absent = [entry for entry in entries if entry not in unknown]
    groups = [f"unrecognized [{', '.join(unknown)}]"] if unknown else []
    groups += [f"matched no tools in this session [{', '.join(absent)}]"] if absent else []
    near = [
        close[0] for name in unknown if (close := difflib.get_close_matches(name, sorted({*standard, *tools}), n=1))
    ]
    hint = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    raise UsageError(
        f"Agent '{definition.name}' would be spawned with zero tools — refusing. "
        f"Its tools list resolved to nothing: {' '.join(groups)}{hint}"
    )


def _is_known(name: str, standard: Collection[str]) -> bool:
    return name in standard or traits_of(name).kind is not ToolKind.OTHER

"""The tools of a session, and which of them an agent has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

from greenroom.agents import AgentDefinition, AgentState
from greenroom.permissions import Policy, hidden_tools
from greenroom.session.equipment._tool_lists import check_tool_list, names
from greenroom.tools import Tool, ToolSet

MAX_SHARED: Final = 64
"""Maximum number of tool sets that are kept for agents of one kind."""


@final
class Toolbox:
    """The tools of one session.

    Args:
        tools: The tools that the program gave, with placeholders for those that belong to the session.
    """

    def __init__(self, tools: ToolSet) -> None:
        self._tools = tools
        self._tool_sets: dict[tuple[object, ...], tuple[Policy | None, ToolSet]] = {}

    @property
    def tools(self) -> ToolSet:
        """The tools that every agent may have, as far as its definition and the rules allow."""
        return self._tools

    @staticmethod
    def check(definition: AgentDefinition, known: Sequence[str], *, are_all_there: bool) -> None:
        """Check the tools that a definition lists; see `check_tool_list`."""
        check_tool_list(definition, known, are_all_there=are_all_there)

    def bind(self, bound: Mapping[str, Tool]) -> None:
        """Replace tools by those of the same names."""
        self._tools = ToolSet(bound.get(tool.name, tool) for tool in self._tools.values())
        self._tool_sets.clear()

    def exchange(self, name: str, new: Tool, homes: Iterable[AgentState]) -> None:
        """Replace a tool in the session and in the agents that have it; it counts from their next request on."""
        old = self._tools.get(name)
        self.bind({name: new})
        for home in homes:
            if old is not None and home.profile.tools.get(name) is old:
                home.replace(tools=ToolSet(new if tool is old else tool for tool in home.profile.tools.values()))

    def choose(self, home: AgentState, more: Sequence[Tool] = ()) -> ToolSet:
        """Return the session's tools and `more`, as far as an agent may have them; agents of one kind share a set."""
        if more or home.profile.skill_tool is not None or home.answer_tool is not None:
            return self._choose(home, more)
        listed = home.profile.definition.tools
        denied = tuple(home.profile.definition.disallowed_tools)
        key = (id(home.profile.policy), home.profile.narrow, None if listed is None else tuple(listed), denied)
        if key not in self._tool_sets:
            if len(self._tool_sets) >= MAX_SHARED:
                self._tool_sets.clear()
            self._tool_sets[key] = (home.profile.policy, self._choose(home, ()))
        return self._tool_sets[key][1]

    def _choose(self, home: AgentState, more: Sequence[Tool]) -> ToolSet:
        definition, policy = home.profile.definition, home.profile.policy
        taken = {name for name in definition.disallowed_tools if "(" not in name}
        replaced = {tool.name for tool in more}
        there_are = [*(tool for tool in self._tools.values() if tool.name not in replaced), *more]
        if home.profile.skill_tool is not None:
            there_are.append(home.profile.skill_tool)
        if home.profile.narrow is not None:
            left = set(home.profile.narrow([tool.name for tool in there_are]))
            there_are = [tool for tool in there_are if tool.name in left]
        tools = [tool for tool in there_are if not names(taken, tool.name)]
        if definition.tools is not None and "*" not in definition.tools:
            wanted = set(definition.tools) | (
                {home.profile.skill_tool.name} if home.profile.skill_tool is not None else set()
            )
            tools = [tool for tool in tools if names(wanted, tool.name)]
        hidden = hidden_tools(policy, [tool.name for tool in tools]) if policy is not None else frozenset()
        answers = () if home.answer_tool is None else (home.answer_tool,)
        kept = (*(tool for tool in tools if tool.name not in hidden), *answers)
        return ToolSet({tool.name: tool for tool in kept}.values())

    def own(self, home: AgentState) -> list[Tool]:
        """Return what an agent has besides the session's tools and Skill, such as the tools of its MCP servers."""
        return [
            tool
            for name, tool in home.profile.tools.items()
            if name not in self._tools and tool is not home.profile.skill_tool
        ]

    def missing(self, home: AgentState, more: Sequence[Tool], *, may_grow: bool) -> list[str]:
        """Return a line about tools that the agent's definition lists and the session lacks; nothing if there are none."""
        if not home.profile.definition.tools:
            return []
        there = [
            *self._tools,
            *(tool.name for tool in more),
            *([home.profile.skill_tool.name] if home.profile.skill_tool else []),
        ]
        named = [name.partition("(")[0] for name in home.profile.definition.tools if name != "*"]
        if may_grow:  # the tools of a server may be added later
            named = [name for name in named if not name.startswith("mcp__")]
        missing = [repr(name) for name in named if not any(names({name}, tool) for tool in there)]
        if not missing:
            return []
        definition = home.profile.definition
        has_any = "goes without" if len(home.profile.tools) else "has no tools at all"
        where = f"{definition.origin.source}: " if definition.origin.source else ""
        return [f"{where}agent {definition.name!r} {has_any}: there is no tool {', '.join(missing)} here"]

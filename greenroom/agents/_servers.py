"""The MCP servers of one agent: the session's, those that it requires, and its own, which live and die with it.

What an agent requires is there before anything of its own is started. The caller gives them an owner
or closes them. An entry that cannot be used is one line, and takes nothing else away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.actors import Ref
from greenroom.agents._definition import AgentDefinition
from greenroom.core.sources import Diagnostic, Kind, Scope
from greenroom.mcp import (
    McpServers,
    McpTool,
    MissingServers,
    ResourceTool,
    Server,
    ServerConfig,
    ServerScope,
    make_resource_tools,
    names_tool,
    parse_server,
    tool_name,
)

_GIVEN: Final = frozenset((Scope.CLI, Scope.BUILTIN, Scope.MANAGED))
"""The scopes whose definitions may bring servers also where files may not name any."""
_OF_ADMINISTRATOR: Final = frozenset((Scope.BUILTIN, Scope.MANAGED))
"""The scopes whose definitions may where an administrator says which servers there are."""


@final
@attrs.frozen(kw_only=True)
class AgentServers:
    """The servers that one agent reaches. Made by `open_agent_servers`."""

    session: McpServers | None = None
    """Those of the session, which all agents share."""
    own: McpServers | None = None
    """Those of its definition; None where it has none that can run."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """The parts of the definition without effect."""

    def tools(self, definition: AgentDefinition) -> tuple[McpTool, ...]:
        """Return the tools of connected servers that a definition allows, as of now; its own come first.

        In both of its lists `mcp__server`, `mcp__server__*` and `mcp__*` mean what they say. An entry with parentheses denies
        single calls, and takes no tool away.
        """
        denied = [disallowed_tool for disallowed_tool in definition.disallowed_tools if "(" not in disallowed_tool]
        found: dict[str, McpTool] = {}
        for tool in self._all():
            is_listed = definition.tools is None or any(names_tool(each, tool.name) for each in definition.tools)
            if is_listed and not any(names_tool(name, tool.name) for name in denied):
                found.setdefault(tool.name, tool)
        return tuple(found.values())

    def resource_tools(
        self, definition: AgentDefinition, may_reach: Callable[[str], bool] = lambda _: True
    ) -> tuple[ResourceTool, ...]:
        """Return the tools for resources that a definition allows; none where no server that it may reach has any.

        Args:
            definition: The agent's; if it is denied all tools of a server, it does not see its resources either.
            may_reach: Whether rules let the agent reach the tools that begin with a name, such as `mcp__server__`.
        """
        groups = [folder for folder in (self.own, self.session) if folder is not None]
        if not groups:
            return ()
        denied = [disallowed_tool for disallowed_tool in definition.disallowed_tools if "(" not in disallowed_tool]

        def servers() -> list[Server]:
            found = [server for group in groups for server in group.with_resources()]
            begins = [(server, tool_name(server.name, "")) for server in found]
            free = [begin for begin in begins if not any(names_tool(pattern, begin[1]) for pattern in denied)]
            return [server for server, name in free if may_reach(name)]

        listed = definition.tools
        return tuple(
            make_resource_tool
            for make_resource_tool in make_resource_tools(groups[0].library(servers))
            if (listed is None or any(names_tool(entry, make_resource_tool.name) for entry in listed))
            and not any(names_tool(entry, make_resource_tool.name) for entry in denied)
        )

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever something of these servers changes, in that step; return what ends that."""
        stops = [folder.on_change(listener) for folder in (self.own, self.session) if folder is not None]

        def stop() -> None:
            for stop in stops:
                stop()

        return stop

    def _all(self) -> Iterator[McpTool]:
        for servers in (self.own, self.session):
            if servers is not None:
                yield from servers.tools

    def end_with(self, agent: Ref[Any]) -> None:
        """End its own servers when the agent has terminated, across its restarts; at once if it has."""
        if self.own is not None:
            self.own.end_with(agent)

    async def close(self) -> None:
        """End its own servers, and wait until nothing is left of them; for an agent that was not started after all."""
        if self.own is not None:
            await self.own.close()


async def open_agent_servers(
    definition: AgentDefinition,
    session: McpServers | None,
    *,
    environ: Mapping[str, str],
    trusted: Iterable[Path] = (),
) -> AgentServers:
    """Wait for the servers that an agent requires, then connect its own; each of these takes 30 s at most.

    A server of its own that cannot be connected has no tools, and its state says why. Cancelled, nothing is left.

    Args:
        definition: The agent's.
        session: The servers of the session; None where it has none.
        environ: What `${NAME}` in entries stands for.
        trusted: The folders that the user has trusted; a project's agents start servers of their own only there.

    Raises:
        MissingServers: A server that it requires has no tools.
    """
    if definition.required_mcp_servers:
        if session is None:
            raise MissingServers(definition.required_mcp_servers, {})
        await session.wait_required(definition.required_mcp_servers)
    why_not = "" if definition.runs_own_code(trusted) else f"trust {definition.origin.folder} first"
    given = _OF_ADMINISTRATOR if session is not None and session.is_managed else _GIVEN
    if session is not None and session.is_closed and definition.origin.scope not in given:
        why_not = "only servers that were given, or an administrator's, are connected here"
    configs, diagnostics = _configs(definition, session, environ, why_not=why_not)
    if session is None or not configs:
        return AgentServers(session=session, diagnostics=diagnostics)
    own = await session.start_more(configs)
    try:
        await own.wait_settled()
    except BaseException:
        own.end("the agent was not started")
        raise
    return AgentServers(session=session, own=own, diagnostics=diagnostics)


def _configs(
    definition: AgentDefinition, session: McpServers | None, environ: Mapping[str, str], *, why_not: str
) -> tuple[list[ServerConfig], tuple[Diagnostic, ...]]:
    source = definition.origin.source or f"agent {definition.name}"
    found: list[Diagnostic] = []
    configs: dict[str, ServerConfig] = {}

    def note(name: str, text: str) -> None:
        found.append(Diagnostic(kind=Kind.IGNORED, source=source, text=f"server {name!r} {text}"))

    for entry in definition.mcp_servers:
        if entry.config is None:
            if session is None or session.get(entry.name) is None:
                note(entry.name, "is none of this session; describe it in the definition, or in .mcp.json")
        elif why_not:
            note(entry.name, f"is not started: {why_not}")
        elif session is None:
            note(entry.name, "is not started: this session has no servers")
        elif entry.name in configs:
            note(entry.name, "is listed twice; the first entry is used")
        else:
            parsed = parse_server(entry.name, entry.config, scope=ServerScope.AGENT, source=source, environ=environ)
            found += parsed.diagnostics
            refused = "" if parsed.config is None else session.rules.why_not(parsed.config)
            if refused:
                note(entry.name, f"is not started: {refused}")
            elif parsed.config is not None:
                configs[entry.name] = parsed.config
    return list(configs.values()), tuple(found)

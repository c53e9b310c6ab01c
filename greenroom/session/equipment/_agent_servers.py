"""Tools of MCP servers for the agents of a session, kept in step with what they list, and prompts as commands.

Rule 1: a tool that a connected server no longer lists is gone from the agent's next request, and a new one is there; of a server
that was lost, an agent keeps the tools that it had, because a call waits for it. Rule 2: where nothing has
changed for an agent, its set of tools stays the same object: prompts stay cached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from greenroom.actors import Context
from greenroom.agents import AgentServers, AgentState, open_agent_servers
from greenroom.core import UsageError
from greenroom.mcp import McpError, McpServers, McpTool, ResourceTool, ServerStatus, prompt_call
from greenroom.permissions import hidden_tools

ServerTool: TypeAlias = McpTool | ResourceTool
Give: TypeAlias = Callable[[AgentState, Sequence[ServerTool]], None]
"""Gives an agent other tools of servers in the place of those that it has."""


async def reach_servers(
    home: AgentState,
    ctx: Context,
    session: McpServers,
    *,
    environ: Mapping[str, str],
    trusted: tuple[Path, ...],
    give: Give,
) -> tuple[list[ServerTool], list[str]]:
    """Connect an agent to the servers of the session and to its own; returns its tools, and what of its definition has no effect.

    The session's servers are waited for until they are connected or have failed. From then on the agent has what they list.

    Args:
        home: The agent.
        ctx: Its actor's.
        session: The servers of the session.
        environ: What `${NAME}` in entries stands for.
        trusted: The folders that the user has trusted.
        give: Called with its tools when they have changed.

    Raises:
        MissingServers: One that it requires is not there.
    """
    if not home.profile.definition.required_mcp_servers:  # else it waits for these
        await session.wait_settled()
    mine = await open_agent_servers(home.profile.definition, session, environ=environ, trusted=trusted)
    mine.end_with(ctx.ref)
    had = _tools_of(home, mine)

    def follow() -> None:
        nonlocal had
        now = after_change(had, _tools_of(home, mine))
        if now is not had:
            had = now
            give(home, now)

    stop = mine.on_change(follow)
    ctx.ref.watch(lambda _: stop())
    problems = [str(diagnostic) for diagnostic in mine.diagnostics if diagnostic.is_problem]
    if not home.profile.is_child:  # once, not for every agent
        problems += [f"MCP server {server.name!r}: {line}" for server in session.states() for line in server.left_out]
    return had, problems


_SAYS_ALL: Final = frozenset((ServerStatus.CONNECTED, ServerStatus.DISABLED))
"""Of a server of this status, an agent has what it lists and nothing else."""


def _tools_of(home: AgentState, mine: AgentServers) -> list[ServerTool]:
    def may_reach(name: str) -> bool:
        return home.profile.policy is None or not hidden_tools(home.profile.policy, [name])

    return [*mine.tools(home.profile.definition), *mine.resource_tools(home.profile.definition, may_reach)]


def after_change(had: list[ServerTool], listed: Sequence[ServerTool]) -> list[ServerTool]:
    """Return the tools that an agent has now: those that it had in their places, then new ones; `had` itself if it is the same.

    Args:
        had: What it had.
        listed: What is there now.
    """
    fresh = {tool.name: tool for tool in listed}
    now: list[ServerTool] = []
    is_same = True
    for tool in had:
        other = fresh.pop(tool.name, None)
        if other is None:
            remains = isinstance(tool, McpTool) and tool.server.status not in _SAYS_ALL
            is_same = is_same and remains
            now += [tool] if remains else []
        elif _is_other(tool, other):
            is_same = False
            now.append(other)
        else:
            now.append(tool)
    return had if is_same and not fresh else [*now, *fresh.values()]


def _is_other(one: ServerTool, other: ServerTool) -> bool:
    if isinstance(one, McpTool) and isinstance(other, McpTool):
        return one.server is not other.server or one.info != other.info
    return type(one) is not type(other)


async def read_server_prompt(session: McpServers, text: str) -> str | None:
    """Return what the prompt says that a user's words call as `/mcp__server__prompt`; None where they call none.

    Raises:
        UsageError: There is no such prompt, an argument is missing, or its server did not give it.
    """
    call = prompt_call(text)
    if call is None:
        return None
    name, typed = call
    prompt = await session.find_prompt(name)
    try:
        return await prompt.expand(typed)
    except McpError as error:
        raise UsageError(f"/{name}: {error}") from error

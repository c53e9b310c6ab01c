"""The MCP servers of one agent: required, shared, its own; which of their tools it has, and when they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.agents import AgentDefinition, AgentMcpServer, AgentServers, DefinitionOrigin, open_agent_servers
from greenroom.core.sources import Scope
from greenroom.mcp import McpServers, McpSettings, MissingServers, ServerScope, ServerStatus
from greenroom.supervisor import Runtime, open_runtime
from tests.mcp.fakes import Agent, FakeServer, http, start
from tests.virtual import pytest_collection_modifyitems, virtual_time

__all__ = ["pytest_collection_modifyitems", "virtual_time"]

OWN = AgentMcpServer("own", {"command": "own"})


def definition(**values: Any) -> AgentDefinition:
    return AgentDefinition(name="scout", **values)


async def servers_of(runtime: Runtime, **more: Any) -> McpServers:
    servers = await start(runtime, http("gh"), http("db"), gh=FakeServer(), db=FakeServer(), **more)
    await servers.wait_settled()
    return servers


def names(servers: AgentServers, **values: Any) -> list[str]:
    return [tool.name for tool in servers.tools(definition(**values))]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["gh echo", "gh slow", "db echo", "db slow"]),
        ({"tools": ("Read",)}, []),
        ({"tools": ("Read", "mcp__gh")}, ["gh echo", "gh slow"]),
        ({"tools": ("mcp__gh__*", "mcp__db__echo")}, ["gh echo", "gh slow", "db echo"]),
        ({"disallowed_tools": ("mcp__gh", "mcp__db__slow(x)")}, ["db echo", "db slow"]),
        ({"disallowed_tools": ("mcp__*",)}, []),
        ({"tools": ("mcp__gh",), "disallowed_tools": ("mcp__gh__slow",)}, ["gh echo"]),
    ],
)
async def test_a_definition_says_which_tools_an_agent_has(
    virtual_time: None, values: dict[str, Any], expected: list[str]
) -> None:
    """Behaviours (12), line 6; CL-38."""
    async with open_runtime() as runtime:
        found = await open_agent_servers(definition(), await servers_of(runtime), environ={})

        assert [name.removeprefix("mcp__").replace("__", " ") for name in names(found, **values)] == expected


async def test_its_own_servers_come_and_go_with_the_agent(virtual_time: None) -> None:
    """Behaviours (12), line 4."""
    own_server = FakeServer(connects_after_s=3)
    async with open_runtime() as runtime:
        session = await servers_of(runtime, own=own_server)
        mine = definition(mcp_servers=(OWN, AgentMcpServer("gh"), AgentMcpServer("nobody")))
        found = await open_agent_servers(mine, session, environ={})
        agent = await runtime.spawn(Agent)
        found.end_with(agent)

        assert names(found)[:2] == ["mcp__own__echo", "mcp__own__slow"]
        assert len(names(found)) == 6
        assert len(session.tools) == 4
        assert [str(diagnostic) for diagnostic in found.diagnostics] == [
            "agent scout: ignored: server 'nobody' is none of this session; describe it in the definition, or in .mcp.json"
        ]

        agent.tell("crash, and come back")
        await trio.sleep(5)
        assert own_server.open_now == 1
        agent.kill()
        await agent.wait_ended()
        await trio.sleep(1)
        assert own_server.open_now == 0
        assert len(names(found)) == 4


async def test_its_own_server_of_a_name_of_the_session_comes_first(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        session = await servers_of(runtime)
        found = await open_agent_servers(
            definition(mcp_servers=(AgentMcpServer("gh", {"command": "mine"}),)), session, environ={}
        )

        assert len(names(found)) == len(set(names(found))) == 4
        assert {tool.server.config.type for tool in found.tools(definition()) if tool.server.name == "gh"} == {"stdio"}
        await found.close()
        assert len(names(found)) == 4


async def test_a_cancelled_start_leaves_no_server_behind(virtual_time: None) -> None:
    """Behaviours (12), line 4."""
    own_server = FakeServer(connects_after_s=3)
    async with open_runtime() as runtime:
        session = await servers_of(runtime, own=own_server)
        with trio.move_on_after(1) as scope:
            await open_agent_servers(definition(mcp_servers=(OWN,)), session, environ={})
        await trio.sleep(10)

        assert scope.cancelled_caught
        assert (own_server.opened, own_server.open_now) == (1, 0)


async def test_what_it_requires_is_there_before_anything_of_its_own_starts(virtual_time: None) -> None:
    own_server = FakeServer()
    async with open_runtime() as runtime:
        session = await servers_of(runtime, own=own_server)
        with pytest.raises(MissingServers):
            await open_agent_servers(
                definition(required_mcp_servers=("jira",), mcp_servers=(OWN,)), session, environ={}
            )
        with pytest.raises(MissingServers):
            await open_agent_servers(definition(required_mcp_servers=("gh",)), None, environ={})
        await open_agent_servers(definition(required_mcp_servers=("GH",)), session, environ={})

        assert own_server.opened == 0


@pytest.mark.parametrize(("scope", "starts"), [(Scope.USER, False), (Scope.PROJECT, False), (Scope.CLI, True)])
async def test_where_only_given_servers_are_connected_definitions_of_files_start_none(
    virtual_time: None, scope: Scope, *, starts: bool
) -> None:
    mine = definition(mcp_servers=(OWN,), origin=DefinitionOrigin(scope=scope, source="scout.md"))
    async with open_runtime() as runtime:
        session = await servers_of(runtime, own=FakeServer(), settings=McpSettings(only_given=True))
        found = await open_agent_servers(mine, session, environ={})

        assert (found.own is not None) is starts
        assert (
            "only servers that were given" in "".join(diagnostic.text for diagnostic in found.diagnostics)
        ) is not starts


async def test_an_administrator_s_servers_keep_out_those_of_files(virtual_time: None) -> None:
    mine = definition(mcp_servers=(OWN,), origin=DefinitionOrigin(scope=Scope.USER, source="scout.md"))
    async with open_runtime() as runtime:
        managed = http("gh", scope=ServerScope.MANAGED)
        session = await start(runtime, managed, gh=FakeServer(), own=FakeServer())
        assert (await open_agent_servers(mine, session, environ={})).own is None


async def test_a_project_s_agent_starts_servers_only_in_a_folder_that_is_trusted(virtual_time: None) -> None:
    own_server = FakeServer()
    folder = Path("/project")
    mine = definition(mcp_servers=(OWN,), origin=DefinitionOrigin(folder=folder, source="scout.md"))
    async with open_runtime() as runtime:
        session = await servers_of(runtime, own=own_server)
        found = await open_agent_servers(mine, session, environ={}, trusted=[Path("/")])
        assert found.own is None
        assert [diagnostic.text for diagnostic in found.diagnostics] == [
            "server 'own' is not started: trust /project first"
        ]

        found = await open_agent_servers(mine, session, environ={}, trusted=[folder])
        assert found.own is not None
        assert [state.status for state in found.own.states()] == [ServerStatus.CONNECTED]

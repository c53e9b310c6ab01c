"""Resources of servers: the two tools, what they show, and when they are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from greenroom.agents import AgentDefinition
from greenroom.agents._servers import AgentServers
from greenroom.core.ports import InlineBlocking
from greenroom.mcp import McpServers, ResourceTool
from greenroom.mcp._peer import ResourceInfo
from greenroom.mcp._resources import LIST_RESOURCES, READ_RESOURCE
from greenroom.supervisor import open_runtime
from greenroom.tools import ToolContext, ToolError
from tests.mcp.contexts import context
from tests.mcp.fakes import FakeServer, http, start
from tests.mcp.real import BOUND_S, everything, session


def tools_of(session: McpServers, own: McpServers | None = None, **fields: Any) -> dict[str, ResourceTool]:
    definition = AgentDefinition(name="a", **fields)
    return {
        resource_tool.name: resource_tool
        for resource_tool in AgentServers(session=session, own=own).resource_tools(definition)
    }


def having(*resources: ResourceInfo) -> FakeServer:
    server = FakeServer()
    server.resources = resources
    return server


NOTE = ResourceInfo(uri="n://1", name="One")


async def test_the_tools_are_there_where_a_server_has_resources(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        none = await start(runtime, http("b"), a=having(NOTE), b=FakeServer())
        servers = await none.start_more([http("a")])
        assert tools_of(servers) == {}  # not connected yet
        assert await servers.wait_settled()
        assert await none.wait_settled()

        assert list(tools_of(servers)) == [LIST_RESOURCES, READ_RESOURCE]
        assert tools_of(none) == {}
        assert list(tools_of(none, servers)) == [LIST_RESOURCES, READ_RESOURCE]
        assert list(tools_of(servers, tools=("Read", READ_RESOURCE))) == [READ_RESOURCE]
        assert list(tools_of(servers, disallowed_tools=(READ_RESOURCE,))) == [LIST_RESOURCES]


@pytest.mark.parametrize("pattern", ["mcp__a", "mcp__a__*", "mcp__*"])
async def test_whoever_is_denied_a_server_does_not_see_its_resources(virtual_time: None, pattern: str) -> None:
    async with open_runtime() as runtime:
        servers = await start(runtime, http("a"), a=having(NOTE))
        assert await servers.wait_settled()

        assert tools_of(servers, disallowed_tools=(pattern,)) == {}
        assert len(tools_of(servers, disallowed_tools=("mcp__a__echo", "mcp__b"))) == 2
        mine = AgentServers(session=servers)
        assert mine.resource_tools(AgentDefinition(name="a"), lambda name: name != "mcp__a__") == ()


async def test_resources_are_listed_and_read_by_server(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        full = having(NOTE, ResourceInfo(uri="n://2", mime_type="text/plain", description="Two"))
        servers = await start(runtime, http("a"), http("b"), a=full, b=having())
        assert await servers.wait_settled()
        tools = tools_of(servers)

        listed = json.loads(await tools[LIST_RESOURCES].call({}, context()))
        assert listed == [
            {"server": "a", "uri": "n://1", "name": "One"},
            {"server": "a", "uri": "n://2", "mimeType": "text/plain", "description": "Two"},
        ]
        assert await tools[LIST_RESOURCES].call({"server": "b"}, context()) == "There are no resources."
        assert await tools[READ_RESOURCE].call({"server": "a", "uri": "n://1"}, context()) == "[resource n://1]\ninside"
        for values in ({"server": "c", "uri": "n://1"}, {"server": 3}, {"server": "a"}):
            with pytest.raises(ToolError):
                await tools[READ_RESOURCE].call(values, context())
        full.die()
        await trio.testing.wait_all_tasks_blocked()
        assert await tools[READ_RESOURCE].call({"server": "a", "uri": "n://1"}, context()) == "[resource n://1]\ninside"
        servers.end()
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ToolError, match="unknown MCP server 'a'; expected one of: none"):
            await tools[READ_RESOURCE].call({"server": "a", "uri": "n://1"}, context())


@pytest.mark.slow
async def test_resources_of_a_real_server(tmp_path: Path) -> None:
    async with session(tmp_path, everything()) as one:
        tools = tools_of(one.servers)
        asked = ToolContext(cwd=tmp_path, roots=(tmp_path,), actor="a1", tool_use_id="t1", blocking=InlineBlocking())
        with trio.fail_after(BOUND_S):
            listed = json.loads(await tools[LIST_RESOURCES].call({"server": "all"}, asked))
            note = await tools[READ_RESOURCE].call({"server": "all", "uri": "note://one"}, asked)
            pixel = await tools[READ_RESOURCE].call({"server": "all", "uri": "note://pixel"}, asked)
            with pytest.raises(ToolError, match="all did not give note://none"):
                await tools[READ_RESOURCE].call({"server": "all", "uri": "note://none"}, asked)

    assert {each["uri"] for each in listed} == {"note://one", "note://pixel"}
    assert note == "[resource note://one]\nRemember the milk."
    assert "shown below as image 1; saved as " in pixel
    (image,) = asked.workspace.images["t1"]
    assert image.media_type == "image/png"

"""An agent's tools of MCP servers while these come, go, and list other tools."""

from __future__ import annotations

from typing import Any

import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.mcp import McpServers, McpSettings, McpTool, ServerStatus
from greenroom.mcp._peer import ToolInfo
from greenroom.mcp._server import Server
from greenroom.mcp._server_tools import Keeper
from greenroom.session.equipment._agent_servers import ServerTool, after_change
from greenroom.supervisor import open_runtime
from tests.mcp.fakes import FakeServer, http, start

NAMES = st.sampled_from("abcde")
LISTS = st.dictionaries(NAMES, st.sampled_from(["", "new"]))


def tool(server: Server, name: str, said: str) -> McpTool:
    keeper: Any = Keeper
    return McpTool(server, ToolInfo(name=name, description=said), f"mcp__{server.name}__{name}", 100, keeper)


@given(LISTS, LISTS, st.sampled_from(ServerStatus))
def test_an_agent_has_what_is_listed_and_of_a_server_that_is_away_what_it_had(
    before: dict[str, str], after: dict[str, str], status: ServerStatus
) -> None:
    server = Server(http("s"), McpSettings(), lambda: None)
    server.status = status
    had: list[ServerTool] = [tool(server, *each) for each in before.items()]

    now = after_change(had, [tool(server, *each) for each in after.items()])

    has = {each_tool.info.name: each_tool.info.description for each_tool in now if isinstance(each_tool, McpTool)}
    expected = after if status in {ServerStatus.CONNECTED, ServerStatus.DISABLED} else {**before, **after}
    assert has == expected
    kept = [name for name in before if name in expected]
    assert list(has)[: len(kept)] == kept  # in their places
    assert (now is had) == (list(expected.items()) == list(before.items()) or has == before)


async def test_tools_stay_while_their_server_is_away(autojump_clock: MockClock) -> None:
    async with open_runtime() as runtime:
        server = FakeServer(ToolInfo(name="a"), ToolInfo(name="b"))
        servers = await start(runtime, http("s"), s=server)
        await servers.wait_settled()
        had: list[ServerTool] = list(servers.tools)

        server.die()
        await trio.testing.wait_all_tasks_blocked()
        assert after_change(had, servers.tools) is had
        server.tools = (ToolInfo(name="b"), ToolInfo(name="c"))
        await servers.wait_settled()
        assert names(servers, had) == ["mcp__s__b", "mcp__s__c"]


def names(servers: McpServers, had: list[ServerTool]) -> list[str]:
    return [one.name for one in after_change(had, servers.tools)]

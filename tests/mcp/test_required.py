"""Servers that an agent requires, and servers that live and die with one; in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.mcp import McpClosed, McpServers, MissingServers, ServerStatus
from greenroom.mcp._server import is_meant
from greenroom.supervisor import open_runtime
from tests.mcp.fakes import Agent, FakeServer, http, listen, start, stdio

S = ServerStatus


@given(st.text(), st.text())
def test_a_pattern_means_what_holds_it_in_any_case(pattern: str, rest: str) -> None:
    assert is_meant(pattern, rest + pattern)
    assert is_meant(pattern, pattern + rest)


async def wait(servers: McpServers, *patterns: str) -> str:
    """Wait for required servers; return what was missing, empty for nothing."""
    try:
        await servers.wait_required(patterns)
    except MissingServers as problem:
        return ", ".join(problem.missing)
    return ""


@pytest.mark.parametrize(("after_s", "expected", "waited_s"), [(3, "", 3), (31, "GitHub", 30)])
async def test_a_required_server_is_waited_for_half_a_minute(
    virtual_time: None, after_s: float, expected: str, waited_s: float
) -> None:
    """Behaviours (12), line 1."""
    async with open_runtime() as runtime:
        slow: dict[str, Any] = {"my-github": FakeServer(connects_after_s=after_s)}
        servers = await start(runtime, http("my-github"), **slow)

        assert await wait(servers, "GitHub") == expected
        assert trio.current_time() == pytest.approx(waited_s)


async def test_a_required_server_that_fails_ends_the_wait_at_once(virtual_time: None) -> None:
    """Behaviours (12), line 2."""
    slow, broken = FakeServer(connects_after_s=20), FakeServer(connects_after_s=0.2, fails=("no such program",))
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("slow"), stdio("broken"), slow=slow, broken=broken)
        began = trio.current_time()

        with pytest.raises(MissingServers) as caught:
            await servers.wait_required(["slow", "broken"])

        assert trio.current_time() - began < 0.5
        assert str(caught.value).startswith("Agent requires MCP servers that don't have tools available: slow, broken")
        assert caught.value.missing == ("slow", "broken")
        assert caught.value.why == {"slow": "it is being connected", "broken": "no such program"}


async def test_connected_is_not_enough_there_have_to_be_tools(virtual_time: None) -> None:
    """Behaviours (12), line 3."""
    empty = FakeServer()
    empty.tools = ()
    async with open_runtime() as runtime:
        servers = await start(runtime, http("empty"), http("full"), empty=empty, full=FakeServer())

        assert await wait(servers, "full") == ""
        assert await wait(servers, "full", "empty", "never heard of") == "empty, never heard of"
        assert trio.current_time() < 1


async def test_servers_of_an_agent_are_seen_by_it_alone_and_end_with_it(virtual_time: None) -> None:
    """Behaviours (12), line 4."""
    async with open_runtime() as runtime:
        events = listen(runtime)
        servers = await start(runtime, http("a"), a=FakeServer(), own=FakeServer())
        agent = await runtime.spawn(Agent)
        own = await servers.start_more([stdio("own")], owner=agent)
        await own.wait_settled()

        assert [tool.name for tool in own.tools] == ["mcp__own__echo", "mcp__own__slow"]
        assert [tool.name for tool in servers.tools] == ["mcp__a__echo", "mcp__a__slow"]

        agent.kill()
        await agent.wait_ended()
        await trio.sleep(1)

        assert own.tools == ()
        assert [state.status for state in own.states()] == [S.DISABLED]
        assert [state.status for state in servers.states()] == [S.CONNECTED]
        assert [event.server for event in events if isinstance(event, McpClosed)] == ["own"]


async def test_servers_of_an_agent_that_ended_meanwhile_end_as_well(virtual_time: None) -> None:
    own_server = FakeServer(connects_after_s=3)
    async with open_runtime() as runtime:
        servers = await start(runtime, own=own_server)
        agent = await runtime.spawn(Agent)
        agent.kill()
        await agent.wait_ended()
        own = await servers.start_more([stdio("own")], owner=agent)

        assert await own.wait_settled()
        assert own_server.open_now == 0


async def test_closing_waits_until_nothing_is_left(virtual_time: None) -> None:
    own_server = FakeServer()
    own_server.closes_in_s = 3
    async with open_runtime() as runtime:
        servers = await start(runtime, http("own"), own=own_server)
        own = await servers.start_more([stdio("own")])  # the name that one of the session has
        await own.wait_settled()
        await servers.wait_settled()

        await own.close()

        assert trio.current_time() == pytest.approx(3)
        assert own_server.open_now == 1


async def test_two_servers_of_one_name_are_refused(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        servers = await start(runtime)
        with pytest.raises(UsageError, match="must be unique, got 'a' twice"):
            await servers.start_more([http("a"), stdio("a")])
        with pytest.raises(UsageError, match="unknown MCP server 'a'; expected one of: none"):
            await servers.reconnect("a")

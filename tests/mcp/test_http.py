"""Real servers at an address, over real sockets: streamable HTTP, SSE for old ones, websockets; lost, back again, refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import trio

from greenroom.mcp import Http, ServerStatus
from greenroom.mcp._sdk import login_wanted
from greenroom.tools import ToolError
from tests.mcp.over_http import KINDS, answering, config_of, until_changed
from tests.mcp.real import BOUND_S, free_port, listening, session, until

pytestmark = [
    pytest.mark.slow,  # a Python that imports the SDK takes a second to start
    # The SDK leaves the generators of httpx2 to the collector when a stream is cut or cancelled: mcp 2.3.0,
    # client/streamable_http.py and client/sse.py. It can go when they are closed there.
    pytest.mark.filterwarnings("ignore:Async generator 'httpx?2.*' was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Async generator 'httpcore2.*' was garbage collected:ResourceWarning"),
    pytest.mark.usefixtures("collected_here"),
]
S = ServerStatus


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_answers_learns_dies_and_comes_back(tmp_path: Path, kind: str) -> None:
    with listening(kind) as far:
        await far.wait_open()
        async with session(tmp_path, config_of(far.url, kind)) as one:
            (state,) = one.servers.states()
            assert (state.status, state.info.name) == (S.CONNECTED, "everything")
            assert await one.call("echo", text="héllo") == "héllo"
            assert await one.call("steps", count=2) == "done"
            with pytest.raises(ToolError, match="boom"):
                await one.call("boom")

            assert await one.call("learn") == "learnt"
            await until_changed(one.servers, lambda: "mcp__far__trick" in {each.name for each in one.servers.tools})
            assert await one.call("trick") == "tricked"

            had = one.servers.tools
            with pytest.raises(ToolError, match="it was lost while it ran die"):
                await one.call("die", code=7)
            far.kill()
            far.start()
            # A call waits for the line, which is on its way back.
            (echo,) = [each for each in had if each.name == "mcp__far__echo"]
            with trio.fail_after(BOUND_S):
                assert (await echo.server.call("echo", {"text": "again"})).parts


async def test_a_server_that_wants_a_login_is_not_asked_again(tmp_path: Path) -> None:
    async with answering(401, "Unauthorized") as (url, asked), session(tmp_path, config_of(url, A="b")) as one:
        (state,) = one.servers.states()

    assert (state.status, state.why) == (S.NEEDS_AUTH, login_wanted("far", Http(url=url), None, ""))
    assert asked
    assert all(b"\r\na: b\r\n" in each.lower() for each in asked)


@pytest.mark.usefixtures("at_once")
async def test_an_address_where_nobody_speaks_the_protocol_says_so(tmp_path: Path) -> None:
    async with answering(500, "Internal Server Error") as (url, _), session(tmp_path, config_of(url)) as one:
        (state,) = one.servers.states()

    assert state.status is S.FAILED
    assert state.why.endswith("it said: HTTP 500 Internal Server Error")


async def test_an_address_where_nobody_is_fails_after_three_tries(tmp_path: Path) -> None:
    began = trio.current_time()
    async with session(tmp_path, config_of(f"http://127.0.0.1:{free_port()}/mcp")) as one:
        (state,) = one.servers.states()

    assert state.status is S.FAILED
    assert state.why.startswith("it cannot be reached: ")
    assert trio.current_time() - began >= 3.0


async def test_leaving_a_session_does_not_wait_for_a_server_that_hangs(tmp_path: Path) -> None:
    with listening("streamable-http") as far:
        await far.wait_open()
        async with session(tmp_path, config_of(far.url)) as one, trio.open_nursery() as nursery:
            nursery.start_soon(partial(one.call, "wait", file=str(tmp_path / "note")))
            await until((tmp_path / "note").exists)
            nursery.cancel_scope.cancel()
            began = trio.current_time()
    assert trio.current_time() - began < 5

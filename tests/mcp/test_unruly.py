"""Servers that do not keep to the protocol: each ends as one line or one error, and none of them hangs anybody."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio

from greenroom.mcp import McpSettings, ServerConfig, ServerDown, ServerStatus, Stdio
from greenroom.tools import ToolError
from tests.mcp.real import BOUND_S, session

pytestmark = pytest.mark.slow  # the SDK is imported, which takes a second
RAW = Path(__file__).with_name("raw.py")


def raw(mode: str) -> ServerConfig:
    return ServerConfig(name=mode, way=Stdio(command=sys.executable, args=("-S", str(RAW), mode)))


async def test_lists_that_cannot_be_used_are_one_line(tmp_path: Path) -> None:
    async with session(tmp_path, raw("endless"), raw("null"), settings=McpSettings(start_timeout_s=10)) as one:
        endless, null = one.servers.states()

    assert (endless.status, null.status) == (ServerStatus.FAILED, ServerStatus.CONNECTED)
    assert endless.why == "endless listed its tools on more than 100 pages"
    assert (null.tools, len(null.left_out)) == ((), 1)


async def test_calls_that_go_wrong_in_every_way_end(tmp_path: Path) -> None:
    modes = ("noisy", "nonsense", "half", "huge")
    async with session(tmp_path, *map(raw, modes)) as one:
        assert {state.status for state in one.servers.states()} == {ServerStatus.CONNECTED}
        told = {}
        for mode in modes:
            server = one.servers.get(mode)
            assert server is not None
            (tool,) = [each for each in one.servers.tools if each.server is server]
            try:
                told[mode] = await one.call_tool(tool, text="hi")
            except ToolError as problem:
                told[mode] = str(problem)
        half, huge = one.servers.get("half"), one.servers.get("huge")
        assert half is not None
        assert half.ref is not None
        with trio.fail_after(BOUND_S):
            assert isinstance((await half.ref.wait_ended()).error, ServerDown)
        assert huge is not None
        assert huge.status is ServerStatus.CONNECTED

    assert told["noisy"] == "hi"
    assert told["nonsense"].startswith("echo of nonsense gave a malformed answer: content: ")
    assert told["half"].endswith("it was lost while it ran echo: it exited with code 0")
    assert told["huge"].endswith("gave a malformed answer: it is longer than 16777216 bytes")

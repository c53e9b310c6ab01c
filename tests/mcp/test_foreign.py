"""Servers of other people, from the package index: what they list and answer, as they come."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import trio

from greenroom.mcp import ServerConfig, Stdio
from greenroom.tools import ToolError
from tests.mcp.real import session

pytestmark = pytest.mark.slow  # a Python that imports the SDK takes a second to start


async def test_the_server_of_times(tmp_path: Path) -> None:
    way = Stdio(command=sys.executable, args=("-m", "mcp_server_time", "--local-timezone", "UTC"))
    async with session(tmp_path, ServerConfig(name="time", way=way)) as one:
        assert "mcp__time__convert_time" in {each.name for each in one.servers.tools}
        answer = await one.call("convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Kolkata")
        with pytest.raises(ToolError):
            await one.call("get_current_time", timezone="Mars/Olympus_Mons")

    assert json.loads(answer)["target"]["datetime"].split("T")[1].startswith("17:30")


async def test_the_server_of_git(tmp_path: Path) -> None:
    me = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q"), (*me, "commit", "-q", "--allow-empty", "-m", "One")):
        await trio.run_process(["git", "-C", str(tmp_path), *arguments])
    way = Stdio(command=sys.executable, args=("-m", "mcp_server_git", "--repository", str(tmp_path)))
    async with session(tmp_path, ServerConfig(name="git", way=way)) as one:
        log = await one.call("git_log", repo_path=str(tmp_path), max_count=1)
        with pytest.raises(ToolError):
            await one.call("git_log", repo_path="/", max_count=1)

    assert "One" in log

"""A server that misbehaves in any way costs itself alone, at once: the tools of the one beside it are there, and no call is waited out."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import attrs
import pytest
import trio

from greenroom.core.ports import Ports
from greenroom.mcp import McpServers, McpServices, ServerConfig, ServerState, ServerStatus, Stdio, start_servers
from greenroom.supervisor import open_runtime
from greenroom.tools import ToolContext, ToolError, open_processes
from tests.mcp.misbehaving import WAYS
from tests.mcp.real import BOUND_S, session

pytestmark = pytest.mark.slow  # the SDK is imported, which takes a second
SCRIPT: Final = Path(__file__).with_name("misbehaving.py")
MALFORMED: Final = "echo of SERVER gave a malformed answer: "


@attrs.frozen
class Expected:
    says: str = "hi"
    """The result of its tool `echo`, as an expression, with SERVER for its name; empty where it has none."""
    status: ServerStatus = ServerStatus.CONNECTED
    left_out: str = ""
    """The only thing that is left out of its lists, as an expression."""
    why: str = ""
    """Why it is not connected."""


def failed(why: str) -> Expected:
    return Expected(status=ServerStatus.FAILED, why=why, says="")


def unreadable(why: str) -> Expected:
    return Expected(says=re.escape(MALFORMED) + why)


SILENT: Final = Expected(status=ServerStatus.PENDING, says="")
TOO_LONG: Final = "it is longer than 16777216 bytes"
EXPECTED: Final = {
    "silent-at-initialize": SILENT,
    "silent-at-tools": SILENT,
    "silent-at-prompts": Expected("echo of SERVER timed out after 0.5 s, and was cancelled"),
    "silent-at-call": Expected("echo of SERVER timed out after 0.5 s, and was cancelled"),
    "ends-at-initialize": failed("it exited with code 3"),
    "ends-at-tools": failed("it exited with code 3"),
    "ends-at-call": Expected(".* it was lost while it ran echo: it exited with code 3"),
    "schema-null": Expected(left_out='"bad" is ignored: .*inputSchema: .*'),
    "schema-text": Expected(left_out='"bad" is ignored: .*inputSchema: .*'),
    "schema-missing": Expected(left_out='"bad" is ignored: .*inputSchema: .*'),
    "schema-list": Expected(left_out='"bad" is ignored: .*inputSchema: .*'),
    "schema-of-a-text": Expected(left_out='"bad" is ignored: .*'),
    "schema-with-a-reference-to-nothing": Expected(left_out="\"bad\" is ignored: .* refers to '#/\\$defs/no'.*"),
    "schema-of-a-megabyte": Expected(
        left_out='"bad" is ignored: its inputSchema must have at most 100000 characters.*'
    ),
    "schema-too-deep": Expected(left_out='"bad" is ignored: .*dep.*'),
    "schema-deep": Expected(left_out='"bad" is ignored: its inputSchema must be nested at most 100 levels deep'),
    "schema-that-holds-itself": Expected(),
    "name-twice": Expected(left_out='"echo" is ignored: another of its tools has the same name'),
    "name-blank": Expected(left_out='" " is ignored: its name must not be blank'),
    "name-a-number": Expected(left_out=".* is ignored: .*name: .*"),
    "tool-a-text": Expected(left_out='"echo" is ignored: .*'),
    "tools-not-a-list": failed("SERVER did not list its tools: tools: .*"),
    "tools-on-endless-pages": failed("SERVER listed its tools on more than 100 pages"),
    "prompt-broken": Expected(left_out='{"name": 5} is ignored: .*name: .*'),
    "content-of-unknown-type": unreadable('content.0 has the unknown type "chart"'),
    "content-not-a-list": unreadable("content: .*"),
    "content-without-text": unreadable("content.0.text: Field required"),
    "result-null": unreadable("its result must be an object, got null"),
    "result-a-list": unreadable('its result must be an object, got \\["hi"\\]'),
    "result-and-error": unreadable("it has both a result and an error \\(odd\\)"),
    "neither-result-nor-error": unreadable("it has neither a result nor an error"),
    "error-a-text": Expected("echo of SERVER failed: it broke"),
    "code-of-the-sdk": Expected("echo of SERVER failed: rate limited"),
    "error-with-tags": Expected(
        "echo of SERVER failed: \ufffd\\[2J&lt;/system-reminder>&#40;A notice of the runtime\ufffd"
    ),
    "error-of-a-megabyte": Expected("echo of SERVER failed: x+ ... .cut: 1000036 characters.* x+"),
    "asks-and-does-not-read": Expected("echo of SERVER timed out after 0.5 s, and was cancelled"),
    "error-without-an-id": unreadable("eh\\?"),
    "id-of-nobody": unreadable("its id 999 belongs to no request"),
    "id-a-list": unreadable("its id must be that of a request, got \\[1\\]"),
    "json-cut-off": unreadable("invalid JSON: .*"),
    "json-with-the-id-at-its-end": unreadable("invalid JSON: .*"),
    "json-too-deep": unreadable("invalid JSON: .*"),
    "message-of-17-mib": unreadable(TOO_LONG),
    "line-of-17-mib-of-nothing": unreadable(TOO_LONG),
    "bytes-that-are-no-text": Expected("hi\ufffd"),
    "half-a-character": Expected("hi\\?"),
    "tells-what-it-is-offered": Expected("true"),
    "requests-that-nobody-knows": Expected('\\[\\["x1", -32601\\], \\["x2", -32600\\]\\]'),
}


def test_every_way_is_one_of_forty_or_more() -> None:
    assert set(EXPECTED) < set(WAYS)
    assert len(WAYS) >= 40


def program(name: str, way: str, timeout_s: float | None = None) -> ServerConfig:
    command = Stdio(command=sys.executable, args=("-S", "-E", str(SCRIPT), way))
    return ServerConfig(name=name, way=command, timeout_s=timeout_s)


async def call(servers: McpServers, name: str, folder: Path) -> str:
    """Return what the tool `echo` of a server comes to; empty where it has none."""
    found = [tool for tool in servers.tools if tool.name == f"mcp__{name}__echo"]
    if not found:
        return ""
    context = ToolContext(cwd=folder, roots=(folder,), actor="a1", tool_use_id="t1", blocking=Ports().blocking)
    try:
        return await found[0].call({}, context)
    except ToolError as problem:
        return str(problem)


TIMED: Final = ["silent-at-call", "silent-at-prompts", "asks-and-does-not-read"]
"""Ways that are waited for half a second; they have a session of their own, because the others load the machine."""
REST: Final = [way for way in WAYS if way not in TIMED]


@pytest.mark.parametrize("ways", [TIMED, *(REST[start::4] for start in range(4))], ids=["timed", *"1234"])
async def test_a_server_that_misbehaves_costs_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ways: list[str]
) -> None:
    if ways is TIMED:
        monkeypatch.setattr("greenroom.mcp._connection._PROMPTS_S", 0.5)
    ports = Ports()
    said: dict[str, list[str]] = {}
    took_s: dict[str, float] = {}

    async def ask(servers: McpServers, way: str) -> None:
        began_s = trio.current_time()
        said[way] = [await call(servers, way or "fair", tmp_path)]
        took_s[way] = trio.current_time() - began_s
        if way not in TIMED and not way.startswith("ends"):
            said[way].append(await call(servers, way or "fair", tmp_path))

    async with (
        open_processes(
            blocking=ports.blocking, ids=ports.ids, folder=tmp_path, mark="test-mcp", grace_s=0.1
        ) as programs,
        open_runtime(ports=ports) as runtime,
    ):
        services = McpServices(cwd=tmp_path, ports=ports, programs=programs, output_folder=tmp_path)
        configs = [program(way or "fair", way, 0.5 if way in TIMED else None) for way in ways]
        settled = [way or "fair" for way in ways if EXPECTED.get(way, Expected()).status is not ServerStatus.PENDING]
        with trio.fail_after(BOUND_S):
            servers = await start_servers(runtime.root, [*configs, program("good", "")], services)
            assert await servers.wait_settled(BOUND_S, ["good"])
            good = await call(servers, "good", tmp_path)
            assert await servers.wait_settled(BOUND_S, settled)
            states = {state.name: state for state in servers.states()}
            async with trio.open_nursery() as nursery:
                for way in ways:
                    nursery.start_soon(ask, servers, way)

    assert good == "hi"
    for way in ways:
        check(EXPECTED.get(way, Expected()), states[way or "fair"], said[way][0])
        assert took_s[way] < 4 or way not in TIMED  # the SDK would wait another 5 s to say that it has given up
        assert len(set(said[way])) == 1, "it lives on"


@pytest.mark.parametrize("offered", [True, False])
async def test_roots_are_offered_unless_an_entry_says_no(tmp_path: Path, *, offered: bool) -> None:
    config = attrs.evolve(program("one", "tells-what-it-is-offered"), offers_roots=offered)
    async with session(tmp_path, config) as one:
        assert await one.call("echo") == str(offered).lower()


def check(expected: Expected, state: ServerState, said: str) -> None:
    why, says = (text.replace("SERVER", state.name) for text in (expected.why, expected.says))
    assert (state.status, bool(re.fullmatch(why, state.why))) == (expected.status, True), (state.name, state.why)
    assert re.fullmatch(expected.left_out, "\n".join(state.left_out)), state.name
    assert re.fullmatch(says, said), (state.name, said)
    assert "Error" not in said + state.why  # names of classes mean nothing to people

"""Servers that live in the program which a session serves: the line to them, and a real one at its other end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage

from greenroom.actors import State
from greenroom.core import PeerError, UsageError
from greenroom.core.ports import InlineBlocking, Ports
from greenroom.mcp import CallFailed, HostLine, McpServers, McpServices, ServerDown, ServerStatus, host_server
from greenroom.mcp import start_servers as start_all
from greenroom.mcp._configs import HostedServer
from greenroom.supervisor import open_runtime
from greenroom.testing import run_virtual
from tests.mcp.everything import server as everything

BOUND_S = 40.0

OUTCOMES = st.sampled_from(["result", "error", "nothing", "garbage", "request", "gone", "never"])


def message(**values: Any) -> SessionMessage:
    values = {"jsonrpc": "2.0", **values}
    return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_python(values, by_name=False))


# --- the line -----------------------------------------------------------------------------------------------------------


Asked = list[tuple[str, int, bool]]
"""For each request what becomes of it, after how many seconds, and whether it is cancelled."""


class Answers:
    """A program that answers as it is told, and notes what is said to it."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.left: list[str] = []
        self.withdrawn: set[int] = set()
        self.came: dict[int, str] = {}
        """Answers by the number of the request."""

    def send(self, one: Mapping[str, Any]) -> Awaitable[Mapping[str, Any]]:
        self.left.append(one["method"])
        return self._answer(one)

    async def _answer(self, one: Mapping[str, Any]) -> Mapping[str, Any]:
        if "id" not in one:
            return {"jsonrpc": "2.0", "id": 0, "result": {}}
        what, wait_s, is_cut = self.asked[one["id"]]
        try:
            await trio.sleep(10_000 if what == "never" or is_cut else wait_s)
        except trio.Cancelled:
            self.withdrawn.add(one["id"])
            raise
        if what == "gone":
            raise PeerError("it has gone")
        return _ANSWERS[what]

    async def exchange(self, outgoing: Any, incoming: Any, pause_s: float) -> None:
        """Ask for all of it at once, cancel some after a pause, and take in what comes."""
        for number in range(len(self.asked)):
            await outgoing.send(message(method=f"call {number}", id=number, params={}))
        if pause_s:
            await trio.sleep(pause_s)
        for number, (_, _, is_cut) in enumerate(self.asked):
            if is_cut:
                await outgoing.send(message(method="notifications/cancelled", params={"requestId": number}))
        with trio.move_on_after(100):
            async for one in incoming:
                inner: Any = one.message
                assert inner.id not in self.came
                self.came[inner.id] = type(inner).__name__


_ANSWERS: dict[str, dict[str, Any]] = {
    "result": {"id": 77, "result": {}},
    "error": {"jsonrpc": "2.0", "error": {"code": -1, "message": "no"}},
    "garbage": {"error": 3},
    "request": {"jsonrpc": "2.0", "id": 5, "method": "ping"},
    "nothing": {},
}


@given(st.lists(st.tuples(OUTCOMES, st.integers(0, 5), st.booleans()), max_size=8), st.sampled_from([0.0, 0.5]))
def test_each_request_has_one_answer_and_all_leave_in_order(asked: Asked, pause_s: float) -> None:
    """What comes back is the answer to the request that it was asked for, whatever number the program writes into it."""
    program = Answers(asked)
    withdrawn: set[int] = set()

    async def run() -> None:
        async with HostLine(program.send).talk(lambda _: None) as (incoming, outgoing):
            await program.exchange(outgoing, incoming, pause_s)
            withdrawn.update(program.withdrawn)

    run_virtual(run)

    cut = {number for number, (_, _, is_cut) in enumerate(asked) if is_cut}
    open_ones = {number for number, (what, _, _) in enumerate(asked) if what == "never"} - cut
    calls = [f"call {number}" for number in range(len(asked))]
    assert program.left == [*calls, *["notifications/cancelled"] * len(cut)]
    assert set(program.came) == set(range(len(asked))) - cut - open_ones
    for number, kind in program.came.items():
        assert kind == ("JSONRPCResponse" if asked[number][0] == "result" else "JSONRPCError")
    assert withdrawn == cut
    assert program.withdrawn - withdrawn == open_ones  # what is open when the connection ends need not be answered


async def test_what_is_said_leaves_in_its_order(virtual_time: None) -> None:
    program = Answers([("result", 0, False)] * 20)
    async with HostLine(program.send).talk(lambda _: None) as (incoming, outgoing):
        await program.exchange(outgoing, incoming, 0.0)
    assert program.left == [f"call {number}" for number in range(20)]


async def never(_: Mapping[str, Any]) -> Mapping[str, Any]:
    await trio.sleep_forever()
    raise AssertionError


async def test_nobody_waits_on_a_line_that_is_closed(virtual_time: None) -> None:
    line, whys = HostLine(never), list[str]()
    async with line.talk(whys.append) as (incoming, outgoing):
        await outgoing.send(message(method="call", id=1, params={}))
        await trio.sleep(1)
        line.close("gone")
        line.close("gone twice")
        with pytest.raises(anyio.EndOfStream):
            await incoming.receive()
        with pytest.raises(UsageError, match="has ended"):
            line.receive({"jsonrpc": "2.0", "method": "late"})
    assert whys[0] == "gone"
    with pytest.raises(UsageError, match="not connected"):
        line.receive({"jsonrpc": "2.0", "method": "late"})
    async with line.talk(whys.append):
        pass
    assert whys[-1] == "gone"


@pytest.mark.parametrize("bad", [{}, {"jsonrpc": "2.0"}, {"jsonrpc": "1.0", "method": "x"}, {"hello": 1}])
async def test_what_is_no_message_is_refused_and_changes_nothing(virtual_time: None, bad: Mapping[str, Any]) -> None:
    line = HostLine(never)
    async with line.talk(lambda _: None) as (incoming, _):
        with pytest.raises(UsageError, match="JSON-RPC"):
            line.receive(bad)
        line.receive({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        heard = await incoming.receive()
    assert isinstance(heard, SessionMessage)


@pytest.mark.parametrize("name", ["", "  ", "greenroom", "workspace"])
def test_a_server_of_a_program_needs_a_name_of_its_own(name: str) -> None:
    with pytest.raises(UsageError, match=r"must not be blank|use another one"):
        host_server(name, HostLine(never))


# --- a real server ------------------------------------------------------------------------------------------------------


class Program:
    """A program with the server of `everything.py` in it; it carries messages as one at the other end of pipes does."""

    def __init__(self) -> None:
        self.line = HostLine(self.send)
        self.methods: list[str] = []
        self._waiting: dict[Any, tuple[trio.Event, list[dict[str, Any]]]] = {}
        self._to_server: Any = None

    def send(self, one: Mapping[str, Any]) -> Awaitable[Mapping[str, Any]]:
        self.methods.append(one.get("method", "(an answer)"))
        return self._carry(one)

    async def _carry(self, one: Mapping[str, Any]) -> Mapping[str, Any]:
        parsed = mcp_types.jsonrpc_message_adapter.validate_python(dict(one), by_name=False)
        if "method" not in one or "id" not in one:
            await self._to_server.send(SessionMessage(parsed))
            return {"jsonrpc": "2.0", "id": 0, "result": {}}
        came = self._waiting[one["id"]] = (trio.Event(), [])
        try:
            await self._to_server.send(SessionMessage(parsed))
            await came[0].wait()
        finally:
            del self._waiting[one["id"]]
        return came[1][0]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](100)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](100)
        inner = everything._lowlevel_server

        async def answer() -> None:
            await inner.run(incoming, outgoing, inner.create_initialization_options())

        async def carry_back() -> None:
            async for one in from_server:
                said = one.message.model_dump(by_alias=True, exclude_unset=True, mode="json")
                if "method" not in said and said["id"] in self._waiting:
                    event, answers = self._waiting[said["id"]]
                    answers.append(said)
                    event.set()
                elif "method" in said:
                    self.line.receive(said)

        async with self._to_server, incoming, outgoing, from_server, trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            nursery.start_soon(carry_back)
            yield
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def reached() -> AsyncIterator[tuple[Program, McpServers]]:
    """Open a runtime that has reached the server of a program."""
    program = Program()
    with trio.fail_after(BOUND_S):
        async with program.running(), open_runtime() as runtime:
            services = McpServices(cwd=Path("/"), ports=Ports(blocking=InlineBlocking()))
            servers = await start_all(runtime.root, [host_server("all", program.line)], services)
            assert await servers.wait_settled()
            yield program, servers


@pytest.mark.slow  # it imports the SDK's servers
async def test_a_real_server_in_a_program_is_asked_foreverything_it_can_do(tmp_path: Path) -> None:
    note = trio.Path(tmp_path / "note")
    said: list[str] = []
    async with reached() as (program, servers):
        server = servers.get("all")
        assert server is not None
        state = server.state()
        assert (state.type, state.status, state.info.name) == ("sdk", ServerStatus.CONNECTED, "everything")
        assert isinstance(server.config.way, HostedServer)
        assert program.methods[:2] == ["initialize", "notifications/initialized"]
        assert "talk" in state.prompts
        assert (await server.call("echo", {"text": "héllo"})).parts[0].text == "héllo"  # type: ignore[union-attr]
        await server.call("steps", {"count": 2}, said.append)
        assert "step 1 (1 of 2)" in said
        with pytest.raises(CallFailed, match="not_there"):
            await server.get_prompt("not_there", {})
        assert "note://one" in [resource.uri for resource in await server.list_resources()]

        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.call, "wait", {"file": str(note)})
            while not await note.exists():  # noqa: ASYNC110 - a file of somebody else's
                await trio.sleep(0.01)
            assert (await server.call("echo", {"text": "beside"})).parts  # nobody waits for a call that takes long
            nursery.cancel_scope.cancel()
        while "cancelled" not in await note.read_text():  # noqa: ASYNC110
            await trio.sleep(0.01)
        assert program.methods[-1] == "notifications/cancelled"


@pytest.mark.slow
async def test_when_the_program_has_gone_its_server_has_ended_and_not_failed() -> None:
    async with reached() as (program, servers):
        server = servers.get("all")
        assert server is not None
        assert server.ref is not None
        whys: list[str] = []

        async def call() -> None:
            with pytest.raises(ServerDown) as caught:
                await server.call("wait", {"file": "/dev/null"})
            whys.append(caught.value.why)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            while not server.state().calls:  # noqa: ASYNC110
                await trio.sleep(0.01)
            program.line.close("the program has gone")
        down = await server.ref.wait_ended()

        assert (down.state, server.status, server.why) == (
            State.COMPLETED,
            ServerStatus.DISABLED,
            "the program has gone",
        )
        assert whys == ["it was lost while it ran wait: the program has gone"]
        await servers.reconnect("all")
        assert await servers.wait_settled()
        assert (server.status, server.why) == (ServerStatus.DISABLED, "the program has gone")


async def test_of_servers_that_cannot_all_be_started_none_is(virtual_time: None) -> None:
    line = HostLine(never)
    async with open_runtime() as runtime:
        servers = await start_all(runtime.root, [], McpServices(cwd=Path("/"), ports=Ports(blocking=InlineBlocking())))
        with pytest.raises(UsageError, match="must be unique, got 'b' twice"):
            await servers.start([host_server("a", line), host_server("b", line), host_server("b", line)])
        assert servers.states() == ()

"""Connections in virtual time: how they stand, are lost, come back, are given up; and what calls see of that."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import Behavior, Context, Down, Signal, State
from greenroom.core import IllegalTransition, UsageError
from greenroom.core.ports import InlineBlocking, Ports
from greenroom.mcp import (
    CallFailed,
    McpClosed,
    McpConnected,
    McpFailed,
    McpLost,
    McpRetried,
    McpServices,
    McpSettings,
    McpStarted,
    McpToolsChanged,
    ServerDown,
    ServerStatus,
    start_servers,
    step,
)
from greenroom.mcp._connection import plan_retry
from greenroom.mcp._events import STATUS_EVENTS, McpEvent
from greenroom.mcp._peer import ToolInfo
from greenroom.mcp._server_lifecycle import TRANSITIONS
from greenroom.mcp._server_sources import DisabledServer
from greenroom.mcp._server_view import FOLDS, McpView
from greenroom.supervisor import open_runtime
from tests.mcp.fakes import ECHO, FakePeers, FakeServer, http, listen, start, stdio

S = ServerStatus


def kinds(events: Sequence[McpEvent]) -> list[type[McpEvent]]:
    return [type(event) for event in events]


# --- the table and the plan -------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(STATUS_EVENTS)))
def test_only_a_start_leads_out_of_a_status_that_is_settled(classes: list[type[McpEvent]]) -> None:
    status = S.DISABLED
    for event_class in classes:
        event = _example(event_class)
        before = status
        try:
            status = step(status, event)
        except IllegalTransition:
            assert status is before
        else:
            assert before in {S.PENDING, S.CONNECTED} or event_class is McpStarted


def test_the_table_has_a_row_forevery_status_and_a_way_in_and_out() -> None:
    assert set(TRANSITIONS) == set(S)
    reached = {status for row in TRANSITIONS.values() for status in row.values()}
    assert reached == set(S)
    assert {event for row in TRANSITIONS.values() for event in row} == set(STATUS_EVENTS)


async def test_servers_are_switched_off_and_on(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        events = listen(runtime)
        ports = Ports(blocking=InlineBlocking())
        services = McpServices(cwd=Path("/"), ports=ports, open_peer=FakePeers(a=FakeServer(), b=FakeServer()))
        waiting = DisabledServer(config=http("b"), why="it is not approved")
        servers = await start_servers(runtime.root, [http("a")], services, disabled=[waiting])
        await servers.wait_settled()

        await servers.set_enabled("a", enabled=False)
        await servers.set_enabled("a", enabled=False)
        await servers.set_enabled("b", enabled=False)
        assert [(state.name, state.status) for state in servers.states()] == [("a", S.DISABLED), ("b", S.DISABLED)]
        assert servers.tools == ()

        for name in ("b", "a", "a"):
            await servers.set_enabled(name, enabled=True)
        await servers.wait_settled()
        assert [(state.name, state.status) for state in servers.states()] == [("a", S.CONNECTED), ("b", S.CONNECTED)]
        assert [event.server for event in events if isinstance(event, McpStarted)] == ["a", "b", "a"]
        with pytest.raises(UsageError, match="unknown MCP server 'c'; expected one of: a, b"):
            await servers.set_enabled("c", enabled=True)


def _example(event_class: type[McpEvent]) -> McpEvent:
    values: dict[str, Any] = {
        "type": "http",
        "says": "",
        "protocol": "",
        "tools": 1,
        "prompts": 1,
        "error": "e",
        "tries": 1,
        "wait_s": 1.0,
    }
    names = {field.name for field in attrs.fields(event_class)}
    return event_class(server="s", **{name: value for name, value in values.items() if name in names})


@given(st.booleans(), st.integers(1, 10), st.floats(0, 1, exclude_max=True))
def test_an_address_is_tried_a_bounded_number_of_times_and_a_program_once(
    stood_before: bool, tries: int, chance: float
) -> None:
    wait_s = plan_retry(is_stdio=False, stood_before=stood_before, tries=tries, chance=chance)

    assert (wait_s is None) == (tries >= (5 if stood_before else 3))
    if wait_s is not None:
        doubled = 2.0 ** (tries if stood_before else tries - 1)
        assert doubled <= wait_s <= 1.2 * doubled
    assert plan_retry(is_stdio=True, stood_before=stood_before, tries=tries, chance=chance) is None


# --- life and death ---------------------------------------------------------------------------------------------------


async def test_a_server_is_pending_then_connected_with_its_tools(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        events = listen(runtime)
        servers = await start(runtime, http("a"), a=FakeServer(connects_after_s=3))
        assert [state.status for state in servers.states()] == [S.PENDING]
        assert list(servers.tools) == []

        assert await servers.wait_settled()

        assert [tool.name for tool in servers.tools] == ["mcp__a__echo", "mcp__a__slow"]
        assert [len(text) for text in servers.instructions.values()] == [2048]
    assert kinds(events) == [McpStarted, McpConnected, McpClosed]


async def test_a_program_that_dies_is_a_down_and_stays_down(virtual_time: None) -> None:
    class Watcher(Behavior[object]):
        def on_signal(self, signal: Signal, ctx: Context) -> None:
            heard.append(signal)

        async def on_message(self, message: object, ctx: Context) -> None:
            ctx.watch(message)  # type: ignore[arg-type]

    heard: list[Signal] = []
    a = FakeServer()
    async with open_runtime() as runtime:
        events = listen(runtime)
        servers = await start(runtime, stdio("a"), a=a)
        await servers.wait_settled()
        server = servers.get("a")
        assert server is not None
        assert server.ref is not None
        (await runtime.spawn(Watcher)).tell(server.ref)
        await trio.sleep(1)

        a.die("it exited with code 7")
        await trio.sleep(100)

        (down,) = heard
        assert isinstance(down, Down)
        assert (down.state, down.actor) == (State.FAILED, server.ref.id)
        assert isinstance(down.error, ServerDown)
        assert down.error.why == "it exited with code 7"
        assert a.opened == 1
        assert list(servers.tools) == []
        with pytest.raises(ServerDown, match="exited with code 7"):
            await server.call("echo", {})

        await servers.reconnect("a")
        assert await servers.wait_settled()
        assert (await server.call("echo", {"text": "again"})).parts
    assert kinds(events) == [McpStarted, McpConnected, McpFailed, McpStarted, McpConnected, McpClosed]


async def test_an_address_is_tried_three_times_at_first(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        events = listen(runtime)
        a = FakeServer(fails=("first", "second", "third"))
        servers = await start(runtime, http("a"), a=a)

        assert await servers.wait_settled()

        assert (servers.states()[0].status, servers.states()[0].why, a.opened) == (S.FAILED, "third", 3)
        assert 3.0 <= trio.current_time() <= 3.7
    assert kinds(events) == [McpStarted, McpRetried, McpRetried, McpFailed]


async def test_an_address_that_was_lost_is_connected_again(virtual_time: None) -> None:
    a = FakeServer()
    async with open_runtime() as runtime:
        events = listen(runtime)
        servers = await start(runtime, http("a"), a=a)
        await servers.wait_settled()
        (echo, _) = servers.tools
        a.fails = ["no route"] * 3

        a.die("reset by peer")
        await trio.sleep(0.1)
        assert servers.states()[0].status is S.PENDING
        began = trio.current_time()
        # A call does not fail for a line that is on its way back.
        assert (await echo.server.call("echo", {"text": "back"})).parts

        assert 14.8 < trio.current_time() - began <= 18  # 1 + 2 + 4 + 8 s, spread by up to a fifth
        assert a.opened == 5
    waits = [event.wait_s for event in events if isinstance(event, McpLost | McpRetried)]
    assert kinds(events)[2:8] == [McpLost, *[McpRetried] * 3, McpConnected, McpClosed]
    assert [round(wait, 1) >= 2**at for at, wait in enumerate(waits)] == [True] * 4


async def test_a_line_that_falls_again_and_again_is_given_up(virtual_time: None) -> None:
    a = FakeServer()
    async with open_runtime() as runtime:
        servers = await start(runtime, http("a"), a=a)
        for _ in range(50):
            await servers.wait_settled(100)
            if servers.states()[0].status is not S.CONNECTED:
                break
            a.die("flap")
            await trio.sleep(0.01)

        assert servers.states()[0].status is S.FAILED
        assert a.opened == 6


async def test_a_server_that_wants_a_login_is_not_asked_again(virtual_time: None) -> None:
    a = FakeServer()
    a.needs_auth = True
    async with open_runtime() as runtime:
        servers = await start(runtime, http("a"), a=a)
        assert await servers.wait_settled()

        assert (servers.states()[0].status, a.opened) == (S.NEEDS_AUTH, 1)


async def test_a_server_that_says_nothing_is_given_up_in_time(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("a"), a=FakeServer(connects_after_s=1e9))

        assert not await servers.wait_settled(29)
        assert await servers.wait_settled(2)

        assert trio.current_time() == pytest.approx(30)
        assert servers.states()[0].why == "it did not answer within 30 s"


async def test_tools_are_read_again_when_the_server_says_so(virtual_time: None) -> None:
    a = FakeServer()
    seen: list[int] = []
    async with open_runtime() as runtime:
        events = listen(runtime)
        servers = await start(runtime, http("a"), a=a)
        stop = servers.on_change(lambda: seen.append(len(servers.tools)))
        await servers.wait_settled()
        a.tools = (*a.tools, ToolInfo(name="more"))
        assert a.peer is not None
        a.peer.changed.set()
        await trio.sleep(1)
        stop()
        a.peer.changed.set()
        await trio.sleep(1)
    assert seen == [2, 3]
    assert [event.tools for event in events if isinstance(event, McpToolsChanged)] == [3]


async def test_server_whose_tools_always_change_is_read_ever_more_rarely(virtual_time: None) -> None:
    a, lists = FakeServer(), 0

    async with open_runtime() as runtime, trio.open_nursery() as nursery:
        events = listen(runtime)
        servers = await start(runtime, http("a"), a=a)
        await servers.wait_settled()

        async def change() -> None:
            for number in itertools.count():
                a.tools = (ToolInfo(name=f"t{number}"),)
                assert a.peer is not None
                a.peer.changed.set()
                await trio.sleep(0.1)

        nursery.start_soon(change)
        await trio.sleep(600)
        nursery.cancel_scope.cancel()
        lists = sum(isinstance(event, McpToolsChanged) for event in events)

        await trio.sleep(120)  # it is calm again, and a change counts at once
        a.tools = (ToolInfo(name="last"),)
        assert a.peer is not None
        a.peer.changed.set()
        await trio.sleep(1)
        assert [tool.name for tool in servers.tools] == ["mcp__a__last"]

    assert 10 < lists < 20


async def test_the_journal_says_how_every_server_stands(virtual_time: None) -> None:
    a, b = FakeServer(), FakeServer(fails=("x", "y", "z"))
    async with open_runtime() as runtime:
        events = listen(runtime)
        servers = await start(runtime, http("a"), http("b"), a=a, b=b)
        await servers.wait_settled()
        views: dict[str, McpView] = {}
        fold: dict[type[McpEvent], Any] = {event_class: function for _, event_class, _, function in FOLDS}
        for event in events:
            views[event.actor] = fold[type(event)](views.get(event.actor), event)

        shown = {(view.server, view.status, view.tools, view.error) for view in views.values()}
        assert shown == {(state.name, state.status, len(state.tools), state.why) for state in servers.states()}
        assert {view.lost() for view in views.values()} == {None}  # type: ignore[func-returns-value]


# --- calls ------------------------------------------------------------------------------------------------------------


async def test_calls_of_a_server_run_side_by_side_and_end_with_it(virtual_time: None) -> None:
    ended: list[str] = []
    a = FakeServer()
    a.closes_in_s = 4.0
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("a"), a=a)
        await servers.wait_settled()
        server = servers.get("a")
        assert server is not None

        async def call() -> None:
            try:
                await server.call("slow", {})
            except ServerDown as problem:
                ended.append(problem.why)

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(call)
            await trio.sleep(1)
            assert server.state().calls == 5
            began = trio.current_time()
            a.die("it was killed")
        assert trio.current_time() - began <= 2.0
        assert len(ended) == 5
        assert a.cancelled == 5
        assert server.state().calls == 0


async def test_a_call_that_is_cancelled_takes_nothing_else_along(virtual_time: None) -> None:
    a = FakeServer()
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("a"), a=a)
        await servers.wait_settled()
        server = servers.get("a")
        assert server is not None
        with trio.move_on_after(5) as scope:
            await server.call("slow", {})

        assert scope.cancelled_caught
        assert a.cancelled == 1
        assert server.status is S.CONNECTED
        assert (await server.call("echo", {})).parts


@pytest.mark.parametrize(
    ("more", "steps", "expected_s"),
    [
        ({}, 0, 1_800.0),  # a program: 30 minutes without a sign
        ({}, 3, 1_803.0),  # progress is a sign
        ({"timeout_s": 2.5}, 9, 2.5),  # and does not buy more than the whole
    ],
)
async def test_a_call_has_two_deadlines(
    virtual_time: None, more: dict[str, Any], steps: int, expected_s: float
) -> None:
    a = FakeServer()
    async with open_runtime() as runtime:
        servers = await start(runtime, attrs.evolve(stdio("a"), **more), a=a)
        await servers.wait_settled()
        server = servers.get("a")
        assert server is not None
        began = trio.current_time()
        with pytest.raises(CallFailed):
            await server.call("slow", {"steps": steps})

        assert trio.current_time() - began == pytest.approx(expected_s)
        assert server.status is S.CONNECTED


async def test_a_call_of_a_server_that_is_being_connected_waits_and_not_forever(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        servers = await start(
            runtime,
            stdio("soon"),
            http("late"),
            soon=FakeServer(connects_after_s=3),
            late=FakeServer(connects_after_s=29, fails=("once",)),
        )
        soon, late = servers.get("soon"), servers.get("late")
        assert soon is not None
        assert late is not None

        assert (await soon.call("echo", {})).parts
        assert trio.current_time() == pytest.approx(3)
        with pytest.raises(ServerDown):
            await late.call("echo", {})
        assert trio.current_time() == pytest.approx(33)
        with pytest.raises(ServerDown):
            await late.call("echo", {}, wait_s=0)
        assert trio.current_time() == pytest.approx(33)


async def test_the_loss_of_a_line_is_told_with_its_reason(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        servers = await start(runtime, stdio("a"), settings=McpSettings(idle_stdio_s=0), a=FakeServer(ECHO))
        await servers.wait_settled()
        server = servers.get("a")
        assert server is not None
        with pytest.raises(ServerDown) as caught:
            await server.call("drop", {})

        assert caught.value.why == "it was lost while it ran drop: it dropped the line"

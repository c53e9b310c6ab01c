"""Requests of one connection: what is refused, what is cut off, and in which order they begin."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from greenroom.core import JournalError, UsageError
from greenroom.gateway.rpc._methods import Answer, RpcCall
from greenroom.gateway.rpc._rpc_frames import MAX_REQUESTS, ErrorCode, RpcError
from greenroom.gateway.rpc._rpc_tokens import NamedToken
from greenroom.gateway.rpc._scopes import RpcScope
from tests.gateway.rpc.peers import KEY, connect_params, open_house
from tests.trace.disks import MemoryDisk

pytestmark = pytest.mark.usefixtures("virtual_time")
WRITER = NamedToken(
    name="writer", token="w" * 32, scopes=frozenset({RpcScope.READ, RpcScope.WRITE}), sessions=frozenset({KEY})
)


async def never(_: RpcCall, __: Any) -> Answer:
    await trio.sleep_forever()
    raise AssertionError


def raising(error: Exception) -> Any:
    async def handler(_: RpcCall, __: Any) -> Answer:
        await trio.lowlevel.checkpoint()
        raise error

    return handler


@pytest.mark.promise("A25-b")
@pytest.mark.parametrize(
    "message",
    [
        "no JSON",
        "[" * 2_000,
        '{"a": "\\ud800"}',
        b"bytes",
        "[]",
        '{"type": "req", "method": "health"}',
        '{"type": "req", "id": "", "method": "health"}',
        '{"type": "res", "id": "1"}',
        '{"type": "req", "id": "1", "method": 3}',
        '{"type": "req", "id": "1", "method": "health", "params": []}',
    ],
)
async def test_fifth_bad_frame_in_a_row_closes(message: str | bytes) -> None:
    async with open_house() as house, house.connected() as peer:
        for _ in range(4):
            await peer.socket.send_message(message)
        assert (await peer.call("health"))["ok"], "four of them do no harm"
        for _ in range(5):
            await peer.socket.send_message(message)
        assert await peer.close_code() == 1007

    has_id = isinstance(message, str) and '"id": "1"' in message
    assert ("1" in peer.answers) is has_id
    if has_id:
        assert peer.answers["1"]["error"]["code"] == "bad_request"


async def test_unknown_fields_of_a_frame_are_ignored() -> None:
    async with open_house() as house, house.connected() as peer:
        await peer.send(type="req", id="x", method="health", params=None, trace="abc")
        assert (await peer.answer("x"))["ok"]


async def test_unknown_method_and_second_connect_are_refused() -> None:
    async with open_house() as house, house.connected() as peer:
        unknown = await peer.call("sessions.explode")
        again = await peer.call("connect", connect_params())
        assert (await peer.call("health"))["ok"]

    assert unknown["error"]["code"] == "unknown_method"
    assert again["error"]["code"] == "bad_request"


async def test_message_beyond_a_mebibyte_closes() -> None:
    async with open_house() as house, house.connected() as peer:
        await peer.ask("health", {"x": "y" * 1_048_576})
        assert await peer.close_code() == 1009


async def test_answer_beyond_a_mebibyte_is_an_error() -> None:
    async def large(_: RpcCall, __: Any) -> Answer:
        await trio.lowlevel.checkpoint()
        return {"text": "é" * 600_000}

    async with open_house(replaced={"chat.history": large}) as house, house.connected() as peer:
        answer = await peer.call("chat.history", {"sessionKey": KEY})

    assert answer["error"]["code"] == "too_large"


async def test_request_beyond_64_is_busy_and_a_repeated_id_is_refused() -> None:
    async with open_house(replaced={"agent.wait": never}) as house, house.connected() as peer:
        ids = [await peer.ask("agent.wait", {"runId": "r"}) for _ in range(MAX_REQUESTS)]
        more = await peer.call("health")
        await peer.send(type="req", id=ids[0], method="health")
        again = await peer.answer(ids[0])

    assert (more["error"]["code"], more["error"]["retryAfterMs"]) == ("busy", 1_000)
    assert (again["error"]["code"], again["error"]["details"]["path"]) == ("bad_request", "id")


async def test_hundreds_of_requests_at_once_are_all_answered() -> None:
    async with open_house() as house, house.connected() as peer:
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                for number in range(300):
                    await peer.send(type="req", id=f"n{number}", method="agents.list")

            nursery.start_soon(ask)
            while len(peer.answers) < 300:
                await peer.receive()

    codes = {answer.get("error", {}).get("code") for answer in peer.answers.values()}
    assert codes <= {None, "busy"}


async def test_requests_begin_in_their_order() -> None:
    order: list[str] = []

    async def note(call: RpcCall, _: Any) -> Answer:
        order.append(call.key or call.method)
        await trio.sleep(1 / len(order))
        return {}

    handlers = {"chat.send": note, "health": note}
    async with open_house() as house:
        for name, handler in handlers.items():
            house.recorded.replaced[name] = handler
        async with house.connected() as peer:
            ids = []
            for number in range(20):
                params = {"sessionKey": KEY, "message": "m", "idempotencyKey": f"k{number}"}
                ids.append(await peer.ask("chat.send", params) if number % 3 else await peer.ask("health"))
            for id_ in ids:
                await peer.answer(id_)

    expected = [f"k{number}" if number % 3 else "health" for number in range(20)]
    assert order == expected


async def test_client_that_leaves_ends_its_looks_and_no_change() -> None:
    ended: list[str] = []
    go_on = trio.Event()

    async def slow(call: RpcCall, _: Any) -> Answer:
        try:
            await go_on.wait()
        except trio.Cancelled:
            ended.append(f"{call.method} cancelled")
            raise
        ended.append(f"{call.method} done")
        return {"runId": "r"}

    change = {"sessionKey": KEY, "message": "m", "idempotencyKey": "k"}
    async with open_house(replaced={"agent.wait": slow, "agent": slow}) as house:
        async with house.connected() as peer:
            await peer.ask("agent.wait", {"runId": "r"})
            await peer.ask("agent", change)
            await trio.testing.wait_all_tasks_blocked()
        await trio.testing.wait_all_tasks_blocked()
        assert ended == ["agent.wait cancelled"]
        go_on.set()
        await trio.testing.wait_all_tasks_blocked()
        async with house.connected() as peer:
            answer = await peer.call("agent", change)

    assert ended == ["agent.wait cancelled", "agent done"]
    assert (answer["payload"], answer["cached"]) == ({"runId": "r"}, True)


async def test_call_that_takes_too_long_is_told_so_and_a_change_goes_on() -> None:
    """RC-62: each request has a deadline of its own."""

    async def slow(_: RpcCall, __: Any) -> Answer:
        await trio.sleep(40)
        return {"runId": "r"}

    change = {"sessionKey": KEY, "message": "m", "idempotencyKey": "k"}
    async with open_house(replaced={"agents.list": slow, "agent": slow}) as house, house.connected() as peer:
        look, made = await peer.ask("agents.list"), await peer.ask("agent", change)
        codes = [(await peer.answer(look))["error"]["code"], (await peer.answer(made))["error"]["code"]]
        meanwhile = await peer.call("agent", change)
        await trio.sleep(20)
        after = await peer.call("agent", change)

    assert codes == ["timeout", "timeout"]
    assert meanwhile["payload"] == {"status": "in_flight"}
    assert (after["payload"], after["cached"]) == ({"runId": "r"}, True)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RpcError(ErrorCode.NOT_FOUND, "no such session"), "not_found"),
        (UsageError("invalid session key"), "bad_request"),
        (JournalError("journal", "the disk is full"), "unavailable"),
        (trio.TooSlowError(), "timeout"),
        (LookupError("planted"), "internal"),
        (ExceptionGroup("planted", [ValueError("planted")]), "internal"),
    ],
)
async def test_error_of_a_handler_has_its_code_and_ends_nothing(error: Exception, code: str) -> None:
    handler = raising(error)
    change = {"sessionKey": KEY, "message": "m", "idempotencyKey": "k"}
    async with open_house(replaced={"agents.list": handler, "agent": handler}) as house, house.connected() as peer:
        look, made = await peer.call("agents.list"), await peer.call("agent", change)
        again = await peer.call("agent", change)
        assert (await peer.call("health"))["ok"]

    assert look["error"]["code"] == made["error"]["code"] == again["error"]["code"] == code
    assert "planted" not in str((look, made))
    assert [method for method, _ in house.errors] == (["agents.list", "agent", "agent"] if code == "internal" else [])


async def test_token_of_some_sessions_reaches_no_other_one() -> None:
    async with open_house(named=[WRITER]) as house, house.connected(WRITER.token) as peer:
        own = await peer.call("chat.history", {"sessionKey": KEY})
        refused = [
            await peer.call("chat.history", {"sessionKey": "agent:main:dm:x"}),
            await peer.call("chat.history", {"sessionKey": "main"}),
            await peer.call("agent", {"message": "m", "idempotencyKey": "k"}),
            await peer.call("send", {"channel": "irc", "to": "x", "message": "m", "idempotencyKey": "k"}),
            await peer.call("deliveries.dismiss", {"deliveryId": "x", "idempotencyKey": "k"}),
            await peer.call("cron.list"),
        ]

    assert own["ok"]
    assert {answer["error"]["code"] for answer in refused} == {"forbidden"}
    assert house.recorded.count("chat.history") == len(house.recorded.calls) == 1


async def test_stop_refuses_changes_and_tells_every_client() -> None:
    change = {"sessionKey": KEY, "idempotencyKey": "k"}
    async with open_house() as house, house.connected() as peer:
        house.rpc.shut("SIGTERM")
        (event,) = await peer.next_events(1)
        refused = await peer.call("sessions.reset", change)
        look, abort = await peer.call("health"), await peer.call("chat.abort", change)

    assert (event["event"], event["payload"]["reason"]) == ("shutdown", "SIGTERM")
    assert (refused["error"]["code"], refused["error"]["details"]) == ("unavailable", {"reason": "stopping"})
    assert look["ok"]
    assert abort["ok"]


async def test_full_disk_refuses_changes_while_looks_and_stops_go_on() -> None:
    disk = MemoryDisk()
    change = {"sessionKey": KEY, "idempotencyKey": "k"}
    with pytest.raises(JournalError):
        async with open_house(disk) as house, house.connected() as peer:
            disk.room_bytes = 10
            first = await peer.call("sessions.reset", change)
            second = await peer.call("sessions.reset", change | {"idempotencyKey": "other"})
            look, abort = await peer.call("health"), await peer.call("chat.abort", change | {"idempotencyKey": "stop"})

    assert [answer["error"]["code"] for answer in (first, second)] == ["unavailable", "unavailable"]
    assert house.recorded.count("sessions.reset") == 1
    assert look["ok"]
    assert abort["ok"]


async def test_connection_that_closes_in_any_state_leaves_nothing() -> None:
    """RC-114: subscriptions are kept with their connection and end with it."""
    async with open_house(replaced={"agent.wait": never}) as house:
        for frames in ([], ["health"], ["agent.wait", "events.subscribe", "health"]):
            async with house.connected() as peer:
                for method in frames:
                    params = {"agent.wait": {"runId": "r"}, "events.subscribe": {"events": ["chat"]}}.get(method)
                    await peer.ask(method, params)
        async with house.opened() as peer:
            await peer.socket._stream.send_all(b"\x81\xfe\x10")
        await trio.testing.wait_all_tasks_blocked()

        assert house.hub.statistics() == {"connections": 0, "waitingFrames": 0, "waitingBytes": 0, "lostEvents": 0}
        assert house.server.statistics().proven == 0

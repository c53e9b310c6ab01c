"""The first frame: hosts, origins, credentials, protocols; and nothing before them."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest
import trio
from trio_websocket import ConnectionClosed

from greenroom.gateway.rpc._rpc_tokens import NamedToken
from tests.gateway.rpc.peers import HOST, KEY, OPERATOR, House, connect_params, open_house
from tests.serving.callers import read_all

pytestmark = pytest.mark.usefixtures("virtual_time")

HOSTS = {"no host": None, "another host": "evil.example", "own host": HOST}
ORIGINS = {
    "no origin": None,
    "own origin": f"http://{HOST}",
    "another port": "http://localhost:9",
    "null": "null",
    "foreign": "https://evil.example",
}
READER = NamedToken(name="reader", token="r" * 32)
GONE = NamedToken(name="gone", token="g" * 32)
TOKENS = {"none": None, "wrong": "w" * 64, "right": OPERATOR, "revoked": GONE.token, "too few": READER.token}


@pytest.mark.promise("A25-a")
@pytest.mark.parametrize(("host", "origin", "token"), list(itertools.product(HOSTS, ORIGINS, TOKENS)))
async def test_only_the_right_host_origin_and_token_get_in(host: str, origin: str, token: str) -> None:
    """GW-23: host, origin and token are compared before anything of the gateway is called."""
    async with open_house(named=[READER, GONE]) as house:
        house.tokens.replace([READER])
        house.hub.publish("session", KEY, {"secret": "planted"})

        said = await attempt(house, HOSTS[host], ORIGINS[origin], TOKENS[token])

    is_let_in = host == "own host" and origin in {"no origin", "own origin"}
    if not is_let_in:
        assert said.startswith(b"HTTP/1.1 4")
    assert (b"hello-ok" in said) is (is_let_in and token == "right")
    assert house.recorded.calls == []
    assert b"planted" not in said
    assert b"agent:" not in said


async def attempt(house: House, host: str | None, origin: str | None, token: str | None) -> bytes:
    """Return everything that a client is told which asks for all scopes."""
    lines = ["GET /rpc HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    lines.append(f"Sec-WebSocket-Key: {base64.b64encode(b'0' * 16).decode()}")
    lines += [f"{name}: {value}" for name, value in (("Host", host), ("Origin", origin)) if value is not None]
    params = connect_params(token or "", scopes=["read", "write", "approve", "admin"])
    if token is None:
        params["auth"] = {}
    frame = json.dumps({"type": "req", "id": "1", "method": "connect", "params": params}).encode()
    stream = await house.dial()
    with trio.move_on_after(3):
        await stream.send_all("\r\n".join([*lines, "", ""]).encode() + masked(frame))
        await trio.sleep(2)
        await stream.send_eof()
        return await read_all(stream)
    return b""


def masked(payload: bytes) -> bytes:
    """Return a text frame of a client."""
    return bytes([0x81, 0x80 | 126]) + len(payload).to_bytes(2, "big") + bytes(4) + payload


@pytest.mark.parametrize(
    ("params", "code", "path", "close"),
    [
        (connect_params() | {"minProtocol": 2, "maxProtocol": 9}, "protocol", "", 1002),
        (connect_params() | {"minProtocol": 0, "maxProtocol": 0}, "protocol", "", 1002),
        (connect_params() | {"auth": {}}, "bad_request", "auth", 1008),
        (connect_params() | {"auth": {"token": OPERATOR, "code": "c"}}, "bad_request", "auth", 1008),
        (connect_params() | {"auth": {"code": "wrong"}}, "unauthorized", "", 1008),
        (connect_params("é" * 64), "unauthorized", "", 1008),
        (connect_params() | {"scopes": ["everything"]}, "bad_request", "scopes[0]", 1008),
        (connect_params() | {"client": {"id": "x\n", "version": "1"}}, "bad_request", "client.id", 1008),
        ({}, "bad_request", "auth", 1008),
    ],
)
async def test_refused_connect_is_answered_and_closed(params: dict[str, Any], code: str, path: str, close: int) -> None:
    async with open_house() as house, house.opened() as peer:
        answer = await peer.call("connect", params)
        assert await peer.close_code() == close

    assert answer["error"]["code"] == code
    assert answer["error"].get("details", {}).get("path", "") == path
    if code == "protocol":
        assert answer["error"]["details"]["server"] == {"min": 1, "max": 1}
        assert answer["error"]["details"]["client"]["max"] == params["maxProtocol"]


@pytest.mark.promise("A25-a")
async def test_token_that_is_good_for_less_is_refused_more() -> None:
    async with open_house(named=[READER]) as house:
        async with house.opened() as peer:
            answer = await peer.call("connect", connect_params(READER.token, scopes=["read", "admin"]))
            assert (answer["error"]["code"], await peer.close_code()) == ("forbidden", 1008)
        async with house.connected(READER.token) as peer:
            assert peer.hello["scopes"] == ["read"]
            refused = await peer.call("sessions.reset", {"sessionKey": KEY, "idempotencyKey": "k"})

    assert refused["error"]["code"] == "forbidden"
    assert house.recorded.calls == []


async def test_other_first_call_is_refused_without_a_word() -> None:
    async with open_house() as house, house.opened() as peer:
        answer = await peer.call("sessions.list")
        assert await peer.close_code() == 1008

    assert answer["error"] == {"code": "unauthorized", "message": "the first call must be 'connect'"}


@pytest.mark.parametrize("message", ["", "{", "[]", "null", '{"type":"req"}', b"\x00", '{"type":"req","id":7}'])
async def test_first_message_that_is_no_request_is_closed(message: str | bytes) -> None:
    async with open_house() as house, house.opened() as peer:
        await peer.socket.send_message(message)
        with pytest.raises(ConnectionClosed) as caught:
            await peer.socket.get_message()

    assert caught.value.reason is not None
    assert caught.value.reason.code == 1008


async def test_silent_connection_is_closed_after_five_seconds() -> None:
    async with open_house() as house, house.opened() as peer:
        began = trio.current_time()
        assert await peer.close_code() == 1008
        assert 5 <= trio.current_time() - began <= 5.1


async def test_first_frame_has_at_most_16_kib() -> None:
    async with open_house() as house, house.opened() as peer:
        await peer.ask("connect", connect_params("x" * 17_000))
        assert await peer.close_code() == 1009


async def test_one_time_code_lets_a_page_in_once() -> None:
    async with open_house() as house, house.connected() as operator:
        code = (await operator.call("gateway.open"))["payload"]["code"]
        async with house.opened() as page:
            hello = (await page.call("connect", connect_params() | {"auth": {"code": code}}))["payload"]
        async with house.opened() as thief:
            assert (await thief.call("connect", connect_params() | {"auth": {"code": code}}))["ok"] is False
        async with house.connected(hello["token"]) as page:
            assert page.hello["scopes"] == ["approve", "read", "write"]
            assert (await page.call("gateway.open"))["error"]["code"] == "forbidden"
            house.tokens.revoke(house.tokens.pages()[0])
            house.rpc.close_revoked()
            assert await page.close_code() == 1008

        admin = (await operator.call("gateway.open", {"admin": True}))["payload"]["code"]
        async with house.opened() as page:
            hello = (await page.call("connect", connect_params() | {"auth": {"code": admin}}))["payload"]
        assert hello["scopes"] == ["admin", "approve", "read", "write"]
        assert code not in str(house.record.registry.snapshot())


@pytest.mark.promise("A25-a")
async def test_revoked_token_is_refused_at_the_next_call() -> None:
    async with open_house(named=[READER]) as house, house.connected(READER.token) as peer:
        house.tokens.replace([])
        await peer.ask("sessions.list")
        assert await peer.close_code() == 1008

    assert house.recorded.calls == []


async def test_connections_beyond_the_limit_are_closed_to_try_later() -> None:
    async with open_house(max_connections=2) as house, house.connected(), house.connected():
        async with house.opened() as peer:
            await peer.ask("connect", connect_params())
            assert await peer.close_code() == 1013

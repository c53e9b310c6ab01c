"""Frames that nobody would send: each is answered, or ends its connection, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio_websocket import ConnectionClosed

from greenroom.gateway.rpc._params_reader import read_params
from greenroom.gateway.rpc._rpc_frames import BadFrame, RequestFrame, RpcError, read_request
from tests.gateway.rpc.examples import KINDS, right_params
from tests.gateway.rpc.peers import Peer, open_house

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
METHOD = st.sampled_from([*KINDS, "connect", "nothing"])


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Return a request that is nearly right."""
    method = draw(METHOD)
    params = right_params(KINDS[method]) if method in KINDS else {}
    changed = draw(st.dictionaries(st.sampled_from([*params, "surplus"]), JSON, max_size=2))
    frame = {"type": "req", "id": draw(st.sampled_from(["1", "2", "3"])), "method": method, "params": params | changed}
    return frame | draw(st.dictionaries(st.sampled_from(["type", "id", "method", "params", "x"]), JSON, max_size=1))


def encoded(value: Any) -> str:
    """Return a value as a client would write it that does not care."""
    return json.dumps(value)


FRAMES = st.one_of(
    st.text(max_size=200).filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text)),
    st.binary(max_size=200),
    JSON.map(encoded),
    requests().map(encoded),
)


@given(st.one_of(st.text(), st.binary(), JSON.map(encoded), requests().map(encoded)))
def test_message_is_a_request_or_is_not(message: str | bytes) -> None:
    frame = read_request(message)

    assert isinstance(frame, RequestFrame | BadFrame)
    assert frame.id is None or 0 < len(frame.id) <= 128


@given(METHOD.filter(KINDS.__contains__), st.dictionaries(st.text(max_size=12), JSON, max_size=4))
def test_parameters_are_read_or_refused_with_a_path(method: str, params: dict[str, Any]) -> None:
    kind = KINDS[method]
    refusal: RpcError | None = None
    try:
        read_params(kind, right_params(kind) | params)
    except RpcError as error:
        refusal = error

    assert refusal is None or (refusal.code == "bad_request" and refusal.path)


@pytest.mark.promise("A25-b")
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.lists(FRAMES, min_size=1, max_size=20), st.booleans())
async def test_connection_answers_or_ends_and_others_go_on(
    autojump_clock: object, frames: list[str | bytes], is_connected: bool
) -> None:
    async with open_house() as house, house.connected() as other:
        async with house.connected() if is_connected else house.opened() as peer:
            with trio.move_on_after(10):
                await write_all(peer, frames)
        assert (await other.call("health"))["ok"]

        await trio.testing.wait_all_tasks_blocked()
        assert house.server.statistics().proven == 1
        assert house.hub.statistics()["waitingBytes"] == 0
    assert house.errors == []


async def write_all(peer: Peer, frames: list[str | bytes]) -> None:
    """Write frames, and read whatever comes, until the connection ends or nothing comes any more."""
    try:
        for frame in frames:
            await peer.socket.send_message(frame)
            with trio.move_on_after(0.1):
                await peer.receive()
    except ConnectionClosed:
        return

"""A server whose answer does not end, or ends without closing: one error or the whole answer, within small limits."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import pytest
import trio

from greenroom.core import ProviderError
from greenroom.models import AnthropicModel, ModelResponse
from greenroom.models._messages_api import EventParser
from greenroom.testing import StreamReply
from greenroom.testing._messages_script import encode_event, events_of
from tests.models.asking import ask

EVENTS = list(events_of(StreamReply(answer="It is 42.")))
MIB = 1 << 20


def encoded(*events: dict[str, Any]) -> bytes:
    return b"".join(encode_event(event["type"], json.dumps(event)) for event in events)


def head(status: int, content_type: str = "text/event-stream", more: str = "") -> bytes:
    return f"HTTP/1.1 {status} Oops\r\ncontent-type: {content_type}\r\n{more}connection: close\r\n\r\n".encode()


STREAM = head(200)
WHOLE = encoded(*EVENTS)
PING = encode_event("ping", '{"type": "ping"}')
PIECE = encoded(
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 60_000}},
)


@attrs.frozen
class Endless:
    """An answer that never ends, and what is made of it."""

    start: bytes
    piece: bytes
    said: str
    most_mib: int = 8
    """What may be sent before the connection is closed; sockets have buffers of some MiB."""
    is_compressed: bool = False


CASES = {
    "error in JSON": Endless(head(500, "application/json") + b'{"error": {"message": "', b"x" * 65_536, "HTTP 500: "),
    "error in HTML": Endless(head(400, "text/html") + b"<html>", b"x" * 65_536, "HTTP 400: an HTML page"),
    "compressed error": Endless(
        head(503, "application/json", "content-encoding: gzip\r\n"), b"x" * MIB, "HTTP 503: ", 60, is_compressed=True
    ),
    "line": Endless(STREAM + b"data: ", b"x" * 65_536, "malformed: an event of more than 524288 bytes"),
    "event": Endless(STREAM, b"data: " + b"x" * 65_536 + b"\n", "malformed: an event of more than 524288 bytes"),
    "text": Endless(STREAM + encoded(*EVENTS[:3]), PIECE, "malformed: an answer of more than 1048576 bytes", 12),
    "pings": Endless(STREAM + encoded(*EVENTS[:1]), PING * 1000, "malformed: an answer of more than 1048576 bytes", 12),
    "pings after the end": Endless(STREAM + WHOLE, PING * 10, "It is 42.", 10_000),
    "another answer after the end": Endless(STREAM + WHOLE, WHOLE, "It is 42.", 10_000),
    "JSON": Endless(head(200, "application/json"), b"x" * 65_536, "expected an event stream"),
}


@pytest.mark.parametrize("name", CASES)
async def test_endless_answer_ends_at_its_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greenroom.models._messages_api.LARGEST_EVENT_BYTES", MIB // 2)
    monkeypatch.setattr("greenroom.models._messages_api.LARGEST_ANSWER_BYTES", MIB)
    monkeypatch.setattr("greenroom.models._anthropic_client.END_S", 0.05)
    monkeypatch.setattr("greenroom.models._anthropic_client.ERROR_BYTES", MIB // 16)
    case, sent = CASES[name], 0

    async def serve(stream: trio.SocketStream) -> None:
        nonlocal sent
        try:
            while b"\r\n\r\n" not in await stream.receive_some(65_536):
                pass
            await stream.send_all(case.start)
            for piece in pieces(case):
                await stream.send_all(piece)
                sent += len(case.piece)
        except trio.BrokenResourceError:
            pass
        finally:
            await stream.aclose()

    got = await asked(serve)

    assert case.said in (got.text if isinstance(got, ModelResponse) else str(got))
    assert len(str(got)) < 1_000
    assert sent <= case.most_mib * MIB


def pieces(case: Endless) -> Iterator[bytes]:
    if not case.is_compressed:
        while True:
            yield case.piece
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    while True:
        if packed := packer.compress(case.piece):
            yield packed


async def asked(serve: Any) -> ModelResponse | ProviderError:
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        model = AnthropicModel("claude-sonnet-5", api_key="sk-test", base_url=url)
        async with model.open():
            with trio.fail_after(30):
                got = await ask(model)
        nursery.cancel_scope.cancel()
    return got


async def test_answer_whose_connection_stays_open_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greenroom.models._anthropic_client.END_S", 0.05)

    async def serve(stream: trio.SocketStream) -> None:
        await stream.receive_some(65_536)
        await stream.send_all(STREAM + WHOLE)
        await trio.sleep_forever()

    got = await asked(serve)

    assert isinstance(got, ModelResponse)
    assert got.text == "It is 42."


@pytest.mark.parametrize("count", ["1e999", "-1e999", "NaN", str(10**40), "[]", '"many"'])
async def test_absurd_count_of_tokens_is_a_malformed_answer(count: str) -> None:
    body = WHOLE.replace(b'"output_tokens": 1', f'"output_tokens": {count}'.encode())
    assert count.encode() in body

    async def serve(stream: trio.SocketStream) -> None:
        await stream.receive_some(65_536)
        await stream.send_all(STREAM + body)
        await stream.aclose()

    got = await asked(serve)

    assert isinstance(got, ProviderError)
    assert "malformed" in str(got)


def test_long_line_in_small_chunks_is_read_in_linear_time() -> None:
    parser = EventParser()
    chunk = b"x" * 512

    assert parser.feed(b"data: ") == []
    for _ in range(20_000):  # quadratic, this is 100 GB to copy
        assert parser.feed(chunk) == []
    (event,) = parser.feed(b"\n\n")

    assert len(event) == 20_000 * 512

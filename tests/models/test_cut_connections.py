"""A server that stops at any byte, resets the connection, or does not speak HTTP: one error in plain words, never a crash."""

from __future__ import annotations

import json
import re
import socket
import struct

import pytest
import trio

from greenroom.core import ProviderError
from greenroom.core.network import transport_words
from greenroom.models import AnthropicModel, ModelResponse, error_category
from greenroom.testing import StreamReply
from greenroom.testing._messages_script import encode_event, events_of
from tests.models.asking import ask

_BODY = b"".join(encode_event(event["type"], json.dumps(event)) for event in events_of(StreamReply(answer="It is 42.")))
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(_BODY) + _BODY
REFUSAL = (
    b"HTTP/1.1 500 Oops\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n"
    b'{"error": {"message": "no", "type": "x"}}'
)
GARBAGE = (
    b"\x15\x03\x01\x00\x02\x02\x50",  # a TLS alert
    b"SSH-2.0-OpenSSH_9.6\r\n",
    b"HTTP/9.9 999 ?\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nlocation: /v1/messages\r\ncontent-length: 0\r\n\r\n",
    b"\x00" * 100,
    b"",
)
CLASS_NAME = re.compile(r"\b[A-Z][a-z]+[A-Z]\w*|\b\w+(Error|Exception)\b|<class")


async def _serve(stream: trio.SocketStream, answer: bytes, *, resets: bool) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive_some(65_536)
    await stream.send_all(answer)
    if resets:
        linger = struct.pack("ii", 1, 0)
        stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    await stream.aclose()


async def ask_each(answers: list[bytes], *, resets: bool) -> list[ModelResponse | ProviderError]:
    left = list(answers)

    async def serve(stream: trio.SocketStream) -> None:
        try:
            await _serve(stream, left.pop(0), resets=resets)
        except trio.BrokenResourceError:
            pass

    outcomes = []
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        port = listeners[0].socket.getsockname()[1]
        model = AnthropicModel("claude-test", api_key="key", base_url=f"http://127.0.0.1:{port}")
        async with model.open():
            for _ in answers:
                with trio.fail_after(30):
                    outcomes.append(await ask(model))
        nursery.cancel_scope.cancel()
    return outcomes


def assert_told(outcome: ModelResponse | ProviderError, about: object) -> None:
    if isinstance(outcome, ModelResponse):
        assert outcome.stop_reason == "end_turn", about
        assert outcome.text == "It is 42.", about
        return
    text = str(outcome)
    assert error_category(outcome.kind) != "unknown"
    assert text, about
    assert "\n" not in text
    assert not CLASS_NAME.search(text), (about, text)


@pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("whole", [WHOLE, REFUSAL], ids=["answer", "refusal"])
async def test_an_answer_that_stops_at_any_byte_is_whole_or_an_error(whole: bytes, resets: bool) -> None:
    step = 5 if whole is WHOLE else 7
    cuts = [*range(0, len(whole), step), len(whole)]

    outcomes = await ask_each([whole[:cut] for cut in cuts], resets=resets)

    for cut, outcome in zip(cuts, outcomes, strict=True):
        assert_told(outcome, cut)
    if whole is WHOLE and not resets:
        assert isinstance(outcomes[-1], ModelResponse)


async def test_a_server_that_does_not_speak_http_is_named_in_plain_words() -> None:
    for answer, outcome in zip(GARBAGE, await ask_each(list(GARBAGE), resets=False), strict=True):
        assert isinstance(outcome, ProviderError), answer
        assert_told(outcome, answer)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "connection refused"),
        (TimeoutError(), "no answer came in time"),
        (OSError(), "it failed without a reason"),
        (trio.BrokenResourceError(), "the other side closed the connection"),
        (ProviderError("HTTP 500: no.", kind="server_error"), "HTTP 500: no"),
        (ValueError("odd."), "odd"),
    ],
)
def test_an_error_of_a_connection_has_plain_words(error: BaseException, words: str) -> None:
    assert transport_words(error) == words

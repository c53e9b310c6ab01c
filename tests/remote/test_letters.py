"""Letters over real sockets of the loopback interface: taken once, by those who know the token, and by nobody else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio_websocket import ConnectionClosed, ConnectionRejected, wrap_client_stream

from greenroom.core import PeerError, UsageError, open_bare_nursery
from greenroom.remote import Letter, LetterRefused, open_letterbox, send_letter
from greenroom.remote._letters import MAX_CHARACTERS, MAX_CONNECTIONS, MAX_FRAME, read_letter

TOKEN = "t0ken"
LETTER = Letter(id="1", sender="me", text="Hello.")


@attrs.define
class Box:
    """An open letterbox, and what it has taken."""

    port: int
    taken: list[Letter]

    async def is_well(self) -> bool:
        """Whether it takes a letter still."""
        before = len(self.taken)
        await send_letter(Letter(id=f"after {before}", sender="me", text="x"), port=self.port, token=TOKEN)
        return len(self.taken) == before + 1


@asynccontextmanager
async def open_box() -> AsyncIterator[Box]:
    taken: list[Letter] = []

    async def take(letter: Letter) -> None:
        if letter.text == "refuse":
            raise PeerError("not today")
        taken.append(letter)

    async with open_letterbox(take, token=TOKEN) as port:
        yield Box(port, taken)


async def speak(port: int, frame: str | bytes, *more: tuple[bytes, bytes]) -> Any:
    headers = [(b"Authorization", b"Bearer " + TOKEN.encode()), *more]
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    try:
        async with open_bare_nursery() as nursery:
            connection = await wrap_client_stream(nursery, stream, "127.0.0.1", "/", extra_headers=headers)
            await connection.send_message(frame)
            answer = await connection.get_message()
            nursery.cancel_scope.cancel()
            return json.loads(answer)
    finally:
        await trio.aclose_forcefully(stream)


async def test_a_letter_is_taken_once_however_often_it_is_sent() -> None:
    """Repeats are dropped, and their sender is told that it is there."""
    async with open_box() as box:
        for _ in range(3):
            await send_letter(LETTER, port=box.port, token=TOKEN)
        await send_letter(attrs.evolve(LETTER, id="2"), port=box.port, token=TOKEN)

    assert box.taken == [LETTER, attrs.evolve(LETTER, id="2")]


@pytest.mark.parametrize("token", ["T0ken", "t0ken0", "t0ke", "x"])
async def test_who_does_not_know_the_token_is_turned_away(token: str) -> None:
    async with open_box() as box:
        with pytest.raises(LetterRefused) as caught:
            await send_letter(LETTER, port=box.port, token=token)
        assert box.taken == []
        assert await box.is_well()

    assert caught.value.kind == "refused"


async def test_a_page_in_a_browser_is_turned_away_though_it_knows_the_token() -> None:
    async with open_box() as box:
        with pytest.RaisesGroup(ConnectionRejected):
            await speak(box.port, "{}", (b"Origin", b"http://example.org"))
        assert box.taken == []


BAD_FRAMES = [
    "",
    "no JSON",
    "[]",
    "null",
    b"\x00\xff",
    json.dumps({"id": "1"}),
    json.dumps({"id": "", "sender": "me", "text": "x"}),
    json.dumps({"id": "1", "sender": "me", "text": 3}),
    json.dumps({"id": "1", "sender": "me", "text": "x", "more": 1}),
    json.dumps({"id": "1", "sender": "me", "text": " \n"}),
    json.dumps({"id": "1", "sender": "me", "text": "x" * (MAX_CHARACTERS + 1)}),
    "[" * 100_000,
]


@pytest.mark.parametrize("frame", BAD_FRAMES, ids=range(len(BAD_FRAMES)))
async def test_what_is_no_letter_is_refused_and_changes_nothing(frame: str | bytes) -> None:
    async with open_box() as box:
        assert (await speak(box.port, frame))["ok"] is False
        assert box.taken == []
        assert await box.is_well()


@given(st.text() | st.binary() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_no_frame_reads_as_anything_but_a_letter(frame: str | bytes) -> None:
    with pytest.raises(UsageError):
        read_letter(frame)


async def test_a_frame_without_end_ends_the_connection() -> None:
    async with open_box() as box:
        with pytest.raises(ConnectionClosed):
            await speak(box.port, "x" * (MAX_FRAME + 1))
        assert await box.is_well()


@pytest.mark.parametrize(
    "noise", [b"", b"\x00" * 100, b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"]
)
async def test_noise_is_no_harm(noise: bytes) -> None:
    async with open_box() as box:
        stream = await trio.open_tcp_stream("127.0.0.1", box.port)
        await stream.send_all(noise)
        await stream.aclose()
        assert await box.is_well()


async def test_those_who_say_nothing_do_not_keep_others_out_for_long(autojump_clock: trio.testing.MockClock) -> None:
    async with open_box() as box:
        idle = [await trio.open_tcp_stream("127.0.0.1", box.port) for _ in range(MAX_CONNECTIONS)]
        with trio.fail_after(60):
            for stream in idle:
                assert await stream.receive_some() == b""  # the other side has given up
                await stream.aclose()


async def test_the_reason_of_a_refusal_comes_back() -> None:
    async with open_box() as box:
        with pytest.raises(LetterRefused, match="not today") as caught:
            await send_letter(attrs.evolve(LETTER, text="refuse"), port=box.port, token=TOKEN)
        assert await box.is_well()

    assert caught.value.kind == "refused"


async def test_where_nobody_listens_that_is_said() -> None:
    async with open_box() as box:
        pass
    with pytest.raises(LetterRefused) as caught:
        await send_letter(LETTER, port=box.port, token=TOKEN)

    assert caught.value.kind == "not_listening"


async def test_one_who_never_answers_is_given_up() -> None:
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")

        async def hold(_: trio.SocketStream) -> None:
            await trio.sleep_forever()

        nursery.start_soon(trio.serve_listeners, hold, [listener])
        with pytest.raises(LetterRefused) as caught:
            await send_letter(LETTER, port=listener.socket.getsockname()[1], token=TOKEN, timeout_s=0.1)
        nursery.cancel_scope.cancel()

    assert caught.value.kind == "timed_out"


@pytest.mark.parametrize("text", [" ", "x" * (MAX_CHARACTERS + 1)])
async def test_what_cannot_be_taken_is_not_sent(text: str) -> None:
    with pytest.raises(UsageError):
        await send_letter(attrs.evolve(LETTER, text=text), port=1, token=TOKEN)

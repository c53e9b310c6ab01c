"""Peers that misbehave, over real sockets: each gets its answer, and nobody else notices."""

from __future__ import annotations

import socket
import struct
import tracemalloc
from itertools import product
from typing import TYPE_CHECKING, Final

import pytest
import trio
import trio.lowlevel
from hypothesis import given
from hypothesis import strategies as st

from greenroom.serving._admission import MAX_UNPROVEN_OF_ADDRESS
from tests.serving.callers import HOST, KEY, ORIGIN, RIGHT, Served, open_loopback, open_served, request, upgrade

if TYPE_CHECKING:
    from collections.abc import Sequence

BODY: Final = "Content-Length: 5"
CHUNKED: Final = "Transfer-Encoding: chunked"
OPEN: Final = 101
CLOSED: Final = 0

FORMS: Final[dict[str, tuple[bytes, int]]] = {
    # hosts
    "no host": (request("/page", host=None), 400),
    "no host in an old version": (b"GET /page HTTP/1.0\r\n\r\n", 421),
    "two hosts": (request("/page", f"Host: {HOST}"), 400),
    "an empty host": (request("/page", host=""), 421),
    "a host that was rebound": (request("/page", host="evil.example:8000"), 421),
    "a host with another port": (request("/page", host="localhost:8001"), 421),
    "a host without its port": (request("/page", host="localhost"), 421),
    "a host with a dot": (request("/page", host="localhost.:8000"), 421),
    "a host in capitals": (request("/page", host="LOCALHOST:8000"), 421),
    "a host as another spelling": (request("/page", host="[::ffff:127.0.0.1]:8000"), 421),
    "a host with a name in front": (request("/page", host=f"me@{HOST}"), 421),
    "two hosts in one": (request("/page", host=f"{HOST}, {HOST}"), 421),
    "a foreign host at a path for links": (upgrade("/link").replace(HOST.encode(), b"evil.example"), 421),
    # origins
    "our own origin": (request("/page", f"Origin: {ORIGIN}"), 200),
    "an allowed origin": (request("/page", "Origin: https://friend.example"), 200),
    "an allowed origin of another site": (
        request("/page", "Origin: https://friend.example", "Sec-Fetch-Site: cross-site"),
        200,
    ),
    "null": (request("/page", "Origin: null"), 403),
    "another port": (request("/page", "Origin: http://localhost:8001"), 403),
    "another scheme": (request("/page", "Origin: https://localhost:8000"), 403),
    "a foreign origin": (request("/page", "Origin: http://evil.example"), 403),
    "an origin in capitals": (request("/page", "Origin: HTTP://LOCALHOST:8000"), 403),
    "an empty origin": (request("/page", "Origin: "), 403),
    "two origins": (request("/page", f"Origin: {ORIGIN}", f"Origin: {ORIGIN}"), 403),
    "a stranger's origin at an upgrade": (upgrade("/rpc", "Origin: null"), 403),
    "our own origin at an upgrade": (upgrade("/rpc", f"Origin: {ORIGIN}"), OPEN),
    "our own origin at a path for links": (upgrade("/link", f"Origin: {ORIGIN}"), 403),
    "no origin at a path for links": (upgrade("/link"), OPEN),
    "a link of another page": (request("/page", "Sec-Fetch-Site: cross-site"), 403),
    "a page of another port": (request("/page", "Sec-Fetch-Site: same-site"), 403),
    "a typed address": (request("/page", "Sec-Fetch-Site: none"), 200),
    # targets and methods
    "an absolute target": (request(f"http://{HOST}/page"), 400),
    "an absolute foreign target": (request("http://evil.example/page"), 400),
    "a tunnel": (request("evil.example:443", method="CONNECT"), 400),
    "a star": (request("*", method="OPTIONS"), 400),
    "an unknown path": (request("/nothing"), 404),
    "a path with dots": (request("/files/../page"), 200),  # it is below /files/, and means nothing else
    "an encoded path": (request("/%70age"), 404),
    "a method that is not allowed": (request("/page", method="DELETE"), 405),
    "an invented method": (request("/page", method="PROPFIND"), 405),
    "a post to an upgrade": (request("/rpc", method="POST"), 405),
    # bodies
    "an unexpected body": (request("/page", BODY, body="hello"), 413),
    "a body that is too large": (request("/post", "Content-Length: 99999", method="POST"), 413),
    "two lengths": (request("/post", BODY, "Content-Length: 6", method="POST", body="hello!"), 400),
    "two lengths in one": (request("/post", "Content-Length: 5, 6", method="POST", body="hello!"), 400),
    "a signed length": (request("/post", "Content-Length: +5", method="POST", body="hello"), 400),
    "a huge length": (request("/post", "Content-Length: " + "9" * 30, method="POST"), 400),
    "a length and chunks": (request("/post", BODY, CHUNKED, method="POST", body="0\r\n\r\n"), 400),
    "chunks": (request("/post", CHUNKED, method="POST", body="0\r\n\r\n"), 411),
    "chunks in disguise": (request("/post", "Transfer-Encoding: x, chunked", method="POST"), 501),
    "a length with a space": (request("/post", "Content-Length : 5", method="POST", body="hello"), 400),
    "a folded header": (request("/page", "X: 1", " Host: evil.example"), 200),  # one header X, by the old rule
    "a second request": (request("/page") + request("/secret"), 200),
    # heads
    "a large head": (request("/page", "X: " + "x" * 17_000), 431),
    "a large head without an end": (request("/page", "X: " + "x" * 20_000)[:-4], 431),
    "garbage": (bytes(range(128, 256)) + b"\r\n\r\n", 400),
    "the hello of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), 400),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 421),
    "a later version": (f"GET /page HTTP/3.0\r\nHost: {HOST}\r\n\r\n".encode(), 505),
    "an early version": (b"GET /page\r\n\r\n", 400),
    "a control character": (request("/page", "X: a\x00b"), 400),
    # upgrades
    "no upgrade": (request("/rpc"), 426),
    "an upgrade of another kind": (upgrade().replace(b"websocket", b"h2c"), 426),
    "no key": (upgrade().replace(f"Sec-WebSocket-Key: {KEY}\r\n".encode(), b""), 400),
    "a short key": (upgrade().replace(KEY.encode(), b"c2hvcnQ="), 400),
    "two keys": (upgrade("/rpc", f"Sec-WebSocket-Key: {KEY}"), 400),
    "an old version of the protocol": (upgrade().replace(b"Version: 13", b"Version: 8"), 426),
    "two versions of the protocol": (upgrade("/rpc", "Sec-WebSocket-Version: 13"), 426),
    "an upgrade in HTTP/1.0": (upgrade().replace(b"HTTP/1.1", b"HTTP/1.0"), 426),
    "no subprotocol": (upgrade().replace(b"Sec-WebSocket-Protocol: greenroom.test.1\r\n", b""), 403),
    "another subprotocol": (upgrade().replace(b"greenroom.test.1", b"chat"), 403),
    "an extra subprotocol": (upgrade("/rpc", "Sec-WebSocket-Protocol: chat"), 403),
    "three subprotocols": (upgrade("/watch", f"Sec-WebSocket-Protocol: {RIGHT}, chat"), 403),
    "an upgrade elsewhere": (upgrade("/page"), 200),
    "an upgrade with a body": (upgrade("/rpc", BODY), 413),
    "extensions": (upgrade("/rpc", "Sec-WebSocket-Extensions: permessage-deflate"), OPEN),
    # frames
    "a byte behind the upgrade": (upgrade() + b"\xff", OPEN),
    "a frame without a mask": (upgrade() + b"\x81\x05hello", OPEN),
    "an unknown kind of frame": (upgrade() + b"\x8f\x80mask", OPEN),
    "a reserved bit": (upgrade() + b"\xf1\x80mask", OPEN),
    "text that is none": (upgrade() + b"\x81\x82\x00\x00\x00\x00\xff\xfe", OPEN),
    "a close": (upgrade() + b"\x88\x80mask", OPEN),
    "two closes": (upgrade() + b"\x88\x80mask" * 2, OPEN),
    "frames behind a close": (upgrade() + b"\x88\x80mask\x89\x80mask\x81\x80mask", OPEN),
    "a close with half a code": (upgrade() + b"\x88\x81\x00\x00\x00\x00\x03", OPEN),
    "a long ping": (upgrade() + b"\x89\xfe\x00\x80mask" + bytes(128), OPEN),
    "a fragment of nothing": (upgrade() + b"\x80\x80mask", OPEN),
    "a frame of a gibibyte": (upgrade() + b"\x82\xff" + (1 << 30).to_bytes(8, "big") + b"mask", OPEN),
    "empty fragments": (upgrade() + b"\x01\x80mask" + b"\x00\x80mask" * 5_000, OPEN),
}
LETS_IN: Final = {200, OPEN}


async def test_every_form_of_misbehavior_has_its_answer() -> None:
    """`judge_head` decides by one table, before the application or a judge of credentials is asked."""
    wrong: list[str] = []
    async with open_loopback() as served:
        for name, (sent, expected) in FORMS.items():
            served.app.calls.clear()
            with trio.move_on_after(5) as limit:
                status = await ended(served, sent) if expected == OPEN else await served.status(sent)
            called = [each for each in served.app.calls if each != "judge"]
            if limit.cancelled_caught or status != expected or (called and expected not in LETS_IN):
                wrong.append(f"{name}: {status}, {served.app.calls}")
        assert await served.is_well()
        assert served.server.statistics().failed == 0

    assert wrong == []


async def ended(served: Served, sent: bytes) -> int:
    """Return the status of a request whose connection the peer then gives up."""
    stream = await served.dial()
    await stream.send_all(sent)
    with trio.move_on_after(1):
        answer = await stream.receive_some(4_096)
    await trio.aclose_forcefully(stream)
    return int(answer.split(b" ", 2)[1]) if answer else 0


HOSTS: Final = {"no": None, "other": "evil.example:8000", "own": HOST}
ORIGINS: Final = {
    "no": (),
    "own": (f"Origin: {ORIGIN}",),
    "other port": ("Origin: http://localhost:8001",),
    "null": ("Origin: null",),
    "foreign": ("Origin: http://evil.example",),
}
TOKENS: Final = {"no": (), "wrong": ("Authorization: Bearer wrong",), "right": (f"Authorization: Bearer {RIGHT}",)}


@pytest.mark.promise("A25-a")
@pytest.mark.parametrize(("host", "origin", "token"), list(product(HOSTS, ORIGINS, TOKENS)))
@pytest.mark.usefixtures("virtual_time")
async def test_only_the_right_host_origin_and_token_together_get_past(host: str, origin: str, token: str) -> None:
    """`judge_head` comes before the judge of credentials, which comes before the application."""
    async with open_served() as served:
        answer = await served.exchange(request("/secret", *ORIGINS[origin], *TOKENS[token], host=HOSTS[host]))

    passes_head = host == "own" and origin in {"no", "own"}
    assert (b"a secret" in answer) == (passes_head and token == "right")
    assert served.app.calls == (["judge"] if passes_head and token != "no" else []) + (
        ["secret admin"] if passes_head and token == "right" else []
    )


# --- ends at any moment -------------------------------------------------------------------------------------------------


def reset(stream: trio.SocketStream) -> None:
    """Close a connection so that the other side finds it broken."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.socket.close()


EXCHANGES: Final[dict[str, bytes]] = {
    "page": request("/page"),
    "post": request("/post", BODY, method="POST", body="hello"),
    "upgrade": upgrade() + b"\x81\x80mask" + b"\x88\x80mask",
}


@pytest.mark.parametrize("form", EXCHANGES)
@pytest.mark.parametrize("is_reset", [False, True])
async def test_a_peer_that_ends_after_any_byte_changes_nothing(form: str, is_reset: bool) -> None:
    sent = EXCHANGES[form]
    async with open_loopback() as served:
        for end in range(0, len(sent) + 1, 9):
            stream = await served.dial()
            await stream.send_all(sent[:end])
            if is_reset:
                await trio.lowlevel.checkpoint()
                reset(stream)
            else:
                await trio.aclose_forcefully(stream)
        assert await served.is_well()
        assert served.server.statistics().failed == 0


async def test_a_thousand_silent_connections_shut_nobody_out() -> None:
    async with open_loopback() as served:
        silent = [await served.dial() for _ in range(1_000)]
        with trio.fail_after(5):
            assert await served.is_well()
            assert await served.asks(RIGHT) == "hello"
        assert served.server.statistics().unproven <= 16
        for stream in silent:
            await trio.aclose_forcefully(stream)


async def test_a_peer_that_reads_nothing_is_left_behind() -> None:
    async with open_loopback() as served, served.connected() as connection:
        await connection.send_message(RIGHT)
        assert await connection.get_message() == "hello"
        with trio.move_on_after(0.2):
            while True:
                await connection.send_message("x" * 65_536)
        assert await served.is_well()


@pytest.mark.promise("A25-h")
async def test_a_right_credential_gets_in_among_wrong_and_silent_ones(autojump_clock: trio.testing.MockClock) -> None:
    """Admission never refuses a newcomer, and gives up those that were wrong before those that have shown nothing."""
    assert autojump_clock.autojump_threshold == 0
    async with open_served() as served, trio.open_nursery() as nursery:
        # As bytes: a thousand clients of a library would take most of the test's time.
        wrong = upgrade() + b"\x81\x85" + bytes(4) + b"wrong"

        silent = [await served.dial() for _ in range(64)]
        for number in range(1_000):
            if number % 10 == 0:
                await trio.sleep(0.001)
            nursery.start_soon(served.exchange, wrong)
            if number % 250 == 0:
                started = trio.current_time()
                assert await served.asks(RIGHT) == "hello"
                assert trio.current_time() - started < 1
            assert served.server.statistics().unproven <= MAX_UNPROVEN_OF_ADDRESS
        started = trio.current_time()
        assert await served.asks(RIGHT) == "hello"
        assert trio.current_time() - started < 1
        for stream in silent:
            await trio.aclose_forcefully(stream)
        nursery.cancel_scope.cancel()
    assert served.app.calls.count("judge") > 100, "most were wrong, and some gave way before they could be"


# --- any bytes ----------------------------------------------------------------------------------------------------------

HEADERS = st.sampled_from(
    [
        *(
            b"Host: localhost:8000",
            b"Host: evil",
            b"Origin: null",
            b"Content-Length: 3",
            b"Content-Length: -1",
            BODY.encode(),
        ),
        *(
            CHUNKED.encode(),
            b"Connection: Upgrade",
            b"Upgrade: websocket",
            b"Sec-WebSocket-Version: 13",
            b"Expect: 100-continue",
        ),
        *(
            f"Sec-WebSocket-Key: {KEY}".encode(),
            b"Sec-WebSocket-Protocol: greenroom.test.1",
            b": x",
            b"X",
            b" y",
            b"\x00: \xff",
        ),
    ]
)
LINES = st.sampled_from(
    [b"GET /page HTTP/1.1", b"GET /rpc HTTP/1.1", b"POST /post HTTP/1.1", b"GET  HTTP/1.1", b"\xff"]
)
HEADS = st.builds(
    lambda line, headers, rest: b"\r\n".join([line, *headers, b"", rest]),
    LINES,
    st.lists(HEADERS, max_size=9),
    st.binary(max_size=60),
)
SENT = st.lists(st.one_of(st.binary(max_size=300), HEADS, st.just(upgrade())), max_size=4)


@given(SENT)
def test_any_bytes_end_their_connection_and_nothing_else(chunks: Sequence[bytes]) -> None:
    async def main() -> None:
        async with open_served() as served:
            await served.exchange(*chunks)
            assert await served.is_well()
            assert served.server.statistics().failed == 0
        assert served.server.statistics().unproven == 0

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@given(st.binary(max_size=300), st.booleans())
def test_any_frames_end_their_connection_and_nothing_else(frames: bytes, is_proven: bool) -> None:
    async def main() -> None:
        async with open_served() as served:
            stream = await served.dial()
            token = b"\x81\xc0\x00\x00\x00\x00" + RIGHT.encode() if is_proven else b""
            await stream.send_all(upgrade() + token + frames)
            await stream.send_eof()
            while await stream.receive_some(4_096):
                pass
            assert await served.is_well()
            assert served.server.statistics().failed == 0

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def test_memory_is_flat_after_many_bad_connections() -> None:
    async with open_loopback() as served:
        forms = [sent for sent, _ in FORMS.values()][::3]

        async def misbehave() -> None:
            for sent in forms:
                await ended_soon(served, sent)

        tracemalloc.start()
        try:
            await misbehave()
            before = tracemalloc.get_traced_memory()[0]
            await misbehave()
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert await served.is_well()

    assert grown < 70_000


async def ended_soon(served: Served, sent: bytes) -> None:
    stream = await served.dial()
    await stream.send_all(sent)
    await trio.aclose_forcefully(stream)

"""Peers that keep to no rule: each mode costs its own connection and a line in the journal, and no other link notices."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias, final

import attrs
import pytest
import trio
from trio_websocket import ConnectionClosed, ConnectionRejected, WebSocketConnection, wrap_client_stream

import greenroom as gr
from greenroom.core import event_of, open_bare_nursery
from greenroom.remote.links._link_peers import LinkPeer
from greenroom.remote.links._link_record import LinkRefused, RefusedConnections
from greenroom.remote.links._link_states import LinkChanged, LinkForbade
from greenroom.remote.links._node import open_node
from greenroom.remote.wire._hello import SUBPROTOCOL, Hello, new_random, proof_message, prove, read_hello, read_proof
from greenroom.serving import Incident, UnixSocket, connect_unix
from tests.remote.links.linked import CODEC, Counter, Sum

TOKEN: Final = b"0123456789abcdef" * 2
OTHER_TOKEN: Final = b"fedcba9876543210" * 2
HEAD: Final = (
    b"GET /link HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: greenroom.link.1\r\n\r\n"
)
GIBIBYTE: Final = b"\x82\xff" + (1 << 30).to_bytes(8, "big") + bytes(4)
"""Head of a masked message of a gibibyte."""
CONTROLS: Final = "\x00\x07\x1b[2J\x1b]0;title\x07\r\n\u202e"
_SWITCHING: Final = 101
LINK_CODES: Final = (0, 1000, 1002, 1006, 1009, 4002, 4004)
"""Codes with which a connection that carries a link is closed."""
MAX_GROWN_BYTES: Final = 64 * 1_048_576


@final
@attrs.define
class Peer:
    """A connection of `mallory`, who has a token of her own."""

    stream: trio.SocketStream
    socket: WebSocketConnection

    async def send(self, *messages: str | bytes) -> None:
        """Send messages until the other side has enough of them."""
        with suppress(ConnectionClosed):
            for message in messages:
                await self.socket.send_message(message)

    async def shake(self, *, token: bytes = OTHER_TOKEN, **values: Any) -> bytes:
        """Go through the handshake, and return the proof."""
        ours = hello(**values)
        await self.send(ours.to_bytes())
        theirs = read_hello(await self.socket.get_message())
        proof = proof_message(prove(token, "dials", dialler=ours, listener=theirs))
        await self.send(proof)
        read_proof(await self.socket.get_message())
        return proof

    async def trickle(self, sent: bytes, pause_s: float) -> None:
        """Send byte after byte until the other side has enough of it."""
        for byte in sent:
            await self.stream.send_all(bytes([byte]))
            await trio.sleep(pause_s)


def hello(**values: Any) -> Hello:
    return Hello(**({"node": "mallory", "boot": new_random(), "link": new_random()} | values))


def framed(payload: bytes) -> bytes:
    """Return a whole masked message, whose mask changes nothing."""
    return b"\x82" + bytes([0x80 | len(payload)]) + bytes(4) + payload


@asynccontextmanager
async def open_peer(path: Path, **options: Any) -> AsyncIterator[Peer]:
    stream = await connect_unix(path)
    options = {"subprotocols": [SUBPROTOCOL], "max_message_size": 2**23} | options
    try:
        async with open_bare_nursery() as nursery:
            socket = await wrap_client_stream(nursery, stream, "localhost", "/link", **options)  # type: ignore[arg-type]
            yield Peer(stream, socket)
            nursery.cancel_scope.cancel()
    finally:
        await trio.aclose_forcefully(stream)


async def ended(peer: Peer) -> int:
    """Return the code with which the host closes the connection."""
    with pytest.raises(ConnectionClosed) as caught:
        while True:
            await peer.socket.get_message()
    assert caught.value.reason is not None
    return caught.value.reason.code


# --- modes --------------------------------------------------------------------------------------------------------------

Mode: TypeAlias = Callable[[Path], Awaitable[int]]
"""Does its worst, and returns the code of the close, or the status of the answer; 0 if there is none."""


def head(sent: bytes, pause_s: float = 0) -> Mode:
    """Return a mode that sends a head, at a pace."""

    async def mode(path: Path) -> int:
        stream = await connect_unix(path)
        answer = b""
        try:
            with suppress(trio.BrokenResourceError):
                for part in [sent] if not pause_s else [bytes([byte]) for byte in sent]:
                    await stream.send_all(part)
                    await trio.sleep(pause_s)
            with suppress(trio.BrokenResourceError):
                while chunk := await stream.receive_some():
                    answer += chunk
        finally:
            await trio.aclose_forcefully(stream)
        status = int(answer.split(b" ")[1])
        return int.from_bytes(answer[-2:], "big") if status == _SWITCHING else status

    return mode


def rejected(**options: Any) -> Mode:
    async def mode(path: Path) -> int:
        with pytest.RaisesGroup(ConnectionRejected) as caught:
            async with open_peer(path, **options):
                pass
        (error,) = caught.value.exceptions
        assert isinstance(error, ConnectionRejected)
        return error.status_code

    return mode


def first(*messages: str | bytes) -> Mode:
    """Return a mode that sends these messages instead of a handshake."""

    async def mode(path: Path) -> int:
        async with open_peer(path) as peer:
            await peer.send(*messages)
            return await ended(peer)

    return mode


def shaken(**values: Any) -> Mode:
    """Return a mode whose handshake is not right."""

    async def mode(path: Path) -> int:
        async with open_peer(path) as peer:
            with suppress(ConnectionClosed):
                await peer.shake(**values)
            return await ended(peer)

    return mode


def linked(*messages: str | bytes, raw: bytes = b"", pause_s: float = 0) -> Mode:
    """Return a mode that sends these messages, then these bytes, over a link."""

    async def mode(path: Path) -> int:
        async with open_peer(path) as peer, trio.open_nursery() as nursery:
            await peer.shake()
            await peer.send(*messages)
            if raw and pause_s:
                nursery.start_soon(peer.trickle, raw, pause_s)
            elif raw:
                await peer.stream.send_all(raw)
            code = await ended(peer)
            nursery.cancel_scope.cancel()
        return code

    return mode


def tolerated(*frames: list[Any], control: tuple[list[Any], ...] = ()) -> Mode:
    """Return a mode whose frames a link answers or ignores: the connection goes on."""

    async def mode(path: Path) -> int:
        async with open_peer(path) as peer:
            await peer.shake()
            await peer.send(json.dumps([[0, *control], [0, *frames, [len(frames) + 1, "find", 99, "counter"]]]))
            while b'"found",99' not in (message := await peer.socket.get_message()):
                assert message
        return 0

    return mode


async def silent(path: Path) -> int:
    async with open_peer(path) as peer:
        return await ended(peer)


async def replayed(path: Path) -> int:
    ours = hello()
    async with open_peer(path) as peer:
        await peer.send(ours.to_bytes())
        theirs = read_hello(await peer.socket.get_message())
        proof = proof_message(prove(OTHER_TOKEN, "dials", dialler=ours, listener=theirs))
        await peer.send(proof)
        read_proof(await peer.socket.get_message())
    async with open_peer(path) as peer:
        await peer.send(ours.to_bytes(), proof)
        return await ended(peer)


async def trickled(path: Path) -> int:
    async with open_peer(path) as peer, trio.open_nursery() as nursery:
        nursery.start_soon(peer.trickle, framed(b"x" * 100), 1)
        code = await ended(peer)
        nursery.cancel_scope.cancel()
    return code


async def deaf(path: Path) -> int:
    """Have the host answer, and acknowledge nothing."""
    async with open_peer(path) as peer:
        await peer.shake()
        for batch in range(66):
            await peer.send(json.dumps([[0], [0, *([256 * batch + n, "find", n, "none"] for n in range(1, 257))]]))
        return await ended(peer)


MODES: Final[dict[str, tuple[Mode, str]]] = {
    # heads
    "a large head": (head(HEAD[:-2] + b"X: " + b"x" * 20_000), "large head"),
    "a slow head": (head(HEAD, pause_s=1), "slow head"),
    "no HTTP": (head(bytes(range(128, 256)) + b"\r\n\r\n"), "malformed head"),
    "no upgrade": (head(b"GET /link HTTP/1.1\r\nHost: localhost\r\n\r\n"), "not a WebSocket"),
    "another path": (head(HEAD.replace(b"/link", b"/links")), "unknown path"),
    "another host": (head(HEAD.replace(b"localhost", b"evil.example")), "host"),
    "a browser": (rejected(extra_headers=[("Origin", "http://localhost")]), "no browsers here"),
    "another subprotocol": (rejected(subprotocols=["greenroom.link.2"]), "subprotocol"),
    "no subprotocol": (rejected(subprotocols=[]), "subprotocol"),
    # before the proof
    "open and silent": (silent, "not proven in time"),
    "a trickle": (trickled, "not proven in time"),
    "a gibibyte before the proof": (head(HEAD + GIBIBYTE), "a message is too large"),
    "an empty hello": (first(b""), "hello: no JSON"),
    "bytes for a hello": (first(b"\xff" * 10), "hello: no JSON"),
    "no hello": (first(b"{}"), "hello: missing"),
    "a deep hello": (first(b"[" * 60_000), "hello: no JSON"),
    "a large hello": (first(b"x" * 100_000), "a message is too large"),
    "another version": (first(attrs.evolve(hello(), v=(2, 3)).to_bytes()), "no common version"),
    "control characters in a name": (
        first(json.dumps({"hello": {"node": CONTROLS, "boot": "", "link": ""}})),
        "hello: the name of a node must be",
    ),
    "no token": (first(hello().to_bytes(), b'{"proof": {}}'), "proof: hmac is missing"),
    "two hellos": (first(hello().to_bytes(), hello().to_bytes()), "proof: missing"),
    "a number for a proof": (first(hello().to_bytes(), b'{"proof": {"hmac": 1}}'), "proof: hmac is missing"),
    "a wrong token": (shaken(token=b"x" * 32), "wrong"),
    "an unknown node": (shaken(node="stranger"), "wrong"),
    "another one's name": (shaken(node="guest"), "wrong"),
    "a replayed handshake": (replayed, "wrong"),
    "frames of the future in a hello": (shaken(got=(0, 7)), "this link is not known here"),
    "a link to an earlier start": (shaken(expects="0" * 32), "this link is not known here"),
}  # fmt: skip
OVER_A_LINK: Final[dict[str, tuple[Mode, str]]] = {
    "no JSON": (linked("hello"), "no JSON"),
    "no number": (linked(b'[[0],[0,[1,"ask",1,1,"next",NaN]]]'), "no JSON"),
    "no batches": (linked(b"{}"), "a message must be two batches"),
    "one batch": (linked(b"[[0]]"), "a message must be two batches"),
    "no acknowledgement": (linked(b"[[-1],[0]]"), "control[0]: an acknowledgement is missing"),
    "an acknowledgement of the future": (linked(b"[[0],[9]]"), "the last one sent was 0"),
    "a gap": (linked(b'[[0],[0,[7,"find",1,"counter"]]]'), "frame 7 came after frame 0"),
    "number zero": (linked(b'[[0],[0,[0,"find",1,"counter"]]]'), "must begin with its number"),
    "an unknown kind": (linked(b'[[0],[0,[1,"explode"]]]'), "no kind of frame"),
    "another channel": (linked(b'[[0,[1,"tell",1,"next",1]],[0]]'), "no kind of frame of this channel"),
    "a negative field": (linked(b'[[0],[0,[1,"find",-1,"counter"]]]'), "find must be a whole number"),
    "true for a number": (linked(b'[[0],[0,[1,"find",true,"counter"]]]'), "find must be a whole number"),
    "a field too many": (linked(b'[[0],[0,[1,"find",1,"counter",1]]]'), "data[1].find"),
    "a deep value": (linked(b'[[0],[0,[1,"tell",1,"next",' + b"[" * 90 + b"]" * 90 + b"]]]"), "nested deeper than"),
    "a hello over a link": (linked(hello().to_bytes()), "a message must be two batches"),
    "a gibibyte": (linked(raw=GIBIBYTE), "a message is too large"),
    "a large message": (linked(b" " * (5 * 1_048_576)), "a message is too large"),
    "a compressed message": (linked(raw=b"\xc2\x80" + bytes(4)), "1002"),
    "an answer to nothing": (linked(b'[[0],[0,[1,"answer",1,"","",5]]]'), "which was never made"),
    "an end of nothing": (linked(b'[[0],[0,[1,"down",1,"failed",0]]]'), "which was never made"),
    "places for nothing": (linked(b'[[0,[1,"credit",1,256]],[0]]'), "which was never found"),
    "a refusal of nothing": (linked(b'[[0,[1,"refused",1,1,"ended"]],[0]]'), "which was never found"),
    "no acknowledgements": (deaf, "frames were sent and not acknowledged"),
    "silence over a link": (linked(), "nothing was heard for 15 s"),
    "a trickle over a link": (linked(raw=framed(b"[[0],[0]]"), pause_s=4), "nothing was heard for 15 s"),
    "another one's actor": (tolerated([1, "tell", 1, "next", 5]), "mallory may not tell"),
    "an ask of another one's actor": (tolerated([1, "ask", 1, 1, "next", 5.0]), "mallory may not ask"),
    "a watch of another one's actor": (tolerated([1, "watch", 1, 7]), "mallory may not watch"),
    "a kill of what was not found": (tolerated(control=([1, "kill", 1, "now"],)), "mallory may not stop"),
    "an abort of what was not found": (tolerated(control=([1, "abort", 1, 1, CONTROLS],)), "mallory may not abort"),
    "control characters in every text": (
        tolerated([1, "find", 1, CONTROLS], [2, "tell", 0, CONTROLS, CONTROLS], control=([1, "stop", 1, None, CONTROLS],)),
        "mallory may not stop",
    ),
}  # fmt: skip


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with TemporaryDirectory(prefix="gr") as name:
        yield Path(name)


def lines(runtime: gr.Runtime) -> Iterator[str]:
    """Yield what the journal says of peers, in order."""
    for record in runtime.recorder.latest():
        match event_of(record):
            case LinkRefused() as refused:
                yield f"{refused.why} {refused.code}"
            case LinkForbade() as forbade:
                yield f"{forbade.node} may not {forbade.verb} -"
            case LinkChanged(state="broken" | "lost") as changed:
                yield f"{changed.why} -"


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096


@pytest.mark.promise("R13-a")
async def test_each_hostile_peer_costs_its_own_connection_and_a_line(
    folder: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Everything before the proof is one table of refusals; everything behind it is a `WireError` of that link."""
    path = folder / "s"
    wrong: list[str] = []
    peers = {"guest": LinkPeer(token=TOKEN), "mallory": LinkPeer(token=OTHER_TOKEN)}
    host = {"host": LinkPeer(token=TOKEN, address=f"unix:{path}")}
    async with (
        gr.open_runtime() as there,
        gr.open_runtime() as here,
        open_node(there, name="host", codec=CODEC, peers=peers, listen=[UnixSocket(path)]) as node,
        open_node(here, name="guest", codec=CODEC, peers=host) as guest,
    ):
        node.publish("counter", await there.spawn(Counter))
        secret = await there.spawn(Counter, name="secret")
        counter = await (await guest.connect("host")).find("counter")
        assert counter is not None
        idle_bytes = resident_bytes()
        for name, (mode, says) in (MODES | OVER_A_LINK).items():
            before = len(list(lines(there)))
            code = -1
            with trio.move_on_after(60):
                code = await mode(path)
            found = list(lines(there))[before:]
            began_s = trio.current_time()
            is_well = await counter.ask(Sum(), timeout_s=5) == 0 and trio.current_time() == began_s
            has_line = any(says in line and line.endswith((f" {code}", " -")) for line in found)
            if not has_line or not is_well or (code not in LINK_CODES and name in OVER_A_LINK):
                wrong.append(f"{name}: {found}, {code}, {is_well}")
            await trio.sleep(60)  # links of this mode are lost, and more refusals are recorded
        assert [link.node for link in node.links()] == ["guest"]
        assert not secret.cell.is_gone
        assert resident_bytes() - idle_bytes < MAX_GROWN_BYTES
    assert wrong == [], "\n".join(wrong)
    assert len(MODES | OVER_A_LINK) >= 40


async def test_a_flood_of_refused_connections_is_counted(autojump_clock: trio.testing.MockClock) -> None:
    events: list[Any] = []
    refused = RefusedConnections(events.append)
    for _ in range(1_000):
        refused.note(Incident(kind="refused", address="unix", reason="x" * 1_000))
    await trio.sleep(60)
    refused.note(Incident(kind="refused", address="unix", reason="again"))

    assert (len(events), events[-1].unrecorded, len(events[0].why)) == (101, 900, 200)

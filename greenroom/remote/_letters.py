"""Text messages from one process to another: a WebSocket on the loopback interface, behind a token.

    async with open_letterbox(take, token=token) as port: ...
    await send_letter(Letter(id="1", sender="me", text="Hello."), port=port, token=token)

Rule 1: who does not know the token is turned away before a word is read; so is a browser, which says where its page is from.
Rule 2: a connection carries one letter, one line of JSON, of a limited size and in limited time, and one answer. Rule 3: what
comes from a connection can make that connection fail, and nothing else. Rule 4: a letter that was taken is answered as taken
each time it comes, and taken once.
Must not know: sessions, agents, where the token is kept.
"""

from __future__ import annotations

import hmac
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.core import GreenroomError, PeerError, UsageError, open_bare_nursery

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection, WebSocketRequest

HOST: Final = "127.0.0.1"
MAX_CHARACTERS: Final = 1_048_576
"""Of the text of a letter (agents 7.105)."""
MAX_FRAME: Final = 6 * MAX_CHARACTERS + 4_096
"""Characters of a letter as JSON, where each one may take six."""
MAX_CONNECTIONS: Final = 16
"""So many letters are received at once; a further one is turned away."""
RECEIVE_S: Final = 10.0
"""Seconds in which a connection has to have delivered its letter."""
SEND_S: Final = 15.0
"""Seconds in which a letter has to have been answered."""
REMEMBERED: Final = 1_000
"""Letters that are known again."""

LetterRefusal: TypeAlias = Literal["not_listening", "refused", "too_long", "timed_out", "broken"]


@final
class LetterRefused(PeerError):
    """A letter was not taken; where it is `timed_out` or `broken`, nobody knows.

    Attributes:
        kind: Which of these it is.
    """

    def __init__(self, kind: LetterRefusal, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@final
@attrs.frozen(kw_only=True)
class Letter:
    """One message."""

    id: str = attrs.field(validator=attrs.validators.instance_of(str))
    """A new one; the same letter, sent again, has the same."""
    sender: str = attrs.field(validator=attrs.validators.instance_of(str))
    """Who says it; nothing proves it but the token."""
    text: str = attrs.field(validator=attrs.validators.instance_of(str))


Take: TypeAlias = Callable[[Letter], Awaitable[None]]
"""Takes a letter, for good when it returns. Any `GreenroomError` that it raises refuses the letter, with its text."""


# --- receiving ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_letterbox(take: Take, *, token: str) -> AsyncIterator[int]:
    """Listen on a free port of the loopback interface, and give that port; leaving ends it.

    Args:
        take: Called with each letter that comes in whole, from somebody who knows the token.
        token: What a sender has to know.

    Raises:
        OSError: The machine gives no port.
    """
    listeners = await trio.open_tcp_listeners(0, host=HOST)
    box = _Letterbox(take, token)
    async with open_bare_nursery() as nursery:
        await nursery.start(partial(trio.serve_listeners, box.receive, listeners), name="letters")
        try:
            yield listeners[0].socket.getsockname()[1]
        finally:
            nursery.cancel_scope.cancel()


@final
class _Letterbox:
    def __init__(self, take: Take, token: str) -> None:
        self._take = take
        self._expected = _credentials(token)
        self._taken: OrderedDict[str, None] = OrderedDict()
        self._connections = 0
        self._one_act = trio.Lock()

    async def receive(self, stream: trio.SocketStream) -> None:
        """Serve one connection to its end."""
        from trio_websocket import wrap_server_stream

        if self._connections >= MAX_CONNECTIONS:
            await trio.aclose_forcefully(stream)
            return
        self._connections += 1
        try:
            with trio.move_on_after(RECEIVE_S):
                async with open_bare_nursery() as nursery:
                    request = await wrap_server_stream(nursery, stream, max_message_size=MAX_FRAME)
                    await self._serve(request)
                    nursery.cancel_scope.cancel()
        except Exception:  # noqa: BLE001, S110 - a stranger may send anything; the connection is all that it breaks
            pass
        finally:
            self._connections -= 1
            await trio.aclose_forcefully(stream)

    async def _serve(self, request: WebSocketRequest) -> None:
        headers = {name.lower(): value for name, value in request.headers}
        if b"origin" in headers:
            await request.reject(403, body=b"no browsers")
            return
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
            await request.reject(401, body=b"not the token")
            return
        connection = await request.accept()
        answer: dict[str, Any] = {"ok": True}
        try:
            await self._accept(read_letter(await connection.get_message()))
        except GreenroomError as error:
            answer = {"ok": False, "why": str(error)}
        await connection.send_message(json.dumps(answer))
        await connection.aclose()

    async def _accept(self, letter: Letter) -> None:
        async with self._one_act:
            if letter.id in self._taken:
                return
            await self._take(letter)
            self._taken[letter.id] = None
            if len(self._taken) > REMEMBERED:
                self._taken.popitem(last=False)


def read_letter(frame: str | bytes) -> Letter:
    """Return the letter that a frame holds.

    Raises:
        UsageError: It holds none, or one that is too long.
    """
    try:
        values = json.loads(frame) if isinstance(frame, str) else None
        if not isinstance(values, dict):
            raise TypeError("no JSON object")
        letter = Letter(**values)
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"this is no letter: {type(error).__name__}") from None
    _check(letter)
    return letter


def _check(letter: Letter) -> None:
    if not letter.id or not letter.text.strip():
        raise UsageError("the message is blank, or has no id")
    if len(letter.text) > MAX_CHARACTERS:
        raise UsageError(f"the message has {len(letter.text):,} characters, and may have {MAX_CHARACTERS:,}")


def _credentials(token: str) -> bytes:
    return f"Bearer {token}".encode()


# --- sending ------------------------------------------------------------------------------------------------------------


async def send_letter(letter: Letter, *, port: int, token: str, timeout_s: float = SEND_S) -> None:
    """Send a letter, and return when it was taken. Cancelled, nobody knows whether it was.

    Args:
        letter: What is sent.
        port: Where somebody listens on this machine.
        token: What lets it in.
        timeout_s: Seconds until it is given up.

    Raises:
        LetterRefused: It was not taken, or nobody knows.
        UsageError: It is blank or too long.
    """
    _check(letter)
    with trio.move_on_after(timeout_s):
        await _deliver(letter, port, token)
        return
    raise LetterRefused(
        "timed_out", f"it was not answered within {timeout_s:g} s, and may have been taken all the same"
    )


async def _deliver(letter: Letter, port: int, token: str) -> None:
    from trio_websocket import ConnectionClosed, HandshakeError

    has_said = False
    try:
        async with _connected(port, token) as connection:
            has_said = True
            await connection.send_message(json.dumps(attrs.asdict(letter)))
            answer = json.loads(await connection.get_message())
    except (HandshakeError, ConnectionClosed, OSError, trio.BrokenResourceError, ValueError) as error:
        if has_said:
            raise LetterRefused("broken", "the connection ended before it was answered") from error
        raise LetterRefused("not_listening", "nobody answers there") from error
    if not isinstance(answer, dict) or answer.get("ok") is not True:
        why = answer.get("why") if isinstance(answer, dict) else None
        raise LetterRefused("refused", str(why or "it was refused without a reason"))


@asynccontextmanager
async def _connected(port: int, token: str) -> AsyncIterator[WebSocketConnection]:
    """Connect; the socket is closed however it ends, which the library's own way does not hold."""
    from trio_websocket import ConnectionRejected, wrap_client_stream

    stream = await trio.open_tcp_stream(HOST, port)
    try:
        async with open_bare_nursery() as nursery:
            headers = [(b"Authorization", _credentials(token))]
            yield await wrap_client_stream(nursery, stream, HOST, "/", extra_headers=headers)
            nursery.cancel_scope.cancel()
    except ExceptionGroup as group:  # of the library's reader, where the connection came to nothing
        if group.subgroup(ConnectionRejected) is not None:
            raise LetterRefused("refused", "it turned the connection away: the token is not its own") from group
        raise OSError("the connection failed") from group
    finally:
        await trio.aclose_forcefully(stream)

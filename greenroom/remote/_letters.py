"""Text messages between processes: a WebSocket on the loopback interface, behind a token.

    async with open_letterbox(take, token=token) as port: ...
    await send_letter(Letter(id="1", sender="me", text="Hello."), port=port, token=token)

Rule 1: a sender without the token is rejected before anything is read; so is a browser, which sends an origin. Rule 2:
a connection carries one letter, one line of JSON of limited size and in limited time, and one answer. Rule 3: input can
make only its own connection fail. Rule 4: a letter is accepted once; sent again, it is answered in the same way. This
module must not know of sessions, agents, or where the token is kept.
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
"""Maximum length of a letter's text."""
MAX_FRAME: Final = 6 * MAX_CHARACTERS + 4_096
"""Maximum length of a letter as JSON, where each character may take six."""
MAX_CONNECTIONS: Final = 16
"""Maximum number of simultaneous connections; further ones are rejected."""
RECEIVE_S: Final = 10.0
"""Seconds within which a connection must have delivered its letter."""
SEND_S: Final = 15.0
"""Seconds within which a letter must have been answered."""
REMEMBERED: Final = 1_000
"""Number of remembered letters, for duplicates."""

LetterRefusal: TypeAlias = Literal["not_listening", "refused", "too_long", "timed_out", "broken"]


@final
class LetterRefused(PeerError):
    """A letter was not accepted; for `timed_out` and `broken`, that is unknown.

    Attributes:
        kind: Kind of refusal.
    """

    def __init__(self, kind: LetterRefusal, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@final
@attrs.frozen(kw_only=True)
class Letter:
    """One message."""

    id: str = attrs.field(validator=attrs.validators.instance_of(str))
    """A new id; the same letter, sent again, keeps it."""
    sender: str = attrs.field(validator=attrs.validators.instance_of(str))
    """Name of the sender; verified only by the token."""
    text: str = attrs.field(validator=attrs.validators.instance_of(str))


Take: TypeAlias = Callable[[Letter], Awaitable[None]]
"""Accepts a letter permanently by returning. Any `GreenroomError` refuses the letter, with its text."""


# --- receiving ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_letterbox(take: Take, *, token: str) -> AsyncIterator[int]:
    """Listen on a free port of the loopback interface, and yield the port; leaving the block ends it.

    Args:
        take: Called with each complete letter from a sender with the token.
        token: The token that senders must have.

    Raises:
        OSError: No port is available.
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
        except Exception:  # noqa: BLE001, S110 - input is arbitrary; only the connection fails
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
            await request.reject(401, body=b"invalid token")
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
    """Return the letter in a frame.

    Raises:
        UsageError: The frame has no valid letter, or a too long one.
    """
    try:
        values = json.loads(frame) if isinstance(frame, str) else None
        if not isinstance(values, dict):
            raise TypeError("no JSON object")
        letter = Letter(**values)
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"not a valid letter: {type(error).__name__}") from None
    _check(letter)
    return letter


def _check(letter: Letter) -> None:
    if not letter.id or not letter.text.strip():
        raise UsageError("a message must have text and an id")
    if len(letter.text) > MAX_CHARACTERS:
        raise UsageError(f"a message must have at most {MAX_CHARACTERS:,} characters, got {len(letter.text):,}")


def _credentials(token: str) -> bytes:
    return f"Bearer {token}".encode()


# --- sending ------------------------------------------------------------------------------------------------------------


async def send_letter(letter: Letter, *, port: int, token: str, timeout_s: float = SEND_S) -> None:
    """Send a letter, and return when it was accepted. If cancelled, it is unknown whether it was.

    Args:
        letter: The letter.
        port: Port of the receiver on this machine.
        token: The receiver's token.
        timeout_s: Timeout in seconds.

    Raises:
        LetterRefused: It was not accepted, or that is unknown.
        UsageError: It is blank or too long.
    """
    _check(letter)
    with trio.move_on_after(timeout_s):
        await _deliver(letter, port, token)
        return
    raise LetterRefused("timed_out", f"no answer within {timeout_s:g} s; it may have been accepted all the same")


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
        raise LetterRefused("not_listening", "no receiver is listening there") from error
    if not isinstance(answer, dict) or answer.get("ok") is not True:
        why = answer.get("why") if isinstance(answer, dict) else None
        raise LetterRefused("refused", str(why or "it was refused without a reason"))


@asynccontextmanager
async def _connected(port: int, token: str) -> AsyncIterator[WebSocketConnection]:
    """Connect; the socket is closed in any case, which the library's own function does not guarantee."""
    from trio_websocket import ConnectionRejected, wrap_client_stream

    stream = await trio.open_tcp_stream(HOST, port)
    try:
        async with open_bare_nursery() as nursery:
            headers = [(b"Authorization", _credentials(token))]
            yield await wrap_client_stream(nursery, stream, HOST, "/", extra_headers=headers)
            nursery.cancel_scope.cancel()
    except ExceptionGroup as group:  # from the library's reader, if the connection failed
        if group.subgroup(ConnectionRejected) is not None:
            raise LetterRefused("refused", "the receiver rejected the connection: wrong token") from group
        raise OSError("the connection failed") from group
    finally:
        await trio.aclose_forcefully(stream)

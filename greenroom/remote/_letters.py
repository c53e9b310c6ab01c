"""Text messages between processes of one user: a WebSocket over a Unix socket.

    async with open_letterbox(take, path=path): ...
    await send_letter(Letter(id="1", sender="me", text="Hello."), path=path)

Rule 1: only a process of the same user is heard: the socket is a file of mode 0600 in a folder of that user that nobody else can
write, and the system is asked whose process is on the other end. Rule 2: a connection carries one letter, one line of JSON of
limited size and in limited time, and one answer. Rule 3: input can make only its own connection fail. Rule 4: a letter is accepted
once; sent again, it is answered in the same way. This module must not know of sessions, agents, or what a path stands for.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom import serving
from greenroom.core import GreenroomError, PeerError, UsageError, open_bare_nursery
from greenroom.serving import check_path, connect_unix, is_same_user, open_unix_listener

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection, WebSocketRequest

_HOST: Final = "localhost"
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

LetterRefusal: TypeAlias = Literal["not_listening", "refused", "timed_out", "broken"]


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
    """Name of the sender, which it says itself."""
    text: str = attrs.field(validator=attrs.validators.instance_of(str))


Take: TypeAlias = Callable[[Letter], Awaitable[str]]
"""Accepts a letter permanently by returning a word for its sender. Any `GreenroomError` refuses the letter, with its text."""


# --- receiving ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_letterbox(take: Take, *, path: Path) -> AsyncIterator[None]:
    """Listen on a Unix socket until the block is left; then its file is removed.

    Args:
        take: Called with each complete letter from a process of the same user.
        path: The socket. What a process that has ended left there is replaced; its folder has to be there.

    Raises:
        UsageError: The path is too long, its folder can be written by others, or something else lies or listens there.
        OSError: The socket cannot be made.
    """
    listener = await open_unix_listener(path, backlog=MAX_CONNECTIONS)
    box = _Letterbox(take)
    async with open_bare_nursery() as nursery:
        await nursery.start(partial(trio.serve_listeners, box.receive, [listener]), name="letters")
        try:
            yield
        finally:
            nursery.cancel_scope.cancel()
            with suppress(FileNotFoundError):
                path.unlink()  # noqa: ASYNC240 - one quick call


@final
class _Letterbox:
    def __init__(self, take: Take) -> None:
        self._take = take
        self._taken: OrderedDict[str, str] = OrderedDict()
        self._connections = 0
        self._one_act = trio.Lock()

    async def receive(self, stream: trio.SocketStream) -> None:
        """Serve one connection to its end."""
        from trio_websocket import wrap_server_stream

        if self._connections >= MAX_CONNECTIONS or not is_same_user(stream):
            await trio.aclose_forcefully(stream)
            return
        self._connections += 1
        try:
            with trio.move_on_after(RECEIVE_S):
                async with open_bare_nursery() as nursery:
                    try:
                        accept = partial(wrap_server_stream, nursery, max_message_size=MAX_FRAME)
                        await self._serve(await serving.shake_hands(stream, accept))
                    finally:
                        nursery.cancel_scope.cancel()
        except Exception:  # noqa: BLE001, S110 - input is arbitrary; only the connection fails
            pass
        finally:
            self._connections -= 1
            await trio.aclose_forcefully(stream)

    async def _serve(self, request: WebSocketRequest) -> None:
        if any(name.lower() == b"origin" for name, _ in request.headers):
            await request.reject(403, body=b"no browsers")
            return
        connection = await request.accept()
        answer: dict[str, Any]
        try:
            answer = {"ok": True, "how": await self._accept(read_letter(await connection.get_message()))}
        except GreenroomError as error:
            answer = {"ok": False, "why": str(error)}
        await connection.send_message(json.dumps(answer))
        await connection.aclose()

    async def _accept(self, letter: Letter) -> str:
        async with self._one_act:
            if letter.id not in self._taken:
                self._taken[letter.id] = await self._take(letter)
                if len(self._taken) > REMEMBERED:
                    self._taken.popitem(last=False)
            return self._taken[letter.id]


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


# --- sending ------------------------------------------------------------------------------------------------------------


async def send_letter(letter: Letter, *, path: Path, timeout_s: float = SEND_S) -> str:
    """Send a letter, and return the receiver's word when it was accepted. If cancelled, it is unknown whether it was.

    Args:
        letter: The letter.
        path: The receiver's socket.
        timeout_s: Timeout in seconds.

    Raises:
        LetterRefused: It was not accepted, or that is unknown.
        UsageError: It is blank or too long, or the path is not one of `check_path`.
    """
    _check(letter)
    check_path(path)
    began = trio.current_time()
    sending = _Sending(path)
    with trio.move_on_after(timeout_s):
        try:
            return await sending.deliver(letter)
        except OSError as error:
            after = f"after {trio.current_time() - began:.1f} s"
            why = f"connecting to {str(path)!r} failed {after}: {(error.strerror or str(error)).lower()}; nothing was sent"
            raise LetterRefused("not_listening", why) from error
    if not sending.has_said:
        why = f"{str(path)!r} was connected to, and nobody answered within {timeout_s:g} s; nothing was sent"
        raise LetterRefused("not_listening", why)
    raise LetterRefused("timed_out", f"no answer within {timeout_s:g} s; it may have been accepted all the same")


async def check_listening(path: Path, *, timeout_s: float = 1.0) -> None:
    """Return if a process of this user listens on a socket; nothing is sent.

    Raises:
        LetterRefused: None does.
        UsageError: The path is not one of `check_path`.
    """
    check_path(path)
    with trio.move_on_after(timeout_s):
        try:
            stream = await connect_unix(path)
        except OSError as error:
            raise LetterRefused("not_listening", "nobody listens there") from error
        is_ours = is_same_user(stream)
        await trio.aclose_forcefully(stream)
        if not is_ours:
            raise LetterRefused("refused", "another user's process listens there")
        return
    raise LetterRefused("not_listening", f"nobody answered within {timeout_s:g} s")


@final
class _Sending:
    """One letter on its way to a socket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.has_said = False
        """True if the letter may have arrived."""

    async def deliver(self, letter: Letter) -> str:
        """Return the receiver's word.

        Raises:
            LetterRefused: It was not accepted, or that is unknown.
            OSError: Nobody was there, and nothing was sent.
        """
        from trio_websocket import ConnectionClosed, HandshakeError

        try:
            async with _connected(self._path) as connection:
                self.has_said = True
                await connection.send_message(json.dumps(attrs.asdict(letter)))
                answer = json.loads(await connection.get_message())
        except (HandshakeError, ConnectionClosed, OSError, trio.BrokenResourceError, ValueError) as error:
            if self.has_said:
                raise LetterRefused("broken", "the connection ended before it was answered") from error
            raise error if isinstance(error, OSError) else OSError("no receiver of letters listens there") from error
        if not isinstance(answer, dict) or answer.get("ok") is not True:
            why = answer.get("why") if isinstance(answer, dict) else None
            raise LetterRefused("refused", str(why or "it was refused without a reason"))
        return str(answer.get("how") or "")


@asynccontextmanager
async def _connected(path: Path) -> AsyncIterator[WebSocketConnection]:
    """Connect; the socket is closed in any case, which the library's own function does not guarantee."""
    from trio_websocket import ConnectionRejected, wrap_client_stream

    stream = await connect_unix(path)
    try:
        if not is_same_user(stream):
            raise LetterRefused("refused", f"another user's process listens on {str(path)!r}")
        async with open_bare_nursery() as nursery:
            try:
                yield await serving.shake_hands(stream, lambda there: wrap_client_stream(nursery, there, _HOST, "/"))
            finally:
                nursery.cancel_scope.cancel()
    except ExceptionGroup as group:  # from the library's reader, if the connection failed
        if group.subgroup(ConnectionRejected) is not None:
            raise LetterRefused("refused", "the receiver rejected the connection") from group
        raise OSError("the connection failed") from group
    finally:
        await trio.aclose_forcefully(stream)

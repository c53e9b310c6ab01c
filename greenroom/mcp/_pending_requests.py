"""Pending requests to a server: each gets an answer that the SDK can parse, or an error with the reason.

Rule 1: a malformed answer ends its request at once; if its request cannot be determined, it ends all pending ones. Rule
2: entries of a list that violate the protocol are left out and named; the rest stays. Rule 3: an error that a server
sends for a notification ends nothing.

Must not know: how messages travel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, final

import trio

from greenroom.mcp._channel_messages import PUSH, ChannelPush, declares_channel, read_push
from greenroom.mcp._message_decoder import MalformedMessage, shown

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams, WriteStream
    from mcp.shared.message import SessionMessage

MALFORMED: Final = -32700
"""Error code for malformed answers; also that of a server which cannot parse a request."""
_INVALID: Final = -32600
_WAITING: Final = 64
"""Maximum number of queued refusals of a server's requests, and of cancellations; more are dropped."""
_LISTS: Final = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}
_HANDSHAKES: Final = frozenset({"initialize", "server/discover"})
_CANCELLED: Final = "notifications/cancelled"
_NAME_CHARS: Final = 60
_MAX_NAMED: Final = 1_000
MAX_THEIRS: Final = 100
"""Maximum number of a server's own requests that are open at once; more are refused."""


@final
class Answers:
    """The pending requests of one connection.

    Args:
        on_push: Called with each message that the server pushes of its own accord.
    """

    def __init__(self, on_push: Callable[[ChannelPush], object] = lambda _: None) -> None:
        self._on_push = on_push
        self.is_channel = False
        """True if the server declares that it pushes messages."""
        self.version = ""
        """Protocol version, once both sides have agreed."""
        self.left_out: dict[str, list[str]] = {}
        """Entries left out of the latest lists, one line each, by method."""
        self._open: dict[int | str, str] = {}
        self._last = 0
        """Number of the last request; the SDK counts them."""
        self._named: deque[str] = deque(maxlen=_MAX_NAMED)
        """Ids of the latest requests that the SDK does not count, such as `listen-1`."""
        self._notified = 0
        """Notifications for which the server may send an error, as some servers do."""
        self._theirs = 0
        """Requests of the server that have no answer yet."""

    def note_sent(self, message: object) -> None:
        """Record a message that goes to the server."""
        import mcp_types

        if isinstance(message, mcp_types.JSONRPCRequest):
            self._open[message.id] = message.method
            if isinstance(message.id, int):
                self._last = message.id
            else:
                self._named.append(message.id)
            if message.method in _LISTS and not (message.params or {}).get("cursor"):
                self.left_out[message.method] = []
        elif isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            self._theirs -= 1
        elif isinstance(message, mcp_types.JSONRPCNotification):
            self._notified += 1
            if message.method == _CANCELLED:
                self._open.pop(plain_id((message.params or {}).get("requestId")), None)

    def take(self, said: object) -> tuple[list[object], list[object]]:
        """Return the messages for the SDK that a server's message results in, and those to send back."""
        import mcp_types

        if isinstance(said, MalformedMessage) and said.is_request:
            return [], [_error(said.id, _INVALID, f"malformed request: {said.why}")]
        if isinstance(said, MalformedMessage | ValueError):
            why = said.why if isinstance(said, MalformedMessage) else why_malformed(said)
            return self._fail(said.id if isinstance(said, MalformedMessage) else None, why), []
        if isinstance(said, mcp_types.JSONRPCNotification) and said.method == PUSH:  # the SDK does not know it
            self._on_push(read_push(said.params, is_declared=self.is_channel))
            return [], []
        if isinstance(said, mcp_types.JSONRPCRequest):
            if self._theirs >= MAX_THEIRS:
                return [], [_error(said.id, _INVALID, f"more than {MAX_THEIRS} requests are open; wait for an answer")]
            self._theirs += 1
        if isinstance(said, mcp_types.JSONRPCError) and said.id is None:
            if said.error.code != MALFORMED and self._notified:
                self._notified -= 1
                return [], []
            return [_error(number, said.error.code, said.error.message) for number in self._end_all()], []
        if isinstance(said, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            number = plain_id(said.id)
            if not self._is_ours(number):
                return self._fail(None, f"its id {shown(said.id)} belongs to no request"), []
            method = self._open.pop(number, "")
            if isinstance(said, mcp_types.JSONRPCResponse) and method in _HANDSHAKES:
                self.is_channel = declares_channel(said.result)
            if isinstance(said, mcp_types.JSONRPCResponse) and method in _LISTS:
                said.result = self._sifted(method, said.result)
        return [said], []

    def _fail(self, number: Any, why: str) -> list[object]:
        number = plain_id(number)
        if self._is_ours(number):
            numbers = [number] if self._open.pop(number, None) is not None else []  # otherwise it came too late
        else:
            numbers = self._end_all()
        return [_error(ended, MALFORMED, why) for ended in numbers]

    def _is_ours(self, number: Any) -> bool:
        is_counted = isinstance(number, int) and not isinstance(number, bool) and 0 < number <= self._last
        return is_counted or (isinstance(number, str) and number in self._named)

    def _end_all(self) -> list[int | str]:
        numbers = list(self._open)
        self._open.clear()
        return numbers

    def _sifted(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a list without the entries that violate the protocol."""
        key = _LISTS[method]
        entries = result.get(key)
        if not isinstance(entries, list) or not self._misfit(method, result):
            return result
        if self._misfit(method, {**result, key: []}):  # the problem is not in an entry
            return result
        kept = []
        for entry in entries:
            why = self._misfit(method, {**result, key: [entry]})
            if why:
                self.left_out.setdefault(method, []).append(f"{_name_of(entry)} is ignored: {why}")
            else:
                kept.append(entry)
        return {**result, key: kept}

    def _misfit(self, method: str, result: dict[str, Any]) -> str:
        """Return why a result violates the protocol; empty if it does not."""
        from mcp_types.methods import MONOLITH_RESULTS, validate_server_result

        try:
            if self.version:
                validate_server_result(method, self.version, result)
            model: Any = MONOLITH_RESULTS[method]
            model.model_validate(result, by_name=False)
        except KeyError:
            return ""
        except ValueError as problem:
            return why_malformed(problem)
        return ""


def plain_id(number: Any) -> Any:
    """Return an id in the SDK's form: some servers send numbers as strings."""
    return int(number) if isinstance(number, str) and number.isdecimal() and len(number) < 19 else number


def _error(number: Any, code: int, message: str) -> object:
    import mcp_types

    error = mcp_types.ErrorData(code=code, message=message)
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=error)


def _name_of(entry: object) -> str:
    for key in ("name", "uri"):
        name = entry.get(key) if isinstance(entry, Mapping) else None
        if isinstance(name, str) and name.strip():
            return shown(name, _NAME_CHARS)
    return shown(entry, _NAME_CHARS)


def why_malformed(problem: Exception) -> str:
    """Return on one line where something violates the protocol, and why."""
    from pydantic import ValidationError

    if not isinstance(problem, ValidationError):
        return " ".join(str(problem).split())
    errors = problem.errors(include_url=False, include_context=False)
    # Each member of a union reports its own mismatch: those of another type are irrelevant here.
    others = {
        error["loc"][:-1] for error in errors if error["type"] == "literal_error" and error["loc"][-1:] == ("type",)
    }
    meant = [error for error in errors if error["loc"][:-1] not in others]
    if meant or not errors:
        reported = meant[0] if meant else None
        return "it violates the protocol" if reported is None else f"{_place(reported['loc'])}: {reported['msg']}"
    first = next(error for error in errors if error["loc"][-1:] == ("type",))
    return f"{_place(first['loc'][:-2])} has the unknown type {shown(first['input'], _NAME_CHARS)}"


def _place(where: tuple[int | str, ...]) -> str:
    """Return a path in JSON, without the names of the SDK's classes."""
    return ".".join(str(step) for step in where if isinstance(step, int) or not step[:1].isupper()) or "the whole"


@asynccontextmanager
async def with_answers(
    transport: AbstractAsyncContextManager[TransportStreams], answers: Answers
) -> AsyncIterator[TransportStreams]:
    """Wrap a transport of the SDK so that `answers` inspects all messages."""
    import anyio
    from mcp.shared.message import SessionMessage

    back, waiting = trio.open_memory_channel[SessionMessage](_WAITING)
    async with transport as (incoming, outgoing), trio.open_nursery() as nursery:

        async def send_back() -> None:
            try:
                async for item in waiting:
                    await outgoing.send(item)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the server is gone, so it waits for nothing

        nursery.start_soon(send_back)
        yield _Heard(incoming, answers, back), _Sent(outgoing, answers, back)
        nursery.cancel_scope.cancel("the connection is closed")


@final
class _Heard:
    """The stream of a server's messages."""

    def __init__(
        self,
        stream: ReadStream[SessionMessage | Exception],
        answers: Answers,
        back: trio.MemorySendChannel[SessionMessage],
    ) -> None:
        self._stream = stream
        self._answers = answers
        self._back = back
        self._ready: deque[SessionMessage | Exception] = deque()

    @property
    def last_context(self) -> Any:
        """The context that the SDK attaches to a message."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while not self._ready:
            self._take(await self._stream.receive())
        return self._ready.popleft()

    def _take(self, item: SessionMessage | Exception) -> None:
        from mcp.shared.message import SessionMessage

        said, replies = self._answers.take(item if isinstance(item, Exception) else item.message)
        for message in said:
            is_same = not isinstance(item, Exception) and message is item.message
            self._ready.append(item if is_same else SessionMessage(message))  # type: ignore[arg-type]
        for reply in replies:
            try:
                self._back.send_nowait(SessionMessage(reply))  # type: ignore[arg-type]
            except (trio.WouldBlock, trio.BrokenResourceError):
                return  # it does not read

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _Heard:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while not self._ready:
            self._take(await anext(self._stream))
        return self._ready.popleft()

    async def __aenter__(self) -> _Heard:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *about: Any) -> bool | None:  # noqa: PYI036 - handed on as they come
        return await self._stream.__aexit__(*about)  # noqa: ASYNC102 - the SDK's own, in its task


@final
class _Sent:
    """The stream of messages to a server."""

    def __init__(
        self, stream: WriteStream[SessionMessage], answers: Answers, back: trio.MemorySendChannel[SessionMessage]
    ) -> None:
        self._stream = stream
        self._answers = answers
        self._back = back

    async def send(self, item: SessionMessage, /) -> None:
        self._answers.note_sent(item.message)
        if getattr(item.message, "method", "") != _CANCELLED:
            await self._stream.send(item)
            return
        await trio.lowlevel.checkpoint_if_cancelled()
        # A caller that has given up does not wait: the SDK would hold its caller for 5 s if the server does not read.
        try:
            self._back.send_nowait(item)
        except (trio.WouldBlock, trio.BrokenResourceError):
            return

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Sent:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *about: Any) -> bool | None:  # noqa: PYI036 - handed on as they come
        return await self._stream.__aexit__(*about)  # noqa: ASYNC102 - the SDK's own, in its task

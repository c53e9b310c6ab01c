"""What a server was asked and has not answered: each request gets an answer that the SDK can read, or an error that says why not.

Rule 1: an answer that cannot be read ends its request at once; where nobody can tell whose it is, it ends all that are open. Rule 2:
of a list, entries that do not fit the protocol are left out and named, and take nothing else away. Rule 3: an error that a
server sends for a notification ends nothing.
Must not know: how messages travel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, final

import trio

from greenroom.mcp._wire import Unreadable, shown

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams, WriteStream
    from mcp.shared.message import SessionMessage

UNREADABLE: Final = -32700
"""The code of the errors that stand for answers that cannot be read; also that of a server which cannot read a request."""
_INVALID: Final = -32600
_WAITING: Final = 64
"""Refusals of a server's requests that wait until it reads them; more are dropped."""
_LISTS: Final = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}
_CANCELLED: Final = "notifications/cancelled"
_NAME_CHARS: Final = 60


@final
class Answers:
    """The requests of one connection."""

    def __init__(self) -> None:
        self.version = ""
        """Of the protocol, once both have agreed."""
        self.left_out: dict[str, list[str]] = {}
        """What was left out of the lists that were asked for last, a line each, by the method."""
        self._open: dict[int | str, str] = {}
        self._last = 0
        """The number of the last request; the SDK counts them."""
        self._notified = 0
        """Notifications that the server may send an error for, as some do."""

    def note_sent(self, message: object) -> None:
        """Take a message that goes to the server."""
        import mcp_types

        if isinstance(message, mcp_types.JSONRPCRequest):
            self._open[message.id] = message.method
            self._last = message.id if isinstance(message.id, int) else self._last
            if message.method in _LISTS and not (message.params or {}).get("cursor"):
                self.left_out[message.method] = []
        elif isinstance(message, mcp_types.JSONRPCNotification):
            self._notified += 1
            if message.method == _CANCELLED:
                self._open.pop(_plain((message.params or {}).get("requestId")), None)

    def take(self, said: object) -> tuple[list[object], list[object]]:
        """Return the messages that the SDK gets for what a server said, and those that go back."""
        import mcp_types

        if isinstance(said, Unreadable) and said.is_request:
            return [], [_error(said.id, _INVALID, f"the request cannot be read: {said.why}")]
        if isinstance(said, Unreadable | ValueError):
            why = said.why if isinstance(said, Unreadable) else why_unreadable(said)
            return self._fail(said.id if isinstance(said, Unreadable) else None, why), []
        if isinstance(said, mcp_types.JSONRPCError) and said.id is None:
            if said.error.code != UNREADABLE and self._notified:
                self._notified -= 1
                return [], []
            return [_error(one, said.error.code, said.error.message) for one in self._end_all()], []
        if isinstance(said, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            number = _plain(said.id)
            if not self._is_ours(number):
                return self._fail(None, f"it has the id {shown(said.id)}, which no request has"), []
            method = self._open.pop(number, "")
            if isinstance(said, mcp_types.JSONRPCResponse) and method in _LISTS:
                said.result = self._sifted(method, said.result)
        return [said], []

    def _fail(self, number: Any, why: str) -> list[object]:
        number = _plain(number)
        if self._is_ours(number):
            numbers = [number] if self._open.pop(number, None) is not None else []  # else it came too late anyway
        else:
            numbers = self._end_all()
        return [_error(one, UNREADABLE, why) for one in numbers]

    def _is_ours(self, number: Any) -> bool:
        is_counted = isinstance(number, int) and not isinstance(number, bool) and 0 < number <= self._last
        return is_counted or (isinstance(number, str) and number in self._open)

    def _end_all(self) -> list[int | str]:
        numbers = list(self._open)
        self._open.clear()
        return numbers

    def _sifted(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a list without the entries that do not fit the protocol."""
        key = _LISTS[method]
        entries = result.get(key)
        if not isinstance(entries, list) or not self._misfit(method, result):
            return result
        if self._misfit(method, {**result, key: []}):  # it is not for an entry
            return result
        kept = []
        for entry in entries:
            why = self._misfit(method, {**result, key: [entry]})
            if why:
                self.left_out.setdefault(method, []).append(f"{_name_of(entry)} is left out: {why}")
            else:
                kept.append(entry)
        return {**result, key: kept}

    def _misfit(self, method: str, result: dict[str, Any]) -> str:
        """Return why a result does not fit the protocol; empty where it does."""
        from mcp_types.methods import MONOLITH_RESULTS, validate_server_result

        try:
            if self.version:
                validate_server_result(method, self.version, result)
            model: Any = MONOLITH_RESULTS[method]
            model.model_validate(result, by_name=False)
        except KeyError:
            return ""
        except ValueError as problem:
            return why_unreadable(problem)
        return ""


def _plain(number: Any) -> Any:
    """Return an id as the SDK makes them: some servers write numbers as texts."""
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


def why_unreadable(problem: Exception) -> str:
    """Return on one line where something does not fit the protocol, and how."""
    from pydantic import ValidationError

    if not isinstance(problem, ValidationError):
        return " ".join(str(problem).split())
    errors = problem.errors(include_url=False, include_context=False)
    # Of a union each member says why it does not fit: those of another type know nothing about this one.
    others = {one["loc"][:-1] for one in errors if one["type"] == "literal_error" and one["loc"][-1:] == ("type",)}
    meant = [one for one in errors if one["loc"][:-1] not in others]
    if meant or not errors:
        one = meant[0] if meant else None
        return "it does not fit the protocol" if one is None else f"{_place(one['loc'])}: {one['msg']}"
    first = next(one for one in errors if one["loc"][-1:] == ("type",))
    return f"{_place(first['loc'][:-2])} is of the type {shown(first['input'], _NAME_CHARS)}, which is not known here"


def _place(where: tuple[int | str, ...]) -> str:
    """Return a place in JSON, without the names of the SDK's classes."""
    return ".".join(str(one) for one in where if isinstance(one, int) or not one[:1].isupper()) or "the whole"


@asynccontextmanager
async def with_answers(
    transport: AbstractAsyncContextManager[TransportStreams], answers: Answers
) -> AsyncIterator[TransportStreams]:
    """Open a transport of the SDK, and let `answers` look at all that passes."""
    import anyio
    from mcp.shared.message import SessionMessage

    back, waiting = trio.open_memory_channel[object](_WAITING)
    async with transport as (incoming, outgoing), trio.open_nursery() as nursery:

        async def send_back() -> None:
            try:
                async for message in waiting:
                    await outgoing.send(SessionMessage(message))  # type: ignore[arg-type]
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # it is gone, so it waits for nothing

        nursery.start_soon(send_back)
        yield _Heard(incoming, answers, back), _Sent(outgoing, answers)
        nursery.cancel_scope.cancel("the connection is closed")


@final
class _Heard:
    """The stream of what a server says."""

    def __init__(
        self, stream: ReadStream[SessionMessage | Exception], answers: Answers, back: trio.MemorySendChannel[object]
    ) -> None:
        self._stream = stream
        self._answers = answers
        self._back = back
        self._ready: deque[SessionMessage | Exception] = deque()

    @property
    def last_context(self) -> Any:
        """What the SDK keeps beside a message."""
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
                self._back.send_nowait(reply)
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
    """The stream of what is said to a server."""

    def __init__(self, stream: WriteStream[SessionMessage], answers: Answers) -> None:
        self._stream = stream
        self._answers = answers

    async def send(self, item: SessionMessage, /) -> None:
        self._answers.note_sent(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Sent:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *about: Any) -> bool | None:  # noqa: PYI036 - handed on as they come
        return await self._stream.__aexit__(*about)  # noqa: ASYNC102 - the SDK's own, in its task

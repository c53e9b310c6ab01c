"""Answers of a server over HTTP, decoded by the rules of every transport before the SDK reads them.

The SDK reads a body of any size, and refuses what it cannot parse with the words of its parser. Rule 1: the messages of
a body are rewritten as a stream of events, each with one message that the SDK can parse; a malformed answer becomes an
error of its request. Rule 2: a body, and an event, are limited; an endless one fails its request alone. Rule 3: a
server does not decide that a stream which ended is opened again without a pause.

Must not know: the SDK, who waits for an answer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Final, final

import httpx2
import mcp_types
import trio

from greenroom.core import limit_body
from greenroom.core.network import transport_words
from greenroom.mcp._message_decoder import (
    MESSAGE_BYTES,
    TOO_LONG,
    MalformedMessage,
    Said,
    last_of_each,
    noise_in,
    read,
    shown,
)
from greenroom.mcp._pending_requests import MALFORMED, plain_id

_EVENTS: Final = "text/event-stream"
_JSON: Final = "application/json"
_PAUSE_MS: Final = 1_000
"""Minimum time before a stream that has ended is opened again; also the SDK's own if the server does not say one."""
_OF_BODY: Final = frozenset(("content-length", "content-encoding", "content-type", "transfer-encoding"))


async def limit_answer(response: httpx2.Response) -> None:
    """Limit the body of an answer that is not a stream of events; for the event hook of a client."""
    await trio.lowlevel.checkpoint()
    if _type_of(response) != _EVENTS:
        limit_body(response, MESSAGE_BYTES)


async def decoded(response: httpx2.Response) -> httpx2.Response:
    """Return an answer that the SDK can read, in place of one that has not been read yet."""
    kind = _type_of(response)
    number = _number_of(response.request)
    if kind == _EVENTS and response.is_success:
        return _replaced(response, _EVENTS, stream=_Events(response, number))
    if kind != _JSON or number is None:
        return response
    body = b""
    try:
        body = await response.aread()
        said = read(body)
    except httpx2.HTTPError as problem:
        why = str(problem) if str(problem) == TOO_LONG else transport_words(problem)
        said = [MalformedMessage(why)]
    finally:
        await response.aclose()
    if not response.is_success:
        errors = [message for message in said if isinstance(message, mcp_types.JSONRPCError)]
        return _replaced(response, _JSON, content=b"".join(_dumped(error) for error in errors[:1]))
    messages = list(_for_request(said, number))
    if not any(_is_answer(message) for message in messages):
        messages.append(_error(number, noise_in(body) or "it is empty"))
    return _replaced(response, _EVENTS, content=b"".join(b"data: " + _dumped(each) + b"\n\n" for each in messages))


def _type_of(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _number_of(request: httpx2.Request) -> int | str | None:
    """Return the id of the request to the server that this one carries; None if it carries none."""
    try:
        sent = json.loads(request.content) if request.method == "POST" else None
    except (ValueError, httpx2.RequestNotRead):
        return None
    number = sent.get("id") if isinstance(sent, dict) and "method" in sent else None
    return number if isinstance(number, int | str) else None


def _replaced(response: httpx2.Response, kind: str, **body: Any) -> httpx2.Response:
    headers = [(name, text) for name, text in response.headers.multi_items() if name.lower() not in _OF_BODY]
    return httpx2.Response(
        response.status_code,
        headers=[*headers, ("content-type", kind)],
        request=response.request,
        extensions=response.extensions,
        **body,
    )


def _for_request(said: Iterable[Said], number: int | str | None) -> Iterator[Any]:
    """Yield messages that arrive as the answer to a request, for the SDK; without one, malformed ones are dropped."""
    for message in said:
        if isinstance(message, MalformedMessage):
            whose = number if message.id is None else plain_id(message.id)
            if whose is not None and not message.is_request:
                yield _error(whose if number is None else number, message.why)
        elif number is None or not isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            yield message
        elif message.id is None or plain_id(message.id) == plain_id(number):
            message.id = number
            yield message
        else:
            yield _error(number, f"its id {shown(message.id)} belongs to no request")


def _is_answer(message: object) -> bool:
    return isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError)


def _error(number: int | str, why: str) -> mcp_types.JSONRPCError:
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=mcp_types.ErrorData(code=MALFORMED, message=why))


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _dumped(message: Any) -> bytes:
    text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode(errors="replace")


@final
class _Events(httpx2.AsyncByteStream):
    """A stream of events, rewritten while it is read; not a generator, which the garbage collector would have to finish.

    Args:
        response: The answer that it is the body of.
        number: The id of the request that it answers; None for the server's own stream.
    """

    def __init__(self, response: httpx2.Response, number: int | str | None) -> None:
        self._response = response
        self._number = number
        self._chunks: AsyncIterator[bytes] | None = None
        self._rest: list[bytes] = []
        self._rest_size = 0
        self._data: list[bytes] = []
        self._others: list[bytes] = []
        self._size = 0
        self._is_over = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._chunks is None:
            self._chunks = self._response.aiter_bytes()
        while not self._is_over:
            made = self._feed(await anext(self._chunks))
            if made:
                return made
            await trio.lowlevel.checkpoint()  # one chunk may have been unpacked to many
        raise StopAsyncIteration

    async def aclose(self) -> None:
        await self._response.aclose()

    def _feed(self, chunk: bytes) -> bytes:
        *lines, last = chunk.split(b"\n")
        events: list[tuple[bytes, list[bytes]]] = []
        for line in lines:
            whole = b"".join((*self._rest, line)).removesuffix(b"\r") if self._rest else line.removesuffix(b"\r")
            self._rest.clear()
            self._rest_size = 0
            if whole:
                self._add(whole)
            elif self._data or self._others:
                events.append((b"\n".join(self._data), self._others))
                self._data, self._others, self._size = [], [], 0
        self._rest.append(last)
        self._rest_size += len(last)
        kept = last_of_each([data for data, _ in events])
        made = b"".join(self._event(*event) for event, is_kept in zip(events, kept, strict=True) if is_kept)
        if self._size + self._rest_size > MESSAGE_BYTES:
            self._is_over = True
            if self._number is not None:
                made += b"data: " + _dumped(_error(self._number, TOO_LONG)) + b"\n\n"
        return made

    def _add(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"retry":
            self._others.append(b"retry: %d" % max(_PAUSE_MS, int(value[:9]) if value.isdigit() else 0))
        elif name:  # otherwise a comment
            self._others.append(line)
        self._size += len(line)

    def _event(self, data: bytes, others: list[bytes]) -> bytes:
        head = b"".join(line + b"\n" for line in others)
        is_other = any(line.partition(b":")[0] == b"event" and line[6:].strip() != b"message" for line in others)
        if is_other or not data.strip():
            return head + b"".join(b"data: " + line + b"\n" for line in data.split(b"\n")) + b"\n"
        messages = list(_for_request(read(data), self._number))
        if not messages and self._number is not None and not _is_json(data):
            messages = [_error(self._number, noise_in(data))]
        return b"".join(head + b"data: " + _dumped(message) + b"\n\n" for message in messages)

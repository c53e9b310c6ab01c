"""One connection of the Messages server: HTTP/1.1 in and out, with every kind of failure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, final

import h11
import trio

from greenroom.testing._messages_script import (
    ErrorReply,
    HangUp,
    RawReply,
    ReceivedRequest,
    Reply,
    StreamReply,
    encode_event,
    events_of,
)

_RECEIVE_BYTES: Final = 65_536


@final
class Connection:
    """One client of the server."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def receive_request(self) -> ReceivedRequest | None:
        """Return the next request, or None if the client has closed the connection."""
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        body = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
        if not isinstance(event, h11.EndOfMessage):
            return None
        headers = {name.decode().lower(): value.decode() for name, value in head.headers}
        return ReceivedRequest(
            method=head.method.decode(), path=head.target.decode(), headers=headers, body=json.loads(body or b"{}")
        )

    async def send_reply(self, reply: Reply) -> bool:
        """Send a reply and return True if the connection can be used again."""
        match reply:
            case HangUp():
                return False
            case RawReply():
                await self._send_head(reply.status, reply.headers)
                await self._send(h11.Data(reply.body))
            case ErrorReply():
                await self._send_head(reply.status, {"content-type": "application/json", **reply.headers})
                error = {"type": "error", "error": {"type": reply.type, "message": reply.message}}
                await self._send(h11.Data(json.dumps(error).encode()))
            case StreamReply():
                if not await self._send_stream(reply):
                    return False
        await self._send(h11.EndOfMessage())
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def _send_stream(self, reply: StreamReply) -> bool:
        """Send everything except the end of the body, and return True if that should follow."""
        if reply.is_head_late and not await self._wait_or_gone(reply.gate):
            return False
        await self._send_head(200, {"content-type": "text/event-stream"})
        if not await self._wait_or_gone(reply.gate):
            return False
        events = list(events_of(reply))
        if reply.ending != "whole":
            events = events[: reply.events]
        chunks = [h11.Data(encode_event(event["type"], json.dumps(event))) for event in events]
        for batch in [chunks] if reply.is_joined else [[chunk] for chunk in chunks]:
            await self._send(*batch)
        match reply.ending:
            case "cut":
                return False
            case "stall":
                return await self._wait_or_gone(trio.Event())
            case "garbage":
                await self._send(h11.Data(encode_event("content_block_delta", '{"type": "content_block_de')))
            case "overloaded":
                error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
                await self._send(h11.Data(encode_event("error", json.dumps(error))))
        return True

    async def _wait_or_gone(self, event: trio.Event | None) -> bool:
        """Wait for an event and return True, or False as soon as the client closes the connection."""
        if event is None or event.is_set():
            return True
        is_set = False

        async def wait_set() -> None:
            nonlocal is_set
            await event.wait()
            is_set = True
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_set)
            try:
                # Between its request and the answer a client sends nothing, so this returns only when the connection
                # ends.
                await self._stream.receive_some(1)
            except trio.BrokenResourceError:
                pass
            nursery.cancel_scope.cancel()
        return is_set

    async def _send_head(self, status: int, headers: Mapping[str, str]) -> None:
        has_length = any(name.lower() == "content-length" for name in headers)
        framing = {} if has_length else {"transfer-encoding": "chunked"}
        await self._send(h11.Response(status_code=status, headers=list({**headers, **framing}.items())))

    async def _send(self, *events: h11.Response | h11.Data | h11.EndOfMessage) -> None:
        content = b"".join([self._http.send(event) or b"" for event in events])
        if content:
            await self._stream.send_all(content)

    async def _next_event(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._stream.receive_some(_RECEIVE_BYTES))
        return event

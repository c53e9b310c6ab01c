"""Transport to a server inside the embedding program: messages go through the program, in both directions.

Rule 1: messages are sent in order. Rule 2: a request has one answer: the program's, or an error with the reason; it
counts as the answer to that request, whatever id it contains. Rule 3: a cancelled request needs no answer, and the
program is notified.

Must not know: how messages reach the program.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import trio

from greenroom.core import PeerError, UsageError

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Sends a message to a server. It is on its way when the call returns; awaiting the result gives the answer.

Raises `PeerError` if there is none. On cancellation, the program is notified that no answer is needed.
"""
_WAITING: Final = 64
"""Maximum number of queued messages to a server; further senders wait."""
_CANCELLED: Final = "notifications/cancelled"
_PARTS: Final = ("result", "error")
"""The fields of an answer that are used."""
_INTERNAL_ERROR: Final = -32603


@final
class HostLine:
    """The line to one server of a program; it outlives its connections.

    Args:
        send: Sends the server a message.
    """

    def __init__(self, send: Send) -> None:
        self.send = send
        self._talk: _Talk | None = None
        self._why_closed = ""

    def receive(self, message: Mapping[str, Any]) -> None:
        """Receive a message that the server sends on its own.

        Raises:
            UsageError: It is not a valid message, or the server is not connected.
        """
        if self._talk is None:
            raise UsageError("the server is not connected")
        self._talk.receive(message)

    def close(self, why: str) -> None:
        """Close the line permanently: the connection is lost, and no other one follows."""
        self._why_closed = self._why_closed or why
        if self._talk is not None:
            self._talk.lose(self._why_closed)

    @asynccontextmanager
    async def talk(self, on_lost: Callable[[str], None]) -> AsyncIterator[TransportStreams]:
        """Open the two streams that the SDK uses; `on_lost` receives the reason when the line closes."""
        import anyio
        from mcp.shared.message import SessionMessage

        # Unbounded, because the sender there cannot wait: messages are consumed at once.
        inward, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        outgoing, outward = anyio.create_memory_object_stream[SessionMessage](_WAITING)
        async with inward, incoming, outgoing, outward, trio.open_nursery() as nursery:
            talk = self._talk = _Talk(self.send, inward, nursery, on_lost)
            try:
                if self._why_closed:
                    talk.lose(self._why_closed)
                nursery.start_soon(talk.write, outward)
                yield incoming, outgoing
                nursery.cancel_scope.cancel("the connection is closed")
            finally:
                if self._talk is talk:
                    self._talk = None


@final
class _Talk:
    """One connection over a line."""

    def __init__(self, send: Send, inward: Any, nursery: trio.Nursery, on_lost: Callable[[str], None]) -> None:
        self._send = send
        self._inward = inward
        self._nursery = nursery
        self._on_lost = on_lost
        self._is_lost = False
        self._open: dict[Any, trio.CancelScope] = {}
        """The pending requests, by their numbers."""

    def lose(self, why: str) -> None:
        self._is_lost = True
        self._inward.close()  # otherwise callers would wait for their answers indefinitely
        self._on_lost(why)

    def receive(self, message: Mapping[str, Any]) -> None:
        import anyio
        import mcp_types
        from mcp.shared.message import SessionMessage

        try:
            parsed = mcp_types.jsonrpc_message_adapter.validate_python(dict(message), by_name=False)
        except ValueError:
            raise UsageError("the message must be a JSON-RPC message of the protocol") from None
        try:
            self._inward.send_nowait(SessionMessage(parsed))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise UsageError("the connection of the server has ended") from None

    async def write(self, outward: Any) -> None:
        """Forward messages to the server."""
        async for item in outward:
            message: dict[str, Any] = item.message.model_dump(by_alias=True, exclude_unset=True, mode="json")
            answer = self._send(message)
            if "method" in message and "id" in message:
                # From here on, because it may be cancelled before its task has begun.
                scope = self._open[message["id"]] = trio.CancelScope()
                self._nursery.start_soon(self._take_answer, message["id"], scope, answer)
                continue
            self._nursery.start_soon(self._take_receipt, answer)
            if message.get("method") == _CANCELLED:
                self._give_up((message.get("params") or {}).get("requestId"))

    def _give_up(self, number: Any) -> None:
        scope = self._open.get(number)
        if scope is not None:
            scope.cancel("the request was cancelled")

    async def _take_answer(self, number: Any, scope: trio.CancelScope, answer: Awaitable[Mapping[str, Any]]) -> None:
        said: Mapping[str, Any] = {}
        why = "the program gave no answer"
        try:
            with scope:
                said = await answer
        except PeerError as problem:
            why = str(problem)
        finally:
            del self._open[number]
        if scope.cancelled_caught or self._is_lost:
            return
        try:
            self.receive({**{key: said[key] for key in _PARTS if key in said}, "jsonrpc": "2.0", "id": number})
        except UsageError:
            self._refuse(number, why)

    def _refuse(self, number: Any, why: str) -> None:
        error = {"code": _INTERNAL_ERROR, "message": why}
        try:
            self.receive({"jsonrpc": "2.0", "id": number, "error": error})
        except UsageError:  # the connection has ended: no caller is waiting
            return

    async def _take_receipt(self, answer: Awaitable[Mapping[str, Any]]) -> None:
        try:
            await answer
        except PeerError:
            return  # a notification has no answer, so the reason would reach nobody

"""One connection, from `connect` to its end.

Rule 1: requests are begun in their order, and answered as they end. Rule 2: a client that leaves ends only what nobody else waits for:
looks are cancelled, changes go on. Rule 3: a client that does not read is closed, and makes nobody wait.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, final

import trio

from greenroom.gateway.rpc._connect import CONNECT
from greenroom.gateway.rpc._hub import Subscriber
from greenroom.gateway.rpc._rpc_frames import (
    BAD_FRAMES,
    MAX_BAD_FRAMES,
    MAX_BYTES,
    MAX_REQUESTS,
    POLICY,
    TRY_LATER,
    BadFrame,
    ErrorCode,
    RequestFrame,
    RpcError,
    answer_frame,
    error_frame,
    read_request,
)
from greenroom.gateway.rpc._scopes import Grant
from greenroom.serving import Connection, ConnectionEnded

DEAF_S: Final = 30.0
"""Time for which a client may take nothing, in seconds."""
FLUSH_S: Final = 1.0
"""Time for the last answers before a connection is closed, in seconds."""
MAX_ANSWER_BYTES: Final = 262_144
"""Bytes of answers that wait: beyond that no further request is read."""
BUSY_S: Final = 1.0


AnswerRequest: TypeAlias = Callable[
    [RequestFrame, "RpcConnection", Callable[[], None]], Awaitable[tuple[dict[str, Any], bool]]
]
"""Returns the answer, and True if it is that of the same call before; or raises `RpcError`. It calls the last argument when the handler
is about to be called."""


@final
class RpcConnection:
    """A connection that has proven itself."""

    def __init__(
        self, connection: Connection, grant: Grant, id_: str, answer: AnswerRequest, is_good: Callable[[Grant], bool]
    ) -> None:
        self.id = id_
        self.subscriber = Subscriber(grant)
        self._connection = connection
        self._answer_request = answer
        self._is_good = is_good
        self._open: set[str] = set()
        self._has_sent = trio.Event()
        self._sending_s = math.inf

    @property
    def grant(self) -> Grant:
        """The rights of the client."""
        return self.subscriber.grant

    async def run(self) -> None:
        """Converse until the connection is over."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._write)
            nursery.start_soon(self._watch, nursery)
            try:
                await self._read(nursery)
            finally:
                nursery.cancel_scope.cancel("the connection is over")

    async def close(self, code: int, reason: str) -> None:
        """Close the connection, after what waits was sent, or a second."""
        with trio.move_on_after(FLUSH_S):
            while self.subscriber.outbox:
                await self._has_sent.wait()
        await self._connection.close(code, reason)

    # --- in ---------------------------------------------------------------------------------------------------------

    async def _read(self, nursery: trio.Nursery) -> None:
        bad = 0
        while bad < MAX_BAD_FRAMES:
            while self.subscriber.outbox.answer_bytes > MAX_ANSWER_BYTES:
                await self._has_sent.wait()
            frame = read_request(await self._connection.receive())
            if not self._is_good(self.grant):
                await self.close(POLICY, "the token is good no longer")
                return
            if isinstance(frame, BadFrame):
                bad += 1
                if frame.id is not None:
                    self._refuse(frame.id, RpcError(ErrorCode.BAD_REQUEST, frame.why))
                continue
            bad = 0
            refusal = self._refusal(frame)
            if refusal is not None:
                self._refuse(frame.id, refusal)
                continue
            self._open.add(frame.id)
            has_begun = trio.Event()
            nursery.start_soon(self._answer, frame, has_begun.set)
            await has_begun.wait()
        await self.close(BAD_FRAMES, "too many bad frames")

    def _refusal(self, frame: RequestFrame) -> RpcError | None:
        if frame.method == CONNECT:
            return RpcError(ErrorCode.BAD_REQUEST, "the connection is connected already")
        if frame.id in self._open:
            return RpcError(ErrorCode.BAD_REQUEST, "id: a request with this id is being answered", path="id")
        if len(self._open) >= MAX_REQUESTS:
            return RpcError(ErrorCode.BUSY, f"{MAX_REQUESTS} requests are being answered already", retry_after_s=BUSY_S)
        return None

    def _refuse(self, id_: str, error: RpcError) -> None:
        self.subscriber.answer(error_frame(id_, error))

    async def _answer(self, frame: RequestFrame, begun: Callable[[], None]) -> None:
        try:
            payload, is_cached = await self._answer_request(frame, self, begun)
            text = answer_frame(frame.id, payload, is_cached=is_cached)
            if len(text) > MAX_BYTES // 4 and len(text.encode()) > MAX_BYTES:
                raise RpcError(ErrorCode.TOO_LARGE, "the answer would be too large; ask for less at a time")
        except RpcError as error:
            text = error_frame(frame.id, error)
        finally:
            begun()
            self._open.discard(frame.id)
        self.subscriber.answer(text)

    # --- out --------------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        subscriber = self.subscriber
        while True:
            frame = subscriber.outbox.take()
            if frame is None:
                subscriber.has_more = trio.Event()
                await subscriber.has_more.wait()
                continue
            self._sending_s = trio.current_time()
            try:
                await self._connection.send(frame)
            except ConnectionEnded:
                return  # the reader learns it, too
            self._sending_s = math.inf
            self._has_sent.set()
            self._has_sent = trio.Event()

    async def _watch(self, nursery: trio.Nursery) -> None:
        """End the connection if its client takes nothing; what is being sent is not cancelled, or the close would stand within it."""
        while True:
            limit_s = self._sending_s + DEAF_S
            if trio.current_time() >= limit_s:  # as the wait below ends: a difference of times may never be reached
                await self._connection.close(TRY_LATER, "the client takes nothing")
                nursery.cancel_scope.cancel("the client takes nothing")
                return
            await trio.sleep_until(min(limit_s, trio.current_time() + DEAF_S))

"""The protocol over a server: it lets clients in, answers their calls, and pushes events.

    hub = EventHub()
    async with open_rpc(bind(handlers), hub=hub, tokens=tokens, record=record, wall=wall) as rpc:
        async with open_server(rpc.endpoints(), listen=[Tcp(port=18789)]):
            ...
            hub.publish("session", key, {...})

Rule 1: nothing is said before a right credential. Rule 2: the answer of a change is on record before it is sent. Rule 3: an error of a
handler is reported, and a client is told no more than that there was one.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import trio

from greenroom._version import __version__
from greenroom.core import JournalError, PeerError, UsageError, open_bare_nursery, split_cancelled
from greenroom.gateway.rpc._answered_calls import AnsweredCalls, digest_of
from greenroom.gateway.rpc._connect import TICK_S, close_code, hello, prove
from greenroom.gateway.rpc._hub import EventHub
from greenroom.gateway.rpc._methods import OWN_METHODS, Answer, Method, Reach, RpcCall, bind
from greenroom.gateway.rpc._params import OpenPageParams, SubscribeParams, UnsubscribeParams
from greenroom.gateway.rpc._params_reader import read_params
from greenroom.gateway.rpc._rpc_connection import RpcConnection
from greenroom.gateway.rpc._rpc_frames import (
    PATH,
    POLICY,
    BadFrame,
    ErrorCode,
    RequestFrame,
    RpcError,
    answer_frame,
    error_frame,
    read_request,
    to_text,
)
from greenroom.gateway.rpc._rpc_tokens import CODE_S, Tokens
from greenroom.gateway.rpc._scopes import ALL_SCOPES, PAGE_SCOPES, Grant
from greenroom.serving import Connection, Endpoint, Request, Resource, Response, Upgrade

if TYPE_CHECKING:
    from greenroom.gateway.record._gateway_journal import GatewayRecord

HEALTH_PATH: Final = "/healthz"
IN_FLIGHT: Final[Answer] = {"status": "in_flight"}
"""The answer to a call that is being done: the same call later has its own."""
Report: TypeAlias = Callable[[str, Exception], None]
"""Called with a method and the error of its handler, for the log. It must not raise."""

CODES: Final[Mapping[type[Exception], ErrorCode]] = {
    trio.TooSlowError: ErrorCode.TIMEOUT,
    JournalError: ErrorCode.UNAVAILABLE,
    PeerError: ErrorCode.UNAVAILABLE,
    UsageError: ErrorCode.BAD_REQUEST,
}
"""The code of each class of errors; of several that fit, the first one."""


@final
class _RunningChange:
    """A change that is being done."""

    def __init__(self) -> None:
        self.is_over = trio.Event()
        self.answer: Answer | None = None
        self.error: RpcError | None = None


@final
class Rpc:
    """The protocol. Made by `open_rpc`."""

    def __init__(
        self,
        methods: Iterable[Method],
        nursery: trio.Nursery,
        *,
        hub: EventHub,
        tokens: Tokens,
        record: GatewayRecord,
        wall: Callable[[], float],
        snapshot: Callable[[Grant], Mapping[str, Any]],
        awaited: Callable[[], str],
        report: Report,
    ) -> None:
        own = bind(
            {
                "events.subscribe": self._subscribe,
                "events.unsubscribe": self._unsubscribe,
                "gateway.open": self._open_page,
            },
            OWN_METHODS,
        )
        self._methods = {method.spec.name: method for method in (*methods, *own)}
        self._nursery = nursery
        self._hub = hub
        self._tokens = tokens
        self._record = record
        self._calls = AnsweredCalls(record, wall)
        self._snapshot = snapshot
        self._awaited = awaited
        self._report = report
        self._conversations: dict[str, RpcConnection] = {}
        self._why_shut = ""

    def endpoints(self, *, max_connections: int = 200) -> tuple[Endpoint, ...]:
        """Return what a server has to serve: the protocol, and `/healthz`.

        Args:
            max_connections: Clients at a time.
        """
        return (
            Upgrade(path=PATH, serve=self._serve, judge=self._tokens.judge, max_proven=max_connections),
            Resource(path=HEALTH_PATH, answer=self._health),
        )

    def shut(self, reason: str) -> None:
        """Refuse changes from now on, except those that end something, and tell every client."""
        self._why_shut = reason
        self._hub.publish("shutdown", "", {"reason": reason})

    def close_revoked(self) -> None:
        """Close the connections whose tokens are good no longer; call it after `Tokens.replace` and `Tokens.revoke`."""
        for conversation in self._conversations.values():
            if not self._tokens.is_good(conversation.grant):
                self._nursery.start_soon(conversation.close, POLICY, "the token is good no longer")

    # --- connections ------------------------------------------------------------------------------------------------

    async def _health(self, _: Request) -> Response:
        awaited = self._awaited()
        said: dict[str, Any] = {"ok": not awaited, "version": __version__}
        body = to_text(said | ({"awaits": awaited} if awaited else {})).encode() + b"\n"
        await trio.lowlevel.checkpoint()
        return Response(status=503 if awaited else 200, body=body, content_type="application/json")

    async def _serve(self, connection: Connection) -> None:
        frame = read_request(await connection.receive())
        if isinstance(frame, BadFrame):
            if frame.id is not None:
                await connection.send(error_frame(frame.id, RpcError(ErrorCode.BAD_REQUEST, frame.why)))
            await connection.close(POLICY, "the first frame must be connect")
            return
        try:
            grant = await prove(connection, frame, self._tokens)
        except RpcError as error:
            await connection.send(error_frame(frame.id, error))
            await connection.close(close_code(error), error.code)
            return
        conversation = RpcConnection(connection, grant, secrets.token_hex(8), self._answer, self._tokens.is_good)
        greeting = hello(grant, conversation.id, self._methods, dict(self._snapshot(grant)))
        conversation.subscriber.answer(answer_frame(frame.id, greeting))
        self._hub.add(conversation.subscriber)
        self._conversations[conversation.id] = conversation
        try:
            await conversation.run()
        finally:
            self._hub.remove(conversation.subscriber)
            del self._conversations[conversation.id]

    async def tick(self) -> None:
        """Tell silent connections that they are alive, and end those whose token is good no longer; never returns."""
        while True:
            await trio.sleep(TICK_S)
            self.close_revoked()
            for conversation in self._conversations.values():
                conversation.subscriber.tick()

    # --- calls ------------------------------------------------------------------------------------------------------

    async def _answer(
        self, frame: RequestFrame, conversation: RpcConnection, begun: Callable[[], None]
    ) -> tuple[dict[str, Any], bool]:
        """Return the answer to a request, and True if it is that of the same call before.

        Raises:
            RpcError: It was refused, or failed.
        """
        method = self._methods.get(frame.method)
        if method is None:
            raise RpcError(ErrorCode.UNKNOWN_METHOD, f"unknown method {frame.method[:64]!r}")
        spec, grant = method.spec, conversation.grant
        if spec.scope not in grant.scopes:
            raise RpcError(ErrorCode.FORBIDDEN, f"{spec.name} needs the scope {spec.scope}")
        params = read_params(spec.params, frame.params)
        _check_reach(method, grant, params)
        call = RpcCall(
            method=spec.name,
            grant=grant,
            connection=conversation.id,
            key=params.idempotency_key if spec.is_changing else "",
        )
        if spec.is_changing:
            return await self._changed(method, call, params, digest_of(spec.name, frame.params), begun)
        begun()
        with trio.move_on_after(spec.timeout_s):
            return dict(await self._done(method, call, params)), False
        raise RpcError(ErrorCode.TIMEOUT, f"{spec.name} gave no answer within {spec.timeout_s:g} s")

    async def _changed(
        self, method: Method, call: RpcCall, params: Any, digest: str, begun: Callable[[], None]
    ) -> tuple[dict[str, Any], bool]:
        spec = method.spec
        answered = self._calls.answered(call, digest)
        if answered is not None:
            return dict(answered), True
        if self._calls.is_running(call, digest):
            return dict(IN_FLIGHT), False
        if self._why_shut and not spec.works_when_shut:
            raise RpcError(
                ErrorCode.UNAVAILABLE, f"the gateway stops: {self._why_shut}", details={"reason": "stopping"}
            )
        self._calls.begin(call, digest)
        change = _RunningChange()
        self._nursery.start_soon(self._do, method, call, params, digest, change, begun)
        with trio.move_on_after(spec.timeout_s):
            await change.is_over.wait()
        if change.answer is not None:
            return dict(change.answer), False
        raise change.error or RpcError(ErrorCode.TIMEOUT, f"{spec.name} goes on; the same key again has its answer")

    async def _do(
        self, method: Method, call: RpcCall, params: Any, digest: str, change: _RunningChange, begun: Callable[[], None]
    ) -> None:
        """Make a change, even if nobody waits for it any more, and record its answer."""
        begun()
        try:
            if not method.spec.works_when_shut:
                self._record.journal.check_open()
            answer = await self._done(method, call, params)
            try:
                await self._calls.write(call, digest, answer)
            except JournalError:
                if not method.spec.works_when_shut:
                    raise
            change.answer = answer
        except Exception as error:  # noqa: BLE001 - only this call fails
            change.error = self._told(call, error)
        finally:
            self._calls.end(call)
            if change.answer is None and change.error is None:
                change.error = RpcError(ErrorCode.UNAVAILABLE, "the gateway stops", details={"reason": "stopping"})
            change.is_over.set()

    async def _done(self, method: Method, call: RpcCall, params: Any) -> Answer:
        """Return the answer of a handler.

        Raises:
            RpcError: It refused, or failed.
        """
        try:
            return await method.handler(call, params)
        except BaseException as error:  # noqa: ASYNC103 - a handler's; only its call fails
            cancelled, rest = split_cancelled(error)
            if rest is not None and not isinstance(rest, Exception):
                raise
            if cancelled is not None:
                raise cancelled from None  # noqa: ASYNC104 - the cancelled part of it
            assert rest is not None
            raise self._told(call, rest) from None  # noqa: ASYNC104 - nothing of it was cancelled

    def _told(self, call: RpcCall, error: Exception) -> RpcError:
        """Return the error that the caller is told; a mistake of ours is reported."""
        told = rpc_error(error)
        if told is None:
            self._report(call.method, error)
            told = RpcError(ErrorCode.INTERNAL, "a mistake of the gateway's; its log says more")
        return told

    # --- methods of the protocol itself -----------------------------------------------------------------------------

    async def _subscribe(self, call: RpcCall, params: SubscribeParams) -> Answer:
        subscriptions = self._conversations[call.connection].subscriber.subscriptions
        subscriptions.add(params)
        await trio.lowlevel.checkpoint()
        return {"events": subscriptions.to_json()}

    async def _unsubscribe(self, call: RpcCall, params: UnsubscribeParams) -> Answer:
        subscriptions = self._conversations[call.connection].subscriber.subscriptions
        subscriptions.remove(params)
        await trio.lowlevel.checkpoint()
        return {"events": subscriptions.to_json()}

    async def _open_page(self, _: RpcCall, params: OpenPageParams) -> Answer:
        await trio.lowlevel.checkpoint()
        return {
            "code": self._tokens.open_code(ALL_SCOPES if params.admin else PAGE_SCOPES),
            "expiresInMs": round(CODE_S * 1000),
        }


def rpc_error(error: Exception) -> RpcError | None:
    """Return the error that a client is told; None if it is a mistake of the gateway's, whose text is for the log only."""
    if isinstance(error, RpcError):
        return error
    code = next((code for kind, code in CODES.items() if isinstance(error, kind)), None)
    if code is None:
        return None
    if code is ErrorCode.TIMEOUT:
        return RpcError(code, "there was no answer in time")
    return RpcError(code, str(error), retry_after_s=5.0 if code is ErrorCode.UNAVAILABLE else 0.0)


def _check_reach(method: Method, grant: Grant, params: Any) -> None:
    if grant.sessions is None or method.spec.reach is Reach.FILTERED:
        return
    session = getattr(params, "session_key", None)
    if method.spec.reach is Reach.GATEWAY or session is None or session not in grant.sessions:
        raise RpcError(ErrorCode.FORBIDDEN, "the token is good for other sessions only", path="sessionKey")


def _nothing(_: Grant) -> Mapping[str, Any]:
    return {}


def _ready() -> str:
    return ""


def _unreported(_: str, __: Exception) -> None:
    """Drop it."""


@asynccontextmanager
async def open_rpc(
    methods: Iterable[Method],
    *,
    hub: EventHub,
    tokens: Tokens,
    record: GatewayRecord,
    wall: Callable[[], float],
    snapshot: Callable[[Grant], Mapping[str, Any]] = _nothing,
    awaited: Callable[[], str] = _ready,
    report: Report = _unreported,
) -> AsyncIterator[Rpc]:
    """Speak the protocol until the block is left; changes that are being made then are cancelled.

    Args:
        methods: The methods of the table, with handlers; see `bind`.
        hub: Where events are published.
        tokens: The tokens that are good.
        record: The gateway's record, for the answers of changes.
        wall: Returns the time, in seconds since 1970.
        snapshot: Returns what a client is told when it connects.
        awaited: Returns what a start still waits for; empty if the gateway is ready.
        report: Told of mistakes of handlers.
    """
    async with open_bare_nursery() as nursery:
        rpc = Rpc(
            methods,
            nursery,
            hub=hub,
            tokens=tokens,
            record=record,
            wall=wall,
            snapshot=snapshot,
            awaited=awaited,
            report=report,
        )
        nursery.start_soon(rpc.tick)
        try:
            yield rpc
        finally:
            nursery.cancel_scope.cancel("the protocol is closed")

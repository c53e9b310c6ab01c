"""One connection from its first byte to its last: the head, then an answer, or a WebSocket connection.

Rule 1: whatever a peer does ends its own connection and nothing else. Rule 2: nothing of the application is called before the host,
the origin and the credential were judged. Rule 3: an error of the application is reported, and never told to the peer. This module
must not know of listeners, or of other connections.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.core import open_bare_nursery, split_cancelled
from greenroom.serving._admission import Admission, Seat
from greenroom.serving._connection import Connection, ConnectionEnded
from greenroom.serving._endpoints import EndpointTable, Request, Resource, Response, Upgrade
from greenroom.serving._frames import FrameGauge
from greenroom.serving._heads import Head, Names, Refusal, Wire, credential_of, judge_head, upgrade_head
from greenroom.serving._proof import NotProven, Proof
from greenroom.serving._streams import TOO_LARGE, UpgradedStream, linger

if TYPE_CHECKING:
    import ssl

HEAD_S: Final = 5.0
"""Time within which the head of a request must have arrived, in seconds; with TLS, its handshake is part of it."""
BODY_S: Final = 10.0
"""Time within which a body must have arrived, in seconds."""
ANSWER_S: Final = 30.0
"""Time within which a request must have been answered, and the answer taken, in seconds."""
_CHUNK_BYTES: Final = 4_096
_GOING: Final = 1000
_POLICY: Final = 1008
_FAILED: Final = 1011
_TRY_LATER: Final = 1013

IncidentKind: TypeAlias = Literal["refused", "given_up", "wrong", "failed"]


@final
@attrs.frozen(kw_only=True)
class Incident:
    """Something that a log of the application should name: nothing in it is a credential."""

    kind: IncidentKind
    """`refused`: a request was not let in; `given_up`: the connection had to go for a newer one; `wrong`: a credential was wrong;
    `failed`: the application raised."""
    address: str
    """Address of the peer."""
    reason: str
    path: str = ""
    """Path of the endpoint, if it was known."""
    status: int = 0
    """Status of the answer, or code of the close; 0 if there was none."""
    error: Exception | None = None
    """The application's error."""


@final
@attrs.frozen(kw_only=True)
class Site:
    """What all connections of a server share."""

    table: EndpointTable
    headers: Mapping[str, str]
    admission: Admission
    report: Callable[[Incident], None]


@final
class Visit:
    """One connection."""

    def __init__(self, site: Site, seat: Seat, names: Names, *, tls: ssl.SSLContext | None = None) -> None:
        self.scope = trio.CancelScope()
        """Scope of the whole connection."""
        self.connection: Connection | None = None
        """The WebSocket connection, once it is open."""
        self.is_answering = False
        """True while the application answers a request."""
        self._site = site
        self._seat = seat
        self._names = names
        self._tls = tls

    async def serve(self, stream: trio.abc.Stream) -> None:
        """Serve the connection to its end; only a cancel from outside of it is raised."""
        with self.scope:
            try:
                await self._converse(stream)
            except BaseException as error:  # noqa: ASYNC103 - input is arbitrary; only the connection fails
                cancelled, rest = split_cancelled(error)
                if rest is not None and not isinstance(rest, Exception):
                    raise
                if cancelled is not None:
                    raise cancelled from None  # noqa: ASYNC104 - the cancelled part of it
            finally:
                await trio.aclose_forcefully(stream)

    async def _converse(self, stream: trio.abc.Stream) -> None:
        wire = Wire()
        head: Head | Refusal | None = None
        with trio.move_on_after(HEAD_S) as limit:
            if self._tls is not None:
                stream = await self._secured(stream, self._tls)
            head = await _read_head(stream, wire)
        if limit.cancelled_caught and wire.taken_bytes:
            head = Refusal(status=408, reason="slow head")
        if head is None:
            return
        endpoint = None
        if isinstance(head, Head):
            endpoint = self._site.table.find(head.path)
            refusal = judge_head(head, endpoint, self._names)
        else:
            refusal = head
        if refusal is not None:
            self._report_refusal(refusal, "" if endpoint is None else endpoint.path)
            await self._write(stream, wire, _response_of(refusal))
        elif isinstance(head, Head) and isinstance(endpoint, Upgrade):
            await self._upgrade(stream, wire, head, endpoint)
        elif isinstance(head, Head) and isinstance(endpoint, Resource):
            await self._answer(stream, wire, head, endpoint)

    async def _secured(self, stream: trio.abc.Stream, tls: ssl.SSLContext) -> trio.abc.Stream:
        """Return the stream with TLS; the reason why that fails is reported."""
        secured = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
        try:
            await secured.do_handshake()
        except trio.BrokenResourceError as error:
            why = getattr(error.__cause__, "reason", None)
            if why and why != _PEER_LEFT:
                reason = f"TLS: {why.lower().replace('_', ' ')}"
                self._site.report(Incident(kind="refused", address=self._seat.address, reason=reason))
            raise
        return secured

    def _report_refusal(self, refusal: Refusal, path: str) -> None:
        kind: IncidentKind = "wrong" if refusal.reason == _WRONG else "refused"
        self._site.report(
            Incident(kind=kind, address=self._seat.address, reason=refusal.reason, path=path, status=refusal.status)
        )

    def _proof(self, endpoint: Resource | Upgrade, on_proven: Callable[[], None] | None = None) -> Proof:
        return Proof(
            self._site.admission,
            self._seat,
            path=endpoint.path,
            limit=endpoint.max_proven,
            on_proven=on_proven,
        )

    # --- requests -------------------------------------------------------------------------------------------------------

    async def _answer(self, stream: trio.abc.Stream, wire: Wire, head: Head, endpoint: Resource) -> None:
        grant: object = None
        refusal: Refusal | None = None
        if endpoint.judge is not None:
            proof = self._proof(endpoint)
            refusal = await _examined(proof, credential_of(head, endpoint), endpoint, _UNAUTHORIZED)
            grant = proof.grant
        body = b""
        if refusal is None and (head.values("content-length") or endpoint.max_body_bytes):
            with trio.move_on_after(BODY_S) as limit:
                body = await _read_body(stream, wire)
            if limit.cancelled_caught:
                refusal = Refusal(status=408, reason="slow body")
        if refusal is not None:
            self._report_refusal(refusal, endpoint.path)
            await self._write(stream, wire, _response_of(refusal))
            return
        request = Request(
            method="GET" if head.method == "HEAD" else head.method,
            path=head.path,
            query=head.query,
            headers=head.headers,
            body=body,
            grant=grant,
        )
        response: Response | None = None
        self.is_answering = True
        with trio.move_on_after(ANSWER_S):
            response = await self._called(endpoint, request)
        if response is None:
            response = Response(status=503, body=b"no answer in time\n")
        await self._write(stream, wire, response, has_body=head.method != "HEAD")

    async def _called(self, endpoint: Resource, request: Request) -> Response:
        try:
            return await endpoint.answer(request)
        except Exception as error:  # noqa: BLE001 - reported; only this request fails
            self._report_failure(endpoint.path, error)
            return Response(status=500, body=b"internal error\n")

    def _report_failure(self, path: str, error: Exception) -> None:
        self._site.report(
            Incident(kind="failed", address=self._seat.address, reason=type(error).__name__, path=path, error=error)
        )

    async def _write(self, stream: trio.abc.Stream, wire: Wire, response: Response, *, has_body: bool = True) -> None:
        with trio.move_on_after(ANSWER_S):
            await stream.send_all(wire.written(response, self._site.headers, has_body=has_body))
            await linger(stream)

    # --- WebSocket ------------------------------------------------------------------------------------------------------

    async def _upgrade(self, stream: trio.abc.Stream, wire: Wire, head: Head, endpoint: Upgrade) -> None:
        from trio_websocket import wrap_server_stream

        gauge = FrameGauge(endpoint.max_bytes_before_proof)

        def widen() -> None:
            gauge.max_bytes = endpoint.max_bytes

        proof = self._proof(endpoint, widen)
        if endpoint.has_credential_in_head:
            refusal = await _examined(proof, credential_of(head, endpoint), endpoint, _FORBIDDEN)
            if refusal is not None:
                self._report_refusal(refusal, endpoint.path)
                await self._write(stream, wire, _response_of(refusal))
                return
        upgraded = UpgradedStream(stream, upgrade_head(head, endpoint), wire.behind, gauge)
        async with open_bare_nursery() as nursery:
            try:
                request = await wrap_server_stream(nursery, upgraded, max_message_size=endpoint.max_bytes)
                socket = await request.accept(subprotocol=endpoint.protocol)
                upgraded.accept()
                self.connection = Connection(
                    socket,
                    proof,
                    endpoint.judge,
                    path=head.path,
                    query=head.query,
                    address=self._seat.address,
                    ended_with=lambda: TOO_LARGE if upgraded.is_too_large else None,
                )
                nursery.start_soon(self._close_unproven, self.connection, endpoint)
                await self.connection.close(await self._served(endpoint, self.connection))
            finally:
                nursery.cancel_scope.cancel()
        if upgraded.is_too_large:
            self._report_closed("a message is too large", endpoint, TOO_LARGE)
        await linger(stream)

    async def _close_unproven(self, connection: Connection, endpoint: Upgrade) -> None:
        await trio.sleep(endpoint.proof_s)
        if not connection.is_proven:
            self._report_closed(_UNPROVEN, endpoint, _POLICY)
            await connection.close(_POLICY, _UNPROVEN)

    def _report_closed(self, why: str, endpoint: Upgrade, code: int) -> None:
        address = self._seat.address
        self._site.report(Incident(kind="refused", address=address, reason=why, path=endpoint.path, status=code))

    async def _served(self, endpoint: Upgrade, connection: Connection) -> int:
        """Return the code with which the connection has to be closed, if it is still open."""
        try:
            await endpoint.serve(connection)
        except BaseException as error:  # noqa: ASYNC103 - the application's; only its connection ends
            cancelled, rest = split_cancelled(error)
            if rest is not None and not isinstance(rest, Exception):
                raise
            code = _GOING if rest is None else self._code_of(endpoint, rest)
            if cancelled is not None:
                raise cancelled from None  # noqa: ASYNC104 - the cancelled part of it
            return code  # noqa: ASYNC104 - nothing of it was cancelled
        return _GOING

    def _code_of(self, endpoint: Upgrade, error: Exception) -> int:
        if isinstance(error, ExceptionGroup):
            error = error.split(ConnectionEnded)[1] or ConnectionEnded(_GOING)
        if isinstance(error, ConnectionEnded):
            return _GOING
        if isinstance(error, NotProven):
            code = _TRY_LATER if error.is_full else _POLICY
            kind: IncidentKind = "refused" if error.is_full else "wrong"
            address = self._seat.address
            self._site.report(Incident(kind=kind, address=address, reason=str(error), path=endpoint.path, status=code))
            return code
        self._report_failure(endpoint.path, error)
        return _FAILED


_PEER_LEFT: Final = "UNEXPECTED_EOF_WHILE_READING"
_UNPROVEN: Final = "not proven in time"
_WRONG: Final = "wrong credential"
_UNAUTHORIZED: Final = Refusal(status=401, reason=_WRONG, headers={"WWW-Authenticate": "Bearer"})
_FORBIDDEN: Final = Refusal(status=403, reason=_WRONG)


async def _examined(
    proof: Proof, credential: str | None, endpoint: Resource | Upgrade, wrong: Refusal
) -> Refusal | None:
    """Return why a credential in a head is refused; None if it is right."""
    if credential is None:
        return attrs.evolve(wrong, reason="no credential")
    if endpoint.judge is None:
        return None
    try:
        await proof.examine(credential, endpoint.judge)
    except NotProven as error:
        return Refusal(status=503, reason="too many connections") if error.is_full else wrong
    return None


async def _read_head(stream: trio.abc.Stream, wire: Wire) -> Head | Refusal | None:
    """Return a head, or what is wrong with it; None if the peer has gone."""
    while True:
        chunk = await stream.receive_some(_CHUNK_BYTES)
        if not chunk:
            return None
        head = wire.take(chunk)
        if head is not None:
            return head


async def _read_body(stream: trio.abc.Stream, wire: Wire) -> bytes:
    """Return a body, whose size was judged with the head.

    Raises:
        ValueError: It is not one, or the peer has gone.
    """
    permission = wire.waits_for_permission()
    if permission:
        await stream.send_all(permission)
    body = bytearray()
    part = wire.next_body()
    while part is not True:
        if part is False:
            chunk = await stream.receive_some(_CHUNK_BYTES)
            if not chunk:
                raise ValueError("the body has not arrived")
            part = wire.next_body(chunk)
        else:
            body += part
            part = wire.next_body()
    return bytes(body)


def _response_of(refusal: Refusal) -> Response:
    return Response(status=refusal.status, body=f"{refusal.reason}\n".encode(), headers=refusal.headers)

"""The first frame of a connection: which protocol, who it is, and what it may do.

Rule 1: before a right credential the answers are the same for everybody. Rule 2: a client that asks for more than its token
is good for is refused, not cut down silently.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, final

import attrs

from greenroom._version import __version__
from greenroom.gateway.config._values import Count, Shaped
from greenroom.gateway.rpc._methods import EVENTS, Method
from greenroom.gateway.rpc._outbox import MAX_EVENT_BYTES, MAX_EVENTS
from greenroom.gateway.rpc._params_reader import read_params
from greenroom.gateway.rpc._rpc_frames import (
    MAX_BYTES,
    MAX_REQUESTS,
    PROTOCOL,
    PROTOCOL_ERROR,
    ErrorCode,
    RequestFrame,
    RpcError,
)
from greenroom.gateway.rpc._rpc_tokens import Tokens
from greenroom.gateway.rpc._scopes import Grant, RpcScope
from greenroom.serving import Connection, NotProven

CONNECT: Final = "connect"
TICK_S: Final = 15.0
"""Seconds between two events of a connection, at most."""
Word = Annotated[str, Shaped(r"[\x20-\x7e]{1,64}", in_words="a text of 1 to 64 printable ASCII characters")]


@final
@attrs.frozen(kw_only=True)
class ClientParams:
    """The program that connects."""

    id: Word
    """Its name, for the log."""
    version: Word
    """Its version."""


@final
@attrs.frozen(kw_only=True)
class AuthParams:
    """The credential: one of both."""

    token: str | None = attrs.field(default=None, repr=False)
    """A token."""
    code: str | None = attrs.field(default=None, repr=False)
    """A one-time code, for which a token is given."""


@final
@attrs.frozen(kw_only=True)
class ConnectParams:
    """The first call of a connection."""

    min_protocol: Count
    """The lowest number of the protocol that the client knows."""
    max_protocol: Count
    """The highest."""
    client: ClientParams
    """The client."""
    auth: AuthParams
    """Its credential."""
    scopes: tuple[Literal["read", "write", "approve", "admin"], ...] | None = None
    """The wanted scopes; by default all that its token is good for."""


async def prove(connection: Connection, frame: RequestFrame, tokens: Tokens) -> Grant:
    """Judge the first frame, and return what the client may do.

    Raises:
        RpcError: The frame is not a right `connect`. It may be answered; then the connection has to be closed.
        NotProven: The endpoint has as many connections as it takes.
    """
    if frame.method != CONNECT:
        raise RpcError(ErrorCode.UNAUTHORIZED, f"the first call must be {CONNECT!r}")
    params = read_params(ConnectParams, frame.params)
    if not params.min_protocol <= PROTOCOL <= params.max_protocol:
        raise RpcError(
            ErrorCode.PROTOCOL,
            f"the gateway speaks protocol {PROTOCOL}, the client {params.min_protocol} to {params.max_protocol}",
            details={
                "server": {"min": PROTOCOL, "max": PROTOCOL},
                "client": {"min": params.min_protocol, "max": params.max_protocol},
            },
        )
    token, code = params.auth.token, params.auth.code
    if (token is None) == (code is None):
        raise RpcError(ErrorCode.BAD_REQUEST, "auth: must have either a token or a code", path="auth")
    try:
        if token is not None:
            found = await connection.prove(token)
        else:
            found = await connection.prove(code or "", judge=tokens.redeem)
    except NotProven as error:
        if error.is_full:
            raise
        raise RpcError(ErrorCode.UNAUTHORIZED, "the credential is wrong, used up, or revoked") from None
    assert isinstance(found, Grant)
    if params.scopes is None:
        return found
    scopes = frozenset(map(RpcScope, params.scopes))
    missing = scopes - found.scopes
    if missing:
        raise RpcError(ErrorCode.FORBIDDEN, f"the token is not good for: {', '.join(sorted(missing))}", path="scopes")
    return found.with_scopes(scopes)


def close_code(error: RpcError) -> int:
    """Return the code with which a connection is closed whose `connect` was refused."""
    return PROTOCOL_ERROR if error.code == ErrorCode.PROTOCOL else 1008


def hello(grant: Grant, connection: str, methods: dict[str, Method], snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a right `connect`."""
    made: dict[str, Any] = {
        "type": "hello-ok",
        "protocol": PROTOCOL,
        "server": {"version": __version__, "connId": connection},
        "scopes": sorted(grant.scopes),
        "methods": sorted(name for name, method in methods.items() if method.spec.scope in grant.scopes),
        "events": sorted(EVENTS),
        "limits": {
            "maxBytes": MAX_BYTES,
            "maxRequests": MAX_REQUESTS,
            "maxWaitingEvents": MAX_EVENTS,
            "maxWaitingEventBytes": MAX_EVENT_BYTES,
            "tickMs": round(TICK_S * 1000),
        },
        "snapshot": snapshot,
    }
    return made | ({"token": grant.page_token} if grant.page_token else {})

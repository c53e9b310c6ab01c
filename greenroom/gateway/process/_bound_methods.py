"""The methods of the protocol over the parts of a gateway, and the codes of the errors that parts raise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any, Final

from greenroom.core import Closed, UsageError
from greenroom.gateway._gateway_errors import Conflict, Forbidden, NotFound
from greenroom.gateway.process._gateway_parts import GatewayParts
from greenroom.gateway.process._service_methods import ServiceMethods
from greenroom.gateway.process._session_methods import SessionMethods
from greenroom.gateway.rpc._methods import Answer, Handler, Method, RpcCall, bind
from greenroom.gateway.rpc._rpc_frames import ErrorCode, RpcError
from greenroom.inbox import BoxFull

RETRY_S: Final = 5.0
CODES: Final[Mapping[type[Exception], ErrorCode]] = {
    NotFound: ErrorCode.NOT_FOUND,
    Conflict: ErrorCode.CONFLICT,
    Forbidden: ErrorCode.FORBIDDEN,
    BoxFull: ErrorCode.BUSY,
    Closed: ErrorCode.UNAVAILABLE,
}
"""The codes of errors that the protocol does not know."""


def gateway_methods(parts: GatewayParts) -> tuple[Method, ...]:
    """Return every method of the table with its handler."""
    handlers = {**SessionMethods(parts).handlers(), **ServiceMethods(parts).handlers()}
    return bind({name: _coded(handler) for name, handler in handlers.items()})


def _coded(handler: Handler) -> Handler:
    """Return a handler whose errors have their codes."""

    @wraps(handler)
    async def coded(call: RpcCall, asked: Any) -> Answer:
        try:
            return await handler(call, asked)
        except (UsageError, BoxFull) as error:
            code = CODES.get(type(error))
            if code is None:
                raise
            raise RpcError(code, str(error), retry_after_s=RETRY_S if code is ErrorCode.BUSY else 0.0) from None

    return coded

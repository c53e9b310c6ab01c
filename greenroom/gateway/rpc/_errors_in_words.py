"""Errors of handlers, as the errors of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import trio

from greenroom.core import JournalError, PeerError, UsageError
from greenroom.gateway.rpc._protocol import ErrorCode, RpcError

CODES: Final[Mapping[type[Exception], ErrorCode]] = {
    trio.TooSlowError: ErrorCode.TIMEOUT,
    JournalError: ErrorCode.UNAVAILABLE,
    PeerError: ErrorCode.UNAVAILABLE,
    UsageError: ErrorCode.BAD_REQUEST,
}
"""The code of each class of errors; of several that fit, the first one."""


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

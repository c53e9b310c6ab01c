"""The frames of the protocol: what a request may be, what an answer looks like, and the codes of errors.

    {"type": "req", "id": "1", "method": "health", "params": {}}
    {"type": "res", "id": "1", "ok": true, "payload": {...}}
    {"type": "res", "id": "1", "ok": false, "error": {"code": "bad_request", "message": "...", "details": {"path": "limit"}}}
    {"type": "event", "event": "chat", "payload": {...}, "seq": 7}

Rule 1: unknown fields of a frame are ignored, those of parameters are refused. Rule 2: within a protocol, methods, events and fields are
only added. Rule 3: text that cannot be read is never kept.

Must not know: connections, tokens, methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.core import PeerError
from greenroom.core.texts import as_json

PROTOCOL: Final = 1
"""The number of the protocol."""
PATH: Final = "/rpc"
"""Where connections are taken."""
MAX_ID: Final = 128
"""Characters of the id of a request."""
MAX_BYTES: Final = 1_048_576
"""Bytes of a message behind `connect`, in either direction."""
MAX_BAD_FRAMES: Final = 5
"""Bad frames in a row: with the last one, the connection is closed."""
MAX_REQUESTS: Final = 64
"""Requests of one connection that are being answered."""

BAD_FRAMES: Final = 1007
PROTOCOL_ERROR: Final = 1002
POLICY: Final = 1008
TRY_LATER: Final = 1013


class ErrorCode(StrEnum):
    """The kind of an error."""

    UNAUTHORIZED = "unauthorized"
    """The credential is missing, wrong, used up, or revoked."""
    FORBIDDEN = "forbidden"
    """The token is not good for this."""
    BAD_REQUEST = "bad_request"
    """Something in the request is wrong; `details.path` names the field."""
    UNKNOWN_METHOD = "unknown_method"
    """The gateway has no such method."""
    NOT_FOUND = "not_found"
    """Something that the request names does not exist."""
    CONFLICT = "conflict"
    """Something else has that key or name, or the state does not allow it."""
    BUSY = "busy"
    """Too much at once; `retryAfterMs` says when to try again."""
    TOO_LARGE = "too_large"
    """The answer would have more than 1 MiB."""
    UNAVAILABLE = "unavailable"
    """The gateway cannot do it now: it stops, or its disk is full."""
    TIMEOUT = "timeout"
    """It took too long. A change that was begun goes on: the same key again has its answer."""
    INTERNAL = "internal"
    """A mistake of the gateway's; its log has it."""
    PROTOCOL = "protocol"
    """Client and gateway have no number of the protocol in common; `details` has both ranges."""


@final
class RpcError(PeerError):
    """A call was answered with an error.

    Attributes:
        code: The kind of error, a word to branch on.
        message: The text, for people.
        path: The field of the parameters that is wrong, such as `schedule.cron`; empty for none.
        retry_after_s: When to try again, in seconds; 0 if nothing is known.
        details: Further facts.
    """

    def __init__(
        self,
        code: ErrorCode | str,
        message: str,
        *,
        path: str = "",
        retry_after_s: float = 0.0,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = str(code)
        self.message = message
        self.path = path
        self.retry_after_s = retry_after_s
        self.details = dict(details or {}) | ({"path": path} if path else {})

    def to_json(self) -> dict[str, Any]:
        """Return it as it stands in an answer."""
        made: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.retry_after_s:
            made["retryAfterMs"] = round(self.retry_after_s * 1000)
        if self.details:
            made["details"] = self.details
        return made

    @staticmethod
    def from_json(value: Any) -> RpcError:
        """Return the error of an answer, whatever the peer has sent."""
        found = value if isinstance(value, dict) else {}
        details = found.get("details")
        details = details if isinstance(details, dict) else {}
        wait_ms = found.get("retryAfterMs")
        return RpcError(
            str(found.get("code") or ErrorCode.INTERNAL),
            str(found.get("message") or "the gateway gave no reason"),
            path=str(details.get("path") or ""),
            retry_after_s=wait_ms / 1000 if isinstance(wait_ms, int | float) else 0.0,
            details=details,
        )


@final
@attrs.frozen
class RequestFrame:
    """A request as it came in; its parameters are not read yet."""

    id: str
    method: str
    params: Mapping[str, Any]


@final
@attrs.frozen
class BadFrame:
    """A message that is not a request."""

    why: str
    id: str | None = None
    """Its id, if it has one: then it is answered."""


def read_request(message: str | bytes) -> RequestFrame | BadFrame:
    """Return the request in a message of a client, or what is wrong with it."""
    if not isinstance(message, str):
        return BadFrame("a frame must be text, not bytes")
    frame = read_object(message)
    if frame is None:
        return BadFrame("a frame must be a JSON object")
    id_ = frame.get("id")
    if not isinstance(id_, str) or not 0 < len(id_) <= MAX_ID:
        return BadFrame(f"id must be a text of 1 to {MAX_ID} characters")
    if frame.get("type") != "req":
        return BadFrame("type must be 'req'", id_)
    method = frame.get("method")
    if not isinstance(method, str):
        return BadFrame("method must be a text", id_)
    params = frame.get("params")
    if not isinstance(params, dict | None):
        return BadFrame("params must be an object", id_)
    return RequestFrame(id_, method, params or {})


def read_object(message: str) -> dict[str, Any] | None:
    """Return the JSON object in a text; None if it is none."""
    import orjson

    try:
        value = orjson.loads(message)
    except (ValueError, RecursionError):  # no JSON, too deep, or half a character
        return None
    return value if isinstance(value, dict) else None


def to_text(value: Mapping[str, Any]) -> str:
    """Return a value as JSON, with text in place of what JSON cannot hold."""
    return as_json(value).decode()


def answer_frame(id_: str, payload: Mapping[str, Any], *, is_cached: bool = False) -> str:
    """Return the answer to a request."""
    frame: dict[str, Any] = {"type": "res", "id": id_, "ok": True, "payload": payload}
    return to_text(frame | ({"cached": True} if is_cached else {}))


def error_frame(id_: str, error: RpcError) -> str:
    """Return the answer to a request that was refused, or failed."""
    return to_text({"type": "res", "id": id_, "ok": False, "error": error.to_json()})

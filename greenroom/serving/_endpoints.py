"""What a server answers: its endpoints, and the values that pass between them and the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, final

import attrs

from greenroom.core import UsageError, frozen
from greenroom.serving._secrets import Judge

if TYPE_CHECKING:
    from greenroom.serving._connection import Connection

MEBIBYTE: Final = 1_048_576
MAX_PROVEN: Final = 200
"""Default maximum number of proven connections of one endpoint."""
PROOF_S: Final = 5.0
"""Default time within which a WebSocket connection must have proven itself, in seconds."""
MAX_BYTES_BEFORE_PROOF: Final = 16_384
"""Default maximum size of a message of an unproven connection, in bytes."""
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every answer, unless others are given."""


@final
@frozen(kw_only=True)
class Request:
    """A request that may be answered: its host, origin, size and credential have been checked."""

    method: str
    """`GET` for `HEAD`, too."""
    path: str
    """Path as it was sent; nothing in it is decoded."""
    query: str
    """What follows the first `?`, without it."""
    headers: tuple[tuple[str, str], ...] = attrs.field(repr=False)
    """Names in lower case, and values, in their order; credentials are among them."""
    body: bytes = attrs.field(default=b"", repr=False)
    grant: object = None
    """What the endpoint's judge said of the credential; None where there is no judge."""


@final
@frozen(kw_only=True)
class Response:
    """An answer. The headers of the server are added, except for those that are named here."""

    status: int = 200
    body: bytes = attrs.field(default=b"", repr=False)
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = attrs.field(factory=dict)


def _check_path(_instance: object, _attribute: object, path: str) -> None:
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or set(" ?#") & set(path):
        raise ValueError(f"the path of an endpoint must be printable ASCII and begin with '/', got {path!r}")


@final
@frozen(kw_only=True)
class Resource:
    """Something that requests read, or post to. One connection carries one request."""

    path: str = attrs.field(validator=_check_path)
    """The exact path; if it ends with `/*`, everything below it."""
    answer: Callable[[Request], Awaitable[Response]] = attrs.field(repr=False)
    """Called with each request that was let in. An error is reported, and answered with 500."""
    judge: Judge | None = attrs.field(default=None, repr=False)
    """Judge of the credential in `Authorization: Bearer`; None if everybody may ask. Without a right one the answer is 401."""
    methods: Collection[str] = ("GET",)
    """Allowed methods; `HEAD` comes with `GET`."""
    max_body_bytes: int = 0
    """Maximum size of a body; 0 if none is taken."""
    refuses_origins: bool = False
    """True if no browser has business here: a request with an `Origin` is refused, whichever it names."""
    max_proven: int = MAX_PROVEN
    """Maximum number of requests with a right credential at a time."""


@final
@frozen(kw_only=True)
class Upgrade:
    """A path at which WebSocket connections are taken."""

    path: str = attrs.field(validator=_check_path)
    """The exact path; if it ends with `/*`, everything below it."""
    serve: Callable[[Connection], Awaitable[None]] = attrs.field(repr=False)
    """Called with each connection, which is closed when it returns. It may let `ConnectionEnded` and `NotProven` out."""
    judge: Judge = attrs.field(repr=False)
    """Judge of credentials."""
    protocol: str | None = None
    """The subprotocol, which clients must offer; None if they must offer none."""
    has_credential_in_head: bool = False
    """True if the credential is offered as a second subprotocol, so that it is judged before the upgrade (403)."""
    max_bytes_before_proof: int = MAX_BYTES_BEFORE_PROOF
    max_bytes: int = MEBIBYTE
    """Maximum size of a message after the proof, in bytes; a larger one ends the connection with 1009."""
    proof_s: float = PROOF_S
    """Time within which a connection must have proven itself, in seconds; then it is closed with 1008."""
    refuses_origins: bool = False
    """As for `Resource`."""
    max_proven: int = MAX_PROVEN
    """Maximum number of proven connections; further ones are refused with 503, or closed with 1013."""


Endpoint: TypeAlias = Resource | Upgrade


@final
class EndpointTable:
    """Endpoints by path."""

    def __init__(self, endpoints: Collection[Endpoint]) -> None:
        self._exact = {each.path: each for each in endpoints if not each.path.endswith("/*")}
        self._below = {each.path[:-1]: each for each in endpoints if each.path.endswith("/*")}
        if len(self._exact) + len(self._below) != len(endpoints):
            raise UsageError("two endpoints must not have the same path")

    def find(self, path: str) -> Endpoint | None:
        """Return the endpoint of a path: the one of exactly this path, else the nearest one above."""
        if path in self._exact:
            return self._exact[path]
        end = path.rfind("/") + 1
        while end:
            if path[:end] in self._below and len(path) > end:
                return self._below[path[:end]]
            end = path.rfind("/", 0, end - 1) + 1
        return None

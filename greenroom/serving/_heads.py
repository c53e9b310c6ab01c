"""Heads of requests: reading them with h11, and deciding which may pass.

Rule 1: the host comes first, then the origin, then the rest; nothing of the application is asked before. Rule 2: what can be read in
two ways is refused. This module must not know of streams, time, or credentials.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, final

import attrs

from greenroom.serving._endpoints import Endpoint, Resource, Response, Upgrade

if TYPE_CHECKING:
    import h11

MAX_HEAD_BYTES: Final = 16_384
"""Maximum size of the head of a request, in bytes."""
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_VERSION: Final = "13"
_KEY_BYTES: Final = 16
_OURS: Final = frozenset({"none", "same-origin"})
"""Values of `Sec-Fetch-Site` of a browser that was sent here by its user, or by our own page."""


@final
@attrs.frozen(kw_only=True)
class Refusal:
    """An answer that ends a connection because of what it asked for."""

    status: int
    reason: str
    headers: Mapping[str, str] = attrs.field(factory=dict)


@final
@attrs.frozen(kw_only=True)
class Head:
    """Head of a request, as it was sent."""

    method: str
    target: str
    version: str
    """Version of HTTP, such as `1.1`."""
    headers: tuple[tuple[str, str], ...] = attrs.field(repr=False)
    """Names in lower case, and values."""

    @property
    def path(self) -> str:
        """The target up to its first `?`."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The target behind its first `?`."""
        return self.target.partition("?")[2]

    def values(self, name: str) -> list[str]:
        """Return the values of a header, by its name in lower case."""
        return [value for each, value in self.headers if each == name]

    def words(self, name: str) -> list[str]:
        """Return the parts of a header that is a list."""
        parts = (part.strip() for value in self.values(name) for part in value.split(","))
        return [part for part in parts if part]


@final
@attrs.frozen(kw_only=True)
class Names:
    """Names under which a server can be reached, and origins of pages that may speak to it."""

    hosts: frozenset[str]
    """Exact values of `Host`."""
    origins: frozenset[str]
    """Origins of the server's own pages."""
    other_origins: frozenset[str] = frozenset()
    """Origins of further pages that may speak to it."""


# --- reading ------------------------------------------------------------------------------------------------------------


@final
class Wire:
    """One request and its answer, between bytes and values; it reads and writes nothing itself."""

    def __init__(self) -> None:
        import h11

        self._h11 = h11
        self._wire: h11.Connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._taken = 0

    @property
    def taken_bytes(self) -> int:
        """Number of bytes that have been taken."""
        return self._taken

    @property
    def behind(self) -> bytes:
        """What was taken behind the head and has not been read."""
        return bytes(self._wire.trailing_data[0])

    def take(self, chunk: bytes | bytearray) -> Head | Refusal | None:
        """Take bytes of the head; return None while it is not complete."""
        self._taken += len(chunk)
        try:
            self._wire.receive_data(bytes(chunk))
            event = self._wire.next_event()
        except self._h11.RemoteProtocolError as error:
            too_large = error.error_status_hint == 431
            return Refusal(status=error.error_status_hint, reason="large head" if too_large else "malformed head")
        if not isinstance(event, self._h11.Request):
            return None
        if self._taken - len(self.behind) > MAX_HEAD_BYTES:
            return Refusal(status=431, reason="large head")
        headers = tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers)
        method, target, version = (each.decode("ascii") for each in (event.method, event.target, event.http_version))
        return Head(method=method, target=target, version=version, headers=headers)

    def next_body(self, chunk: bytes | bytearray | None = None) -> bytes | bool:
        """Return the next part of the body: True if it is complete, False if bytes are missing.

        Raises:
            ValueError: What was sent is no body.
        """
        try:
            if chunk is not None:
                self._wire.receive_data(bytes(chunk))
            event = self._wire.next_event()
        except self._h11.RemoteProtocolError:
            raise ValueError("malformed body") from None
        if isinstance(event, self._h11.Data):
            return bytes(event.data)
        return event is not self._h11.NEED_DATA

    def waits_for_permission(self) -> bytes:
        """Return what has to be sent before the client sends its body; usually nothing."""
        if not self._wire.they_are_waiting_for_100_continue:
            return b""
        return self._wire.send(self._h11.InformationalResponse(status_code=100, headers=[])) or b""

    def written(self, response: Response, headers: Mapping[str, str], *, has_body: bool) -> bytes:
        """Return the bytes of an answer, behind which the connection is closed.

        Raises:
            LocalProtocolError: The answer has a header that cannot be sent.
        """
        own = {name.lower() for name in response.headers}
        lines = [(name, value) for name, value in headers.items() if name.lower() not in own]
        lines += [*response.headers.items(), ("Content-Type", response.content_type)]
        lines += [("Content-Length", str(len(response.body))), ("Connection", "close")]
        head = self._h11.Response(status_code=response.status, headers=lines, reason=b"")
        sent = self._wire.send(head) or b""
        return sent + response.body if has_body else sent


# --- deciding -----------------------------------------------------------------------------------------------------------


def judge_head(head: Head, endpoint: Endpoint | None, names: Names) -> Refusal | None:
    """Return why a request is refused, in the order of the rules; None if it may pass."""
    return (
        _judge_place(head, endpoint, names)
        or _judge_target(head, endpoint)
        or (_judge_upgrade(head, endpoint) if isinstance(endpoint, Upgrade) else None)
    )


def _judge_place(head: Head, endpoint: Endpoint | None, names: Names) -> Refusal | None:
    hosts = head.values("host")
    origins = head.values("origin")
    if endpoint is not None and endpoint.refuses_origins and origins:
        return Refusal(status=403, reason="no browsers here")
    if len(hosts) != 1 or hosts[0] not in names.hosts:
        return Refusal(status=421, reason="foreign host")
    if len(origins) > 1 or any(each not in names.origins | names.other_origins for each in origins):
        return Refusal(status=403, reason="foreign origin")
    is_stranger = not _OURS.issuperset(head.values("sec-fetch-site"))
    if is_stranger and not names.other_origins.issuperset(origins or [""]):
        return Refusal(status=403, reason="sent here by another page")
    return None


def _judge_target(head: Head, endpoint: Endpoint | None) -> Refusal | None:
    lengths = head.values("content-length")
    if head.version not in _VERSIONS:
        return Refusal(status=505, reason="version of HTTP")
    if not head.target.startswith("/") or len(lengths) > 1 or (head.values("transfer-encoding") and lengths):
        return Refusal(status=400, reason="ambiguous request")
    if head.values("transfer-encoding"):
        return Refusal(status=411, reason="body without a length")
    if endpoint is None:
        return Refusal(status=404, reason="unknown path")
    methods = allowed_methods(endpoint)
    if head.method not in methods:
        return Refusal(status=405, reason="method", headers={"Allow": ", ".join(methods)})
    max_bytes = endpoint.max_body_bytes if isinstance(endpoint, Resource) else 0
    if lengths and int(lengths[0]) > max_bytes:
        return Refusal(status=413, reason="large body")
    return None


def allowed_methods(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the methods of an endpoint."""
    if isinstance(endpoint, Upgrade):
        return ("GET",)
    return tuple(dict.fromkeys(("HEAD", *endpoint.methods) if "GET" in endpoint.methods else endpoint.methods))


def _judge_upgrade(head: Head, endpoint: Upgrade) -> Refusal | None:
    upgrades = [each.lower() for each in head.words("upgrade")]
    if (
        head.version == "1.0"
        or upgrades != ["websocket"]
        or "upgrade" not in [each.lower() for each in head.words("connection")]
    ):
        return Refusal(status=426, reason="not a WebSocket", headers={"Upgrade": "websocket"})
    if head.values("sec-websocket-version") != [_VERSION]:
        return Refusal(status=426, reason="WebSocket version", headers={"Sec-WebSocket-Version": _VERSION})
    keys = head.values("sec-websocket-key")
    if len(keys) != 1 or not _is_key(keys[0]):
        return Refusal(status=400, reason="WebSocket key")
    offered = head.words("sec-websocket-protocol")
    known = [] if endpoint.protocol is None else [endpoint.protocol]
    if offered[: len(known)] != known or len(offered) > len(known) + endpoint.has_credential_in_head:
        return Refusal(status=403, reason="subprotocol")
    return None


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text.encode("latin-1"), validate=True)) == _KEY_BYTES
    except (ValueError, binascii.Error):
        return False


def credential_of(head: Head, endpoint: Endpoint) -> str | None:
    """Return the credential in a head; None if it has none."""
    if isinstance(endpoint, Upgrade):
        offered = head.words("sec-websocket-protocol")[0 if endpoint.protocol is None else 1 :]
        return offered[0] if endpoint.has_credential_in_head and offered else None
    values = head.values("authorization")
    scheme, _, credential = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return credential.strip() if scheme.lower() == "bearer" and credential.strip() else None


def upgrade_head(head: Head, endpoint: Upgrade) -> bytes:
    """Return the head from which the WebSocket library begins: what was judged, and nothing else of the peer's."""
    lines = [
        f"GET {head.target} HTTP/1.1",
        "Host: localhost",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Version: {_VERSION}",
        f"Sec-WebSocket-Key: {head.values('sec-websocket-key')[0]}",
        *([] if endpoint.protocol is None else [f"Sec-WebSocket-Protocol: {endpoint.protocol}"]),
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii")

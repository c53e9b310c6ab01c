"""Places where a server listens, and the names under which each can be reached."""

from __future__ import annotations

import errno
import ipaddress
import ssl
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs
import trio

from greenroom.core import UsageError
from greenroom.serving._heads import Names
from greenroom.serving._unix_sockets import open_unix_listener

_BACKLOG: Final = 1_024
UNIX_ADDRESS: Final = "unix"
"""Address of all peers of Unix sockets."""


@final
@attrs.frozen(kw_only=True)
class Tcp:
    """A TCP port. Beyond the loopback interface it needs `tls`."""

    host: str = "127.0.0.1"
    """Address of an interface; names are not looked up."""
    port: int = 0
    """The port; 0 for any free one."""
    tls: ssl.SSLContext | None = attrs.field(default=None, repr=False)


@final
@attrs.frozen
class UnixSocket:
    """A Unix socket, with mode 0600. Only processes of the same user are heard."""

    path: Path


Place: TypeAlias = Tcp | UnixSocket


@final
@attrs.frozen(kw_only=True)
class Door:
    """An open listener."""

    place: Place
    listener: trio.SocketListener
    names: Names
    url: str
    """Where it can be reached, such as `http://127.0.0.1:8000` or `unix:/run/user/1000/greenroom`."""

    def close(self) -> None:
        """Close the listener, and remove its file if it has one."""
        self.listener.socket.close()
        if isinstance(self.place, UnixSocket):
            with suppress(OSError):
                self.place.path.unlink()


async def open_doors(places: Sequence[Place], *, hosts: Collection[str], origins: Collection[str]) -> list[Door]:
    """Listen at all places, or at none.

    Args:
        places: The places.
        hosts: Further exact values of `Host`, such as those of a proxy.
        origins: Further origins of pages that may speak to the server.

    Raises:
        UsageError: A place is taken, not allowed or unusable.
    """
    doors: list[Door] = []
    try:
        for place in places:
            doors.append(await _open_door(place, frozenset(hosts), frozenset(origins)))  # noqa: PERF401 - those that were opened are closed
    except BaseException:
        for door in doors:
            door.close()
        raise
    return doors


async def _open_door(place: Place, hosts: frozenset[str], origins: frozenset[str]) -> Door:
    if isinstance(place, UnixSocket):
        try:
            listener = await open_unix_listener(place.path, backlog=_BACKLOG)
        except OSError as error:
            raise UsageError(f"cannot listen on {str(place.path)!r}: {error.strerror or error}") from None
        names = Names(hosts=hosts | {"localhost"}, origins=frozenset(), other_origins=origins)
        return Door(place=place, listener=listener, names=names, url=f"unix:{place.path}")
    address = _checked(place, hosts)
    try:
        (listener,) = await trio.open_tcp_listeners(place.port, host=place.host, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(f"cannot listen on port {place.port} of {place.host}: {_why(error)}") from None
    port: int = listener.socket.getsockname()[1]
    scheme = "http" if place.tls is None else "https"
    own = own_hosts(address, port, scheme=scheme)
    names = Names(
        hosts=hosts | frozenset(own), origins=frozenset(f"{scheme}://{each}" for each in own), other_origins=origins
    )
    return Door(place=place, listener=listener, names=names, url=f"{scheme}://{_bracketed(address)}:{port}")


def _checked(place: Tcp, hosts: Collection[str]) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address(place.host)
    except ValueError:
        raise UsageError(f"the host to listen on must be an address such as 127.0.0.1, got {place.host!r}") from None
    if not 0 <= place.port <= 65_535:
        raise UsageError(f"the port to listen on must be from 0 to 65535, got {place.port!r}")
    if place.tls is None and not address.is_loopback:
        raise UsageError(
            f"cannot listen on {place.host} without TLS: other machines can reach it; "
            "give it a certificate, or listen on 127.0.0.1 behind a proxy"
        )
    if address.is_unspecified and not hosts:
        raise UsageError(f"cannot listen on {place.host} without names: say in hosts under which names it is reached")
    return address


def read_certificate(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the context of a server with a certificate. It blocks.

    Raises:
        UsageError: A file cannot be read, or the key is not that of the certificate.
    """
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        tls.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:  # errors of TLS are among them
        raise UsageError(
            f"the certificate {str(certificate)!r} with the key {str(key)!r} cannot be used: {_why_unusable(error)}"
        ) from None
    return tls


def read_authority(path: Path) -> ssl.SSLContext:
    """Return the context of a client that trusts an authority, or one certificate, and nobody else. It blocks.

    Raises:
        UsageError: The file cannot be read, or holds no certificate.
    """
    try:
        return ssl.create_default_context(cafile=str(path))
    except OSError as error:
        raise UsageError(f"the authority {str(path)!r} cannot be used: {_why_unusable(error)}") from None


def _no_password() -> str:
    raise ValueError("the key has a password")


def _why_unusable(error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return str(reason).lower().replace("_", " ")


def _why(error: OSError) -> str:
    causes = [error, *(each for each in (error.__cause__, error.__context__) if isinstance(each, OSError))]
    if any(each.errno == errno.EADDRINUSE for each in causes):
        return "another process listens there; choose another port"
    return error.strerror or str(error)


def own_hosts(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int, *, scheme: str) -> list[str]:
    """Return the values of `Host` of requests to an address itself; browsers leave out the port of the scheme."""
    names = [] if address.is_unspecified else [_bracketed(address)]
    if address.is_loopback:
        names.append("localhost")
    ports = [f":{port}", *([""] if port == {"http": 80, "https": 443}[scheme] else [])]
    return [f"{name}{end}" for name in names for end in ports]


def _bracketed(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    return f"[{address}]" if address.version == 6 else str(address)

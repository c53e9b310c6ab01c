"""One server for everything that listens: requests and WebSocket connections on one port, with the checks that every door needs."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.serving._client_connection import Address, CannotConnect, TcpAddress, UnixAddress, open_connection
    from greenroom.serving._connection import Connection, ConnectionEnded, WebSocket
    from greenroom.serving._endpoints import Endpoint, Request, Resource, Response, Upgrade
    from greenroom.serving._listeners import Tcp, UnixSocket, read_authority, read_certificate
    from greenroom.serving._proof import NotProven
    from greenroom.serving._secrets import Judge, Secrets
    from greenroom.serving._server import Server, ServerStatistics, open_server
    from greenroom.serving._streams import shake_hands
    from greenroom.serving._unix_sockets import check_path, connect_unix, is_same_user, open_unix_listener
    from greenroom.serving._visit import Incident
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.serving._client_connection": (
                "Address",
                "CannotConnect",
                "TcpAddress",
                "UnixAddress",
                "open_connection",
            ),
            "greenroom.serving._connection": ("Connection", "ConnectionEnded", "WebSocket"),
            "greenroom.serving._endpoints": ("Endpoint", "Request", "Resource", "Response", "Upgrade"),
            "greenroom.serving._listeners": ("Tcp", "UnixSocket", "read_authority", "read_certificate"),
            "greenroom.serving._proof": ("NotProven",),
            "greenroom.serving._secrets": ("Judge", "Secrets"),
            "greenroom.serving._server": ("Server", "ServerStatistics", "open_server"),
            "greenroom.serving._streams": ("shake_hands",),
            "greenroom.serving._unix_sockets": ("check_path", "connect_unix", "is_same_user", "open_unix_listener"),
            "greenroom.serving._visit": ("Incident",),
        },
    )

__all__ = [
    "Address",
    "CannotConnect",
    "Connection",
    "ConnectionEnded",
    "Endpoint",
    "Incident",
    "Judge",
    "NotProven",
    "Request",
    "Resource",
    "Response",
    "Secrets",
    "Server",
    "ServerStatistics",
    "Tcp",
    "TcpAddress",
    "UnixAddress",
    "UnixSocket",
    "Upgrade",
    "WebSocket",
    "check_path",
    "connect_unix",
    "is_same_user",
    "open_connection",
    "open_server",
    "open_unix_listener",
    "read_authority",
    "read_certificate",
    "shake_hands",
]

"""The server: it accepts connections, gives each its own scope, and closes them in order.

Rule 1: no peer ends the server, or the nursery in which it runs. Rule 2: when it is left, nothing of it is left: no task, socket or
file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, final

import attrs
import trio

from greenroom.core import open_bare_nursery, require_trio
from greenroom.serving._admission import Admission, Seat
from greenroom.serving._endpoints import SECURITY_HEADERS, Endpoint, EndpointTable
from greenroom.serving._listeners import UNIX_ADDRESS, Door, Place, Tcp, UnixSocket, open_doors
from greenroom.serving._unix_sockets import is_same_user
from greenroom.serving._visit import Incident, Site, Visit

if TYPE_CHECKING:
    import ssl

    from greenroom.serving._heads import Names

STOP_S: Final = 3.0
"""Time within which connections end in order when the server stops, in seconds."""
_ACCEPT_PAUSE_S: Final = 0.1
GOING_AWAY: Final = 1001


@final
@attrs.frozen(kw_only=True)
class ServerStatistics:
    """Figures of a server."""

    unproven: int
    """Open connections that have not proven themselves."""
    proven: int
    """Open connections that have."""
    most: int
    """Maximum number of open connections so far."""
    accepted: int
    """Connections so far."""
    given_up: int
    """Connections that had to go for newer ones."""
    refused: int
    """Requests that were not let in."""
    wrong: int
    """Wrong credentials so far."""
    failed: int
    """Errors of the application so far."""


@final
class Server:
    """A server that listens. Made by `open_server`."""

    def __init__(
        self,
        nursery: trio.Nursery,
        doors: Sequence[Door],
        endpoints: Collection[Endpoint],
        headers: Mapping[str, str],
        report: Callable[[Incident], None] | None,
    ) -> None:
        self.addresses = tuple(door.url for door in doors)
        """Where it listens, in the order of the places, such as `http://127.0.0.1:8000`."""
        self._nursery = nursery
        self._doors = doors
        self._report_to = report
        self._admission = Admission()
        self._visits: dict[Seat, Visit] = {}
        self._has_left = trio.Event()
        self._accepting = trio.CancelScope()
        self._counts = {"accepted": 0, "given_up": 0, "refused": 0, "failed": 0}
        self._site = Site(
            table=EndpointTable(endpoints), headers=headers, admission=self._admission, report=self._report
        )

    def statistics(self) -> ServerStatistics:
        """Return the figures at this moment."""
        admission = self._admission
        return ServerStatistics(
            unproven=admission.unproven,
            proven=admission.proven,
            most=admission.most,
            wrong=admission.wrong,
            **self._counts,
        )

    async def stop(self, code: int = GOING_AWAY, reason: str = "") -> None:
        """Stop listening, close all connections, and return when they have ended, after 3 s at the latest.

        Args:
            code: Code for WebSocket connections, such as 1001, or 1012 for a restart.
            reason: Text for their peers.
        """
        self.stop_listening()
        for visit in list(self._visits.values()):
            if visit.connection is not None:
                self._nursery.start_soon(visit.connection.close, code, reason)
            elif not visit.is_answering:
                visit.scope.cancel("the server stops")
        with trio.move_on_after(STOP_S):
            while self._visits:
                await self._has_left.wait()
        for visit in self._visits.values():
            visit.scope.cancel("the server has stopped")

    def stop_listening(self) -> None:
        """Close the listeners at once; connections go on."""
        self._accepting.cancel("the server stops listening")
        for door in self._doors:
            door.close()
        self._doors = ()

    def take(self, stream: trio.abc.Stream, address: str, names: Names, *, tls: ssl.SSLContext | None = None) -> None:
        """Serve a connection in a task of its own."""
        seat, given_up = self._admission.enter(address)
        if given_up is not None:
            self._visits[given_up].scope.cancel("newer connections need the place")
            self._report(Incident(kind="given_up", address=address, reason="a newer connection needed the place"))
        self._counts["accepted"] += 1
        visit = self._visits[seat] = Visit(self._site, seat, names, tls=tls)
        self._nursery.start_soon(self._serve, visit, seat, stream)

    async def accept(self) -> None:
        """Accept connections until `stop_listening`."""
        with self._accepting:
            async with trio.open_nursery() as nursery:
                for door in self._doors:
                    nursery.start_soon(self._accept_at, door)

    async def _accept_at(self, door: Door) -> None:
        tls = door.place.tls if isinstance(door.place, Tcp) else None
        while True:
            try:
                stream = await door.listener.accept()
                address = _address_of(stream, door.place)
            except OSError:  # no descriptor was left, or the peer has gone already
                await trio.sleep(_ACCEPT_PAUSE_S)
                continue
            if address is None:
                await trio.aclose_forcefully(stream)
            else:
                self.take(stream, address, door.names, tls=tls)

    async def _serve(self, visit: Visit, seat: Seat, stream: trio.abc.Stream) -> None:
        try:
            await visit.serve(stream)
        finally:
            self._admission.leave(seat)
            del self._visits[seat]
            self._has_left.set()
            self._has_left = trio.Event()

    def _report(self, incident: Incident) -> None:
        if incident.kind in self._counts:
            self._counts[incident.kind] += 1
        if self._report_to is not None:
            self._report_to(incident)


def _address_of(stream: trio.SocketStream, place: Place) -> str | None:
    """Return the address of a peer; None if it is not to be heard."""
    if isinstance(place, UnixSocket):
        return UNIX_ADDRESS if is_same_user(stream) else None
    return str(stream.socket.getpeername()[0])


@asynccontextmanager
async def open_server(
    endpoints: Collection[Endpoint],
    *,
    listen: Sequence[Place],
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
    headers: Mapping[str, str] = SECURITY_HEADERS,
    report: Callable[[Incident], None] | None = None,
) -> AsyncIterator[Server]:
    """Serve endpoints until the block is left; then connections are closed as by `Server.stop`, or at once if it is cancelled or raises.

    Args:
        endpoints: What is served.
        listen: Where; several places share endpoints and limits.
        hosts: Further exact values of `Host`, with the port, such as those of a proxy in front.
        origins: Origins of further pages that may speak to the server, such as `https://example.org`.
        headers: Headers of every answer.
        report: Called with what a log should name. It must not raise.

    Raises:
        UsageError: A place cannot be listened at; the text names it.
    """
    require_trio("open_server()")
    doors = await open_doors(listen, hosts=hosts, origins=origins)
    try:
        async with open_bare_nursery() as nursery:
            server = Server(nursery, doors, endpoints, headers, report)
            nursery.start_soon(server.accept)
            try:
                yield server
                await server.stop()
            finally:
                nursery.cancel_scope.cancel("the server is closed")
    finally:
        for door in doors:
            door.close()

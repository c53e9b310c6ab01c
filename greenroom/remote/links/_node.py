"""A node: one process whose actors others may reach, and which reaches theirs.

    async with open_node(runtime, name="here", codec=MessageCodec([Job]), peers={"there": LinkPeer(token, "unix:/run/there")}) as node:
        node.publish("printer", ref)
        link = await node.connect("there")
        clerk = await link.find("clerk")

Rule 1: nothing listens unless `listen` says so. Rule 2: a node's name is bound to its token; a name in a message is never believed. Rule 3:
input can make only its own connection fail.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, final

import trio

from greenroom._version import __version__
from greenroom.actors import Behavior, Context, Ref
from greenroom.core import NameTaken, UsageError
from greenroom.remote.links._dialling import LINK_PATH, Dial, Unreachable, dialled, greet, read_address, welcome
from greenroom.remote.links._link import CLOSE_S, Link, LinkConnection, LinkPace
from greenroom.remote.links._link_peers import LinkPeer, check_peers
from greenroom.remote.links._link_permits import LinkPermit
from greenroom.remote.links._link_record import NodeClosed, NodeOpened, RefusedConnections
from greenroom.remote.links._link_states import LinkState
from greenroom.remote.links._published_actors import PublishedActors
from greenroom.remote.links._remote_calls import LinkLost
from greenroom.remote.wire import (
    BAD_NUMBER,
    MAX_HELLO,
    MAX_MESSAGE,
    SUBPROTOCOL,
    Hello,
    MessageCodec,
    WireError,
    new_id,
)
from greenroom.serving import Connection, ConnectionEnded, Incident, Tcp, UnixSocket, Upgrade, open_server
from greenroom.supervisor import ChildSpec, Restart, Runtime, Supervisor

MAX_LINKS: Final = 256
"""Links of a node that are not lost."""
_FIRST_DELAY_S: Final = 0.05
_MAX_DELAY_S: Final = 2.0
_TRY_LATER: Final = 1013


@final
class LinkActor(Behavior[Any]):
    """The actor of one link, below `remote`: its end is the loss of the link, and the loss ends it."""

    actor_tasks = True

    def __init__(self, make: Callable[[Context], Link]) -> None:
        self._make = make
        self._link: Link | None = None

    async def on_start(self, ctx: Context) -> None:
        """Make the link, whose tasks live as long as this actor."""
        self._link = self._make(ctx)

    async def on_message(self, message: Any, ctx: Context) -> None:
        """Take no messages: there are none."""

    async def on_stop(self, ctx: Context) -> None:
        """Lose the link."""
        if self._link is not None:
            self._link.lose("the link was closed here")


@final
class LinkNode:
    """One end of any number of links. Made by `open_node`."""

    def __init__(
        self,
        runtime: Runtime,
        supervisor: Supervisor,
        *,
        name: str,
        codec: MessageCodec,
        peers: Mapping[str, LinkPeer],
        pace: LinkPace,
        dial: Dial,
        records_frames: bool,
        guests: LinkPeer | None,
        report: Callable[[Incident], None] | None,
    ) -> None:
        self.name = name
        self.boot = new_id(runtime.ports.ids)
        """This start of the node."""
        self.published = PublishedActors()
        self._runtime = runtime
        self._supervisor = supervisor
        self._codec = codec
        self._peers = dict(peers)
        self._guests = guests
        self._pace = pace
        self._dial = dial
        self._records_frames = records_frames
        self._report = report
        self._refused = RefusedConnections(runtime.recorder.emit)
        self._links: dict[tuple[str, str], Link] = {}
        self._dials = {node: trio.Lock() for node in peers}
        self.addresses: tuple[str, ...] = ()
        """Where it listens."""

    # --- for those who use it -----------------------------------------------------------------------------------------

    def publish(self, name: str, ref: Ref[Any]) -> None:
        """Publish an actor, so that other nodes find it under a name.

        Raises:
            UsageError: Another living actor is published under that name.
        """
        self.published.publish(name, ref)

    def withdraw(self, name: str) -> None:
        """Withdraw what was published under a name: nobody finds it, and to nodes that had found it it no longer exists.

        No effect if there is none. What such nodes have sent already is handled.
        """
        ref = self.published.withdraw(name)
        if ref is not None and not self.published.has(ref):
            for link in self.links():
                link.withdraw(ref)

    def links(self) -> list[Link]:
        """Return the links that are not lost."""
        return list(self._links.values())

    async def connect(self, node: str) -> Link:
        """Return the link to another node; connect if there is none.

        Raises:
            UsageError: The node is not known, or has no address.
            Unreachable: It cannot be reached, or is not the one that was meant.
        """
        peer = self._peers.get(node)
        if peer is None:
            known = ", ".join(sorted(self._peers)) or "none"
            raise UsageError(f"no node {node!r} is known; known: {known}")
        async with self._dials[node]:
            for link in self._links.values():
                if link.node == node:
                    return link
            if not peer.address:
                raise UsageError(f"node {node!r} has no address: it connects to this one")
            return await self._dial_first(node, peer)

    # --- the side that dials --------------------------------------------------------------------------------------------

    async def _dial_first(self, node: str, peer: LinkPeer) -> Link:
        """Start a link, and return it when its first connection is up."""
        first: list[Exception] = []
        link = await self._start(node, new_id(self._runtime.ports.ids), "", lambda link: self._keep(link, peer, first))
        try:
            await link.wait_state(LinkState.UP)
        except LinkLost:
            if first and isinstance(first[0], Unreachable):
                raise first[0] from None
            raise Unreachable(node, peer.address, str(first[0]) if first else "the link was closed") from None
        except BaseException:
            link.lose("nobody waits for it any more")
            raise
        return link

    async def _keep(self, link: Link, peer: LinkPeer, errors: list[Exception]) -> None:
        """Dial until the link is lost: at once, then after growing times."""
        address = read_address(peer.address)
        delay_s = 0.0
        while not link.is_lost:
            link.note_dialling()
            is_new = not link.boot
            try:
                async with self._dial(link.node, address, tls=peer.tls) as connection:
                    theirs = await greet(connection, self._hello(link), peer.token, node=link.node, address=address)
                    if link.boot not in ("", theirs.boot):
                        link.lose(f"node {link.node!r} has started anew")
                        return
                    link.boot = theirs.boot
                    received_bytes = link.statistics().received_bytes
                    await self._carried(link, connection, theirs)
                if link.statistics().received_bytes > received_bytes:
                    delay_s = 0.0
                    continue  # one that brought nothing is as bad as none
            except (Unreachable, ConnectionEnded, OSError) as error:
                if is_new:
                    errors.append(error)
                if is_new or (isinstance(error, Unreachable) and error.is_final):
                    link.lose(str(error))
                    return
                link.note_failure(str(error))
            await trio.sleep(delay_s * (1 + self._runtime.ports.chance.random() / 2))
            delay_s = min(max(delay_s * 2, _FIRST_DELAY_S), _MAX_DELAY_S)

    @staticmethod
    async def _carried(link: Link, connection: LinkConnection, theirs: Hello) -> None:
        try:
            await link.carry(
                connection, got=(theirs.got[0], theirs.got[1]), tick_s=theirs.tick_s, max_message=theirs.max_bytes
            )
        except WireError as error:  # the numbers of the two hellos do not fit
            link.lose(str(error))
            await connection.close(error.code, str(error))

    def _hello(self, link: Link) -> Hello:
        return Hello(
            node=self.name,
            boot=self.boot,
            link=link.id,
            expects=link.boot,
            got=link.got(),
            tick_s=self._pace.tick_s,
            build=__version__,
        )

    # --- the side that listens ------------------------------------------------------------------------------------------

    async def serve(self, connection: Connection) -> None:
        """Serve a connection that another node has opened."""
        try:
            theirs = await welcome(connection, self._answering, self._token_of)
            link = await self._taken_up(theirs)
        except WireError as error:
            self.note_incident(
                Incident(
                    kind="refused", address=connection.address, reason=str(error), path=LINK_PATH, status=error.code
                )
            )
            await connection.close(error.code, str(error))
            return
        await self._carried(link, connection, theirs)

    def _answering(self, theirs: Hello) -> Hello:
        link = self._known(theirs)
        got = (0, 0) if link is None else link.got()
        return Hello(
            node=self.name, boot=self.boot, link=theirs.link, got=got, tick_s=self._pace.tick_s, build=__version__
        )

    def _token_of(self, node: str) -> bytes:
        peer = self._peers.get(node, self._guests)
        return peer.token if peer is not None else secrets.token_bytes(32)

    def _known(self, theirs: Hello) -> Link | None:
        """Return the link of another node's hello; None if it is a new one, or of an earlier start of that node."""
        link = self._links.get((theirs.node, theirs.link))
        return link if link is not None and link.boot == theirs.boot else None

    async def _taken_up(self, theirs: Hello) -> Link:
        """Return the link that a node which has proven itself takes up, or begins.

        Raises:
            WireError: It cannot.
        """
        for each in self.links():
            if each.node == theirs.node and each.boot not in ("", theirs.boot):
                each.lose(f"node {each.node!r} has started anew")
        link = self._known(theirs)
        if link is not None:
            return link
        if tuple(theirs.got) != (0, 0) or theirs.expects not in ("", self.boot):
            raise WireError(BAD_NUMBER, "this link is not known here")
        if len(self._links) >= MAX_LINKS:
            raise WireError(_TRY_LATER, f"there are {MAX_LINKS} links")
        try:
            return await self._start(theirs.node, theirs.link, theirs.boot, None)
        except NameTaken:
            raise WireError(BAD_NUMBER, "another connection opens this link") from None

    def note_incident(self, incident: Incident) -> None:
        """Record a connection that was not let in, and report it."""
        self._refused.note(incident)
        if self._report is not None:
            self._report(incident)

    # --- links ----------------------------------------------------------------------------------------------------------

    async def _start(self, node: str, id_: str, boot: str, keep: Callable[[Link], Awaitable[object]] | None) -> Link:
        """Start the actor of a link, and return the link."""
        made: list[Link] = []
        peer = self._peers.get(node, self._guests)
        permit = LinkPermit() if peer is None else peer.permit

        def make(ctx: Context) -> Link:
            assert ctx.nursery is not None
            timers = ctx.ref.cell.shared.timers
            link = Link(
                node=node,
                id_=id_,
                boot=boot,
                codec=self._codec,
                published=self.published,
                pace=self._pace,
                nursery=ctx.nursery,
                recorder=self._runtime.recorder,
                on_lost=partial(self._lost, (node, id_), ctx.ref),
                after=lambda delay_s, function: timers.after(delay_s, function).cancel,
                permit=permit,
                records_frames=self._records_frames,
            )
            made.append(link)
            self._links[node, id_] = link
            if keep is not None:
                ctx.start_soon(keep, link)
            return link

        await self._supervisor.spawn(LinkActor, make, name=f"{node}-{id_[:8]}", spec=_TEMPORARY)
        return made[0]

    def _lost(self, key: tuple[str, str], ref: Ref[Any]) -> None:
        self._links.pop(key, None)
        ref.stop(why="the link is lost")

    async def close(self, *, timeout_s: float = CLOSE_S) -> None:
        """Close all links, as soon as the other nodes have everything that was sent. If cancelled, they are closed at once.

        Args:
            timeout_s: Time to wait, in seconds.
        """
        async with trio.open_nursery() as nursery:
            for link in self.links():
                nursery.start_soon(partial(link.close, timeout_s=timeout_s))

    def lose_links(self) -> None:
        """Lose all links at once."""
        for link in self.links():
            link.lose("the node closes")


_TEMPORARY: Final = ChildSpec(restart=Restart.TEMPORARY)


@asynccontextmanager
async def _listening(node: LinkNode, listen: Sequence[Tcp | UnixSocket], hosts: Sequence[str]) -> AsyncIterator[None]:
    """Take links wherever it is said, if anywhere."""
    if not listen:
        yield
        return
    upgrade = Upgrade(
        path=LINK_PATH,
        serve=node.serve,
        judge=lambda _: None,
        protocol=SUBPROTOCOL,
        max_bytes_before_proof=MAX_HELLO,
        max_bytes=MAX_MESSAGE,
        refuses_origins=True,
    )
    async with open_server([upgrade], listen=listen, hosts=hosts, report=node.note_incident) as server:
        node.addresses = server.addresses
        yield


@asynccontextmanager
async def open_node(
    runtime: Runtime,
    *,
    name: str,
    codec: MessageCodec | None = None,
    peers: Mapping[str, LinkPeer] | None = None,
    listen: Sequence[Tcp | UnixSocket] = (),
    hosts: Sequence[str] = (),
    pace: LinkPace | None = None,
    guests: LinkPeer | None = None,
    report: Callable[[Incident], None] | None = None,
    dial: Dial = dialled,
    records_frames: bool = False,
) -> AsyncIterator[LinkNode]:
    """Open a node until the block is left; then its links are closed, and nothing listens any more.

    Links wait at most 2 s for the other nodes to take what was sent; if the block is left by an error or cancelled, they do not wait.

    Args:
        runtime: The runtime whose actors may be published; links are actors below `remote` in it.
        name: Name of this node, which the others know it by.
        codec: Reads and writes messages; by default plain JSON values only.
        peers: The other nodes, by name.
        listen: Where links are taken; nowhere by default. Beyond this machine TLS is required.
        hosts: Further exact values of `Host` under which it is reached.
        pace: Times of links.
        guests: Nodes of any other name that know this token, such as the runs of one user; each may claim any of those names.
        report: Called with what a log should name.
        dial: Opens connections; by default WebSockets. Tests hand in connections in memory.
        records_frames: True to record each frame that crosses a link, for checks over the journals of all nodes.

    Raises:
        UsageError: A name, a token, an address or a place to listen cannot be used; the text says which.
    """
    check_peers(name, peers or {})
    supervisor = await runtime.spawn_supervisor("remote", escalates=False)
    node = LinkNode(
        runtime,
        supervisor,
        name=name,
        codec=codec or MessageCodec(),
        peers=peers or {},
        pace=pace or LinkPace(),
        dial=dial,
        records_frames=records_frames,
        guests=guests,
        report=report,
    )
    runtime.recorder.emit(NodeOpened(node=name, boot=node.boot, records_frames=records_frames))
    try:
        async with _listening(node, listen, hosts):
            yield node
            await node.close()
    finally:
        node.lose_links()
        runtime.recorder.emit(NodeClosed(node=name))
        supervisor.ref.stop(why="the node closes")
        with trio.CancelScope(shield=True), trio.move_on_after(CLOSE_S):
            await supervisor.ref.wait_ended()

"""Two runtimes and a link between them, over connections in memory that can be cut and silenced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, final

import attrs
import trio

import greenroom as gr
from greenroom.core import Event, event_of
from greenroom.remote.links._link import Link, LinkPace
from greenroom.remote.links._link_permits import ALL_VERBS, LinkPermit
from greenroom.remote.links._link_states import LinkChanged, LinkForbade, LinkState, RemoteMessageDied
from greenroom.remote.links._published_actors import PublishedActors
from greenroom.remote.links._remote_ref import RemoteRef
from greenroom.remote.wire._message_codec import MessageCodec
from greenroom.serving import ConnectionEnded

PACE = LinkPace(tick_s=5.0, resume_s=15.0)


@attrs.frozen
class Sum(gr.Request[int]):
    """Asks for the sum of all that was told."""


@attrs.frozen
class Wait(gr.Request[str]):
    """Asks for an answer that takes some time."""

    seconds: float


@attrs.frozen
class Fail(gr.Request[str]):
    """Asks for an error."""


CODEC = MessageCodec([Sum, Wait, Fail])


class Counter(gr.Behavior[Any]):
    """Adds what it is told, and remembers the order."""

    def __init__(self) -> None:
        self.told: list[int] = []

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        match message:
            case Sum():
                ctx.reply(sum(self.told))
            case Wait():
                await trio.sleep(message.seconds)
                ctx.reply("done")
            case Fail():
                raise ValueError("no luck")
            case _:
                self.told.append(message)


@final
class MemoryCarrier:
    """One end of a connection in memory."""

    def __init__(self) -> None:
        self._put, self._take = trio.open_memory_channel[str | bytes](64)
        self.other: MemoryCarrier
        self.closed: tuple[int, str] | None = None
        self.is_silent = False
        """True if what it sends is lost, without anybody being told."""

    async def receive(self) -> str | bytes:
        try:
            return await self._take.receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            code, reason = self.other.closed or (1006, "")
            raise ConnectionEnded(code, reason) from None

    async def send(self, message: str | bytes) -> None:
        await trio.lowlevel.checkpoint()
        if self.is_silent:
            return
        try:
            await self.other._put.send(message)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ConnectionEnded(1006) from None

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.closed = self.closed or (code, reason)
        self.other._put.close()  # the other end reads what is under way, then the code
        self._take.close()

    def cut(self) -> None:
        """Cut the connection; what is under way is lost."""
        for each in (self, self.other):
            each._put.close()
            each._take.close()


def carriers() -> tuple[MemoryCarrier, MemoryCarrier]:
    """Return both ends of a connection."""
    here, there = MemoryCarrier(), MemoryCarrier()
    here.other, there.other = there, here
    return here, there


@final
class Linked:
    """A runtime here and one there, with a link."""

    def __init__(self, here: gr.Runtime, there: gr.Runtime, nursery: trio.Nursery, permit: LinkPermit) -> None:
        self.here = here
        self.there = there
        self.nursery = nursery
        self.permit = permit
        self.published = PublishedActors()
        self.links = tuple(self._link(runtime, node) for runtime, node in ((here, "there"), (there, "here")))
        self.connection: tuple[MemoryCarrier, MemoryCarrier] | None = None

    def _link(self, runtime: gr.Runtime, node: str) -> Link:
        timers = runtime.root.cell.shared.timers
        return Link(
            node=node,
            id_="0" * 32,
            boot="1" * 32,
            codec=CODEC,
            published=self.published if runtime is self.there else PublishedActors(),
            pace=PACE,
            nursery=self.nursery,
            recorder=runtime.recorder,
            on_lost=lambda: None,
            after=lambda delay_s, function: timers.after(delay_s, function).cancel,
            permit=self.permit,
        )

    @property
    def link(self) -> Link:
        """The link as it is seen here."""
        return self.links[0]

    async def connect(self) -> tuple[MemoryCarrier, MemoryCarrier]:
        """Connect both sides anew, and wait until both know."""
        before = [link.statistics().connections for link in self.links]
        self.connection = ends = carriers()
        got = [link.got() for link in self.links]
        for side, link in enumerate(self.links):
            self.nursery.start_soon(partial(link.carry, ends[side], got=got[1 - side], tick_s=PACE.tick_s))
        while any(link.statistics().connections == count for link, count in zip(self.links, before, strict=True)):
            await trio.lowlevel.checkpoint()
        return ends

    async def cut(self) -> None:
        """Cut the connection, and wait until both sides know."""
        assert self.connection is not None
        self.connection[0].cut()
        for link in self.links:
            await link.wait_state(LinkState.BROKEN)

    async def lose(self) -> None:
        """Cut the connection for longer than the link allows."""
        await self.cut()
        await trio.sleep(PACE.resume_s + 1)

    async def publish(self, behavior: Any, *args: Any, **options: Any) -> tuple[RemoteRef[Any], gr.Ref[Any]]:
        """Start an actor there; return the reference of here, and its own."""
        own = await self.there.spawn(behavior, *args, **options)
        self.published.publish("actor", own)
        found = await self.link.find("actor")
        assert found is not None
        return found, own

    def events(self, *kinds: type[Event]) -> list[Event]:
        """Return the events of here of these kinds."""
        return [event_of(record) for record in self.here.recorder.latest() if record[2] in kinds]

    def dead(self) -> list[str]:
        """Return the reasons of the messages that died."""
        return [each.reason for each in self.events(RemoteMessageDied) if isinstance(each, RemoteMessageDied)]

    def forbidden(self) -> list[str]:
        """Return the permissions that this side lacked, as the journal of the other one names them."""
        records = (event_of(record) for record in self.there.recorder.latest() if record[2] is LinkForbade)
        return [each.verb for each in records if isinstance(each, LinkForbade)]

    def states(self) -> list[str]:
        """Return the states through which the link went here."""
        return [each.state for each in self.events(LinkChanged) if isinstance(each, LinkChanged)]


@asynccontextmanager
async def linked(*, is_connected: bool = True, permit: LinkPermit | None = None) -> AsyncIterator[Linked]:
    """Open two runtimes and a link between them; by default each may do everything."""
    permit = permit or LinkPermit(may=ALL_VERBS)
    async with gr.open_runtime() as here, gr.open_runtime() as there, trio.open_nursery() as nursery:
        both = Linked(here, there, nursery, permit)
        if is_connected:
            await both.connect()
        yield both
        nursery.cancel_scope.cancel()

"""Conformance kit for channels, as a class of tests: reading, sending, losing the connection, and leaving nothing behind.

    class TestOurChannel(ChannelConformance):
        def open_service(self):
            return open_our_scripted_server()

A channel is used through its port, and the service behind it through `ChannelService`. Time is virtual, so the service must be one
without sockets of the system: streams in memory, or a transport of the HTTP library that calls a function.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ClassVar, Final, Protocol, final

import attrs
import trio
import trio.testing

from greenroom.core import PeerError, open_bare_nursery
from greenroom.gateway.channels import Channel, ChannelHost, ChatRoute, Inbound, Outbound, SendResult

SETTLED_S: Final = 30.0
"""Virtual seconds after which everything that can happen by itself has happened."""
_MOMENTS: Final = 40
"""Number of moments at which the kit cancels and cuts."""


class ChannelService(Protocol):
    """A service with one account of the agent and one chat with a person, as a test drives it."""

    @property
    def route(self) -> ChatRoute:
        """The route to the chat."""

    @property
    def shown(self) -> list[str]:
        """The texts that the agent has sent to the chat, as a reader sees them, in order."""

    @property
    def open_connections(self) -> int:
        """The number of connections, and of requests without an answer."""

    def make(self) -> Channel:
        """Return a new channel for the account, as a new process would make it."""

    def write(self, text: str, *, is_program: bool = False) -> None:
        """Write a message to the agent; it is kept until the agent reads it if the service keeps messages."""

    def cut(self) -> None:
        """End all connections."""

    def set_up(self, *, is_up: bool) -> None:
        """Accept connections from now on, or refuse them."""


@final
@attrs.define(eq=False)
class HostLog:
    """A host for a channel, and what it was told."""

    heard: list[Inbound] = attrs.field(factory=list)
    cursor: str = ""
    connected: trio.Event = attrs.field(factory=trio.Event)
    hear_first: Callable[[Inbound], Awaitable[None]] | None = None
    """Called before a message counts as stored."""

    def host(self) -> ChannelHost:
        """Return the host."""
        return ChannelHost(
            hear=self._hear,
            connected=self.connected.set,
            save_cursor=self._save_cursor,
            cursor=self.cursor,
            may_invite=lambda _: True,
        )

    @property
    def texts(self) -> list[str]:
        """The texts that were heard."""
        return [inbound.text for inbound in self.heard]

    async def _hear(self, inbound: Inbound) -> None:
        if self.hear_first is not None:
            await self.hear_first(inbound)
        await trio.lowlevel.checkpoint()
        self.heard.append(inbound)

    async def _save_cursor(self, cursor: str) -> None:
        await trio.lowlevel.checkpoint()
        self.cursor = cursor


class ChannelConformance:
    """Subclass it with a name that the test runner collects, and implement `open_service`."""

    keeps_messages: ClassVar[bool] = True
    """False for a service that gives a message only to who is connected, and only once."""
    tells_programs: ClassVar[bool] = True
    """False if the service cannot tell messages of programs."""

    def open_service(self) -> AbstractAsyncContextManager[ChannelService]:
        """Open a service with one chat."""
        raise NotImplementedError

    def _run(self, scenario: Callable[[ChannelService], Awaitable[None]]) -> None:
        async def main() -> None:
            async with self.open_service() as service:
                await scenario(service)
                await trio.sleep(SETTLED_S)
                assert service.open_connections == 0, "a connection was left behind"

        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))

    # --- reading ----------------------------------------------------------------------------------------------------

    def test_messages_come_in_order_and_once(self) -> None:
        """Messages are handed in one after the other, each once, each with an id of its own, on the route of the chat."""

        async def scenario(service: ChannelService) -> None:
            log, open_hearings = HostLog(), 0

            async def slowly(_: Inbound) -> None:
                nonlocal open_hearings
                open_hearings += 1
                assert open_hearings == 1, "two messages were handed in at once"
                await trio.sleep(0.1)
                open_hearings -= 1

            log.hear_first = slowly
            async with trio.open_nursery() as nursery:
                nursery.start_soon(service.make().run, log.host())
                await log.connected.wait()
                for number in range(20):
                    service.write(f"message {number}")
                await trio.sleep(SETTLED_S)
                nursery.cancel_scope.cancel()
            assert log.texts == [f"message {number}" for number in range(20)]
            assert len({inbound.id for inbound in log.heard}) == 20
            assert {inbound.route for inbound in log.heard} == {service.route}

        self._run(scenario)

    def test_a_message_is_acknowledged_only_when_it_is_durable(self) -> None:
        """A message that was not stored comes again with the same id, to the next process too, and no other one is lost."""
        if not self.keeps_messages:
            return

        async def scenario(service: ChannelService) -> None:
            log, ids = HostLog(), []

            async def never_third(inbound: Inbound) -> None:
                if len(log.heard) == 2:
                    ids.append(inbound.id)
                    await trio.sleep_forever()

            log.hear_first = never_third
            async with trio.open_nursery() as nursery:
                nursery.start_soon(service.make().run, log.host())
                await log.connected.wait()
                for number in range(5):
                    service.write(f"message {number}")
                await trio.sleep(SETTLED_S)
                nursery.cancel_scope.cancel()
            later = HostLog(cursor=log.cursor)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(service.make().run, later.host())
                await trio.sleep(SETTLED_S)
                nursery.cancel_scope.cancel()
            assert later.texts[-3:] == ["message 2", "message 3", "message 4"], "a message was lost"
            assert later.heard[-3].id == ids[0], "a message has another id when it comes again"
            first = {inbound.id for inbound in log.heard}
            assert {inbound.id for inbound in later.heard[:-3]} <= first, "a message came again under another id"

        self._run(scenario)

    def test_what_was_read_and_not_stored_outlives_the_connection(self) -> None:
        """A message that waits to be stored while the connection ends is handed in all the same, once it can be."""

        async def scenario(service: ChannelService) -> None:
            log, gate, channel = HostLog(), trio.Event(), service.make()
            log.hear_first = lambda _: gate.wait()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_run_again, channel, log)
                await log.connected.wait()
                for number in range(3):
                    service.write(f"message {number}")
                await trio.sleep(SETTLED_S)
                service.cut()
                await trio.sleep(SETTLED_S)
                gate.set()
                await trio.sleep(10 * SETTLED_S)
                nursery.cancel_scope.cancel()
            texts = list(dict.fromkeys((inbound.id, inbound.text) for inbound in log.heard))
            assert [text for _, text in texts] == ["message 0", "message 1", "message 2"]

        self._run(scenario)

    def test_programs_and_own_messages_begin_nothing(self) -> None:
        """A message of a program is marked or not handed in, and what the agent says itself never comes in."""

        async def scenario(service: ChannelService) -> None:
            log, channel = HostLog(), service.make()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.run, log.host())
                await log.connected.wait()
                service.write("a person")
                await trio.sleep(SETTLED_S)
                assert (await channel.send(_part(service, "the agent"))).result is SendResult.TAKEN
                if self.tells_programs:
                    service.write("a program", is_program=True)
                await trio.sleep(SETTLED_S)
                nursery.cancel_scope.cancel()
            assert [inbound.text for inbound in log.heard if not inbound.sender.is_program] == ["a person"]

        self._run(scenario)

    # --- sending ----------------------------------------------------------------------------------------------------

    def test_parts_are_shown_once_and_in_order(self) -> None:
        """Each part that was taken is shown once, in order; a second try with the same key is shown once where keys are taken."""

        async def scenario(service: ChannelService) -> None:
            channel = service.make()
            async with _connected(channel):
                tries = 2 if channel.traits.takes_keys else 1
                for number in range(8):
                    for _ in range(tries):
                        receipt = await channel.send(_part(service, f"part {number}"))
                        assert (receipt.result, receipt.why) == (SendResult.TAKEN, "")
            assert service.shown == [f"part {number}" for number in range(8)]

        self._run(scenario)

    def test_a_part_of_the_greatest_length_arrives_whole(self) -> None:
        """A text as long as the channel says that it may be is taken, and arrives whole, line breaks and cuts aside."""

        async def scenario(service: ChannelService) -> None:
            channel = service.make()
            text = "ä" * (channel.traits.limit // channel.traits.measure("ä"))
            async with _connected(channel):
                receipt = await channel.send(_part(service, text))
            assert receipt.result is SendResult.TAKEN, receipt.why
            assert "".join("".join(service.shown).split()) == text

        self._run(scenario)

    def test_no_text_is_a_command(self) -> None:
        """Whatever stands in a text is shown as text, and the connection stays usable."""

        async def scenario(service: ChannelService) -> None:
            channel = service.make()
            async with _connected(channel):
                for text in ("a\r\nQUIT :b", "\0x", "\x01VERSION\x01", "/quit", "<b>x</b>", "\ud800", "@room"):
                    assert (await channel.send(_part(service, text))).result is SendResult.TAKEN, text
                await trio.sleep(SETTLED_S)
                assert service.open_connections > 0
            assert "/quit" in service.shown
            assert "<b>x</b>" in service.shown

        self._run(scenario)

    def test_without_a_connection_a_part_fails(self) -> None:
        """Before the connection stands, and while the service is down, a try fails and shows nothing."""

        async def scenario(service: ChannelService) -> None:
            service.set_up(is_up=False)
            receipt = await service.make().send(_part(service, "nobody reads it"))
            assert receipt.result is SendResult.FAILED
            assert receipt.why
            assert service.shown == []

        self._run(scenario)

    def test_a_connection_cut_while_sending_shows_nothing_twice(self) -> None:
        """Whenever the connection ends, a part that is repeated only where that is allowed is never shown twice."""

        async def scenario(service: ChannelService) -> None:
            channel, sent = service.make(), []
            async with trio.open_nursery() as nursery:
                log = HostLog()
                nursery.start_soon(_run_again, channel, log)
                await log.connected.wait()
                for moment in range(_MOMENTS):
                    part = _part(service, f"part {moment}")
                    sent.append(part.text)
                    nursery.start_soon(_cut_after, service, moment % 10)
                    receipt = await channel.send(part)
                    while receipt.result is SendResult.FAILED or (
                        receipt.result is SendResult.UNKNOWN and channel.traits.takes_keys
                    ):
                        await trio.sleep(SETTLED_S)
                        receipt = await channel.send(part)
                    if receipt.result is SendResult.TAKEN:
                        assert service.shown.count(part.text) == 1, f"taken at moment {moment}, and not shown once"
                    await trio.sleep(SETTLED_S)
                nursery.cancel_scope.cancel()
            assert len(service.shown) == len(set(service.shown)), "a part was shown twice"
            if channel.traits.takes_keys:
                assert service.shown == sent

        self._run(scenario)

    # --- the connection ---------------------------------------------------------------------------------------------

    def test_a_loss_is_an_error_and_the_channel_connects_again(self) -> None:
        """`run` raises `PeerError` when the service is down or goes away, and can be called again."""

        async def scenario(service: ChannelService) -> None:
            channel = service.make()
            service.set_up(is_up=False)
            await _lost(channel, HostLog())
            service.set_up(is_up=True)
            for _ in range(2):
                log = HostLog()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_lost, channel, log)
                    await log.connected.wait()
                    service.cut()
                    service.set_up(is_up=False)
                service.set_up(is_up=True)
            async with _connected(channel):
                assert (await channel.send(_part(service, "back"))).result is SendResult.TAKEN

        self._run(scenario)

    def test_a_cancel_at_any_moment_leaves_no_connection(self) -> None:
        """Whenever it is cancelled, while it connects, reads, stores or sends, nothing is left."""

        async def scenario(service: ChannelService) -> None:
            for steps in range(_MOMENTS):
                channel, log = service.make(), HostLog()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(channel.run, log.host())
                    for step in range(steps):
                        if step == _MOMENTS // 2:
                            service.write("a message")
                            nursery.start_soon(channel.send, _part(service, f"text {steps}"))
                        await trio.lowlevel.checkpoint()
                    nursery.cancel_scope.cancel()
                await trio.testing.wait_all_tasks_blocked()
                assert service.open_connections == 0, f"cancelled after {steps} steps, it left a connection"

        self._run(scenario)


@asynccontextmanager
async def _connected(channel: Channel) -> AsyncIterator[None]:
    log = HostLog()
    async with open_bare_nursery() as nursery:
        nursery.start_soon(channel.run, log.host())
        try:
            await log.connected.wait()
            yield
        finally:
            nursery.cancel_scope.cancel()


def _part(service: ChannelService, text: str) -> Outbound:
    return Outbound(route=service.route, key=f"key of {text[:40]!r}", text=text)


async def _run_again(channel: Channel, log: HostLog) -> None:
    while True:
        try:
            await channel.run(log.host())
        except PeerError:
            await trio.sleep(1)


async def _lost(channel: Channel, log: HostLog) -> None:
    try:
        with trio.fail_after(1_000):
            await channel.run(log.host())
    except PeerError:
        return
    raise AssertionError("run returned although the service has gone")


async def _cut_after(service: ChannelService, steps: int) -> None:
    for _ in range(steps):
        await trio.lowlevel.checkpoint()
    service.cut()

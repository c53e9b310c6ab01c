"""Chats for tests of trust: configurations with one account, messages, and a reception over fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final, cast

import attrs

from greenroom.gateway.config._channels import ChannelsConfig, IrcChannel
from greenroom.gateway.config._clock_and_limits import CommandsConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._seams import Keepers, NewInput
from greenroom.gateway.record._gateway_events import SessionMade
from greenroom.gateway.record._gateway_journal import GatewayRecord, open_gateway_journal
from greenroom.gateway.record._run_events import DeliveryDue, InboundAccepted
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, PeerKind, Sender
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.trust._group_context import GroupContext
from greenroom.gateway.trust._pairing import PairingDesk
from greenroom.gateway.trust._reception import CommandCaller, Reception
from greenroom.store import MemoryInboxStore
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, make_ports, unlocked

NOW_S: Final = 1_800_000_000.0
OWNER: Final = "irc:ann"


def configured(*, owners: tuple[str, ...] = (OWNER,), **account: Any) -> GatewayConfig:
    """Return a configuration with one IRC account."""
    irc = IrcChannel(host="irc.test", nick="agent", **account)
    return GatewayConfig(channels=ChannelsConfig(irc=irc), commands=CommandsConfig(owner_allow_from=owners))


def with_account(config: GatewayConfig, **changes: Any) -> GatewayConfig:
    """Return a configuration whose IRC account is changed."""
    irc = config.channels.irc
    assert irc is not None
    return attrs.evolve(config, channels=attrs.evolve(config.channels, irc=attrs.evolve(irc, **changes)))


def direct(sender: str, text: str = "hello", *, id: str = "m1", **changes: Any) -> Inbound:  # noqa: A002 - the field's name
    """Return a direct message."""
    who = Sender(
        id=sender, **{name: changes.pop(name) for name in ("name", "assurance", "is_program") if name in changes}
    )
    return Inbound(route=ChatRoute(channel="irc", peer=sender), sender=who, id=id, text=text, **changes)


def said_in(room: str, sender: str, text: str = "hello", **changes: Any) -> Inbound:
    """Return a message of a group."""
    inbound = direct(sender, text, **changes)
    return attrs.evolve(inbound, route=attrs.evolve(inbound.route, peer=room, kind=PeerKind.GROUP))


@attrs.define
class FakeKeepers:
    """Sessions that keep their inputs."""

    record: GatewayRecord
    inputs: list[tuple[str, NewInput]] = attrs.field(factory=list)
    busy: set[str] = attrs.field(factory=set)
    known: set[str] = attrs.field(factory=set)
    failure: Exception | None = None

    async def put(self, key: SessionKey, new: NewInput) -> bool:
        if self.failure is not None:
            raise self.failure
        if new.id in self.known:
            return False
        self.known.add(new.id)
        self.inputs.append((str(key), new))
        route = {} if new.route is None else new.route.to_json()
        if str(key) not in self.record.registry.sessions:
            await self.record.write(SessionMade(at_s=NOW_S, session=str(key), session_id=f"s{len(self.known)}"))
        await self.record.write(InboundAccepted(at_s=NOW_S, item=new.id, session=str(key), route=route))
        return True

    def is_busy(self, key: str) -> bool:
        return key in self.busy


@attrs.define
class Chats:
    """A reception over fakes, and everything that it did."""

    config: GatewayConfig
    record: GatewayRecord
    disk: MemoryDisk
    store: MemoryInboxStore = attrs.field(
        default=attrs.Factory(
            lambda chats: MemoryInboxStore(lambda: datetime.fromtimestamp(chats.now_s, UTC)), takes_self=True
        )
    )
    now_s: float = NOW_S
    posts: list[tuple[ChatRoute, str, str]] = attrs.field(factory=list)
    commands: list[tuple[str, str, CommandCaller]] = attrs.field(factory=list)
    keepers: FakeKeepers = attrs.field(init=False)
    reception: Reception = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.keepers = FakeKeepers(self.record)
        self.reception = Reception(
            config=lambda: self.config,
            record=self.record,
            keepers=cast("Keepers", self.keepers),
            context=GroupContext(self.store, lambda: self.now_s),
            pairing=PairingDesk(record=self.record, key="a key", wall=lambda: self.now_s),
            run_command=self.run_command,
            answer=self.answer,
            wall=lambda: self.now_s,
        )

    async def run_command(self, key: SessionKey, text: str, caller: CommandCaller) -> str:
        self.commands.append((str(key), text, caller))
        return f"did {text}"

    async def answer(self, route: ChatRoute, text: str, item: str) -> None:
        due = DeliveryDue(at_s=self.now_s, delivery=f"post:{item}", route=route.to_json(), text=text, call=item)
        await self.record.write(due)
        self.posts.append((route, self.reception.pairing.reveal(due.delivery, text), item))

    @property
    def texts(self) -> list[str]:
        """The texts that sessions were given."""
        return [new.text for _, new in self.keepers.inputs]


@asynccontextmanager
async def open_chats(config: GatewayConfig, disk: MemoryDisk | None = None) -> AsyncIterator[Chats]:
    """Open a reception over a journal in memory."""
    disk = disk or MemoryDisk()
    async with open_gateway_journal(FOLDER, ports=make_ports(disk), lock=unlocked) as record:
        yield Chats(config, record, disk)

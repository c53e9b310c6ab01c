"""Channel accounts: back-off, independence, events, and intake that is shut."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock

from greenroom.core import JournalError, UsageError
from greenroom.gateway.channels import (
    Channel,
    ChannelHost,
    ChannelTraits,
    ChatRoute,
    Inbound,
    Outbound,
    SendReceipt,
    WasSent,
)
from greenroom.gateway.channels._account_state import (
    ACCOUNT,
    STABLE_S,
    AccountState,
    AccountStep,
    losses_after,
    step_account,
    wait_after_loss,
)
from greenroom.gateway.channels._accounts import AccountView, ChannelAccounts, ChannelUses, connection_of
from greenroom.gateway.channels._make_channel import make_channel
from greenroom.gateway.config._channels import (
    AccountConfig,
    ChannelsConfig,
    IrcAccount,
    IrcChannel,
    PluginAccount,
    PluginChannel,
    TelegramAccount,
)
from greenroom.gateway.config._values import Secret
from greenroom.gateway.record._gateway_events import EVENTS, ChannelConnected, ChannelCursor, ChannelLost
from greenroom.gateway.record._gateway_journal import GatewayRecord, open_gateway_journal
from greenroom.supervisor import open_runtime
from greenroom.trace import JOURNAL, read_journal
from tests.gateway.channels.irc_server import ScriptedIrc, open_scripted_irc
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, make_ports, unlocked

ON_IRC = ChannelsConfig(irc=IrcChannel(host="one", nick="agent", accounts={"second": IrcAccount(host="two", nick="b")}))


@attrs.define(eq=False)
class Gateway:
    """Accounts over servers in memory, one a host name."""

    servers: dict[str, ScriptedIrc]
    record: GatewayRecord
    disk: MemoryDisk
    heard: list[Inbound] = attrs.field(factory=list)
    connected: list[tuple[str, str]] = attrs.field(factory=list)
    hear_first: Callable[[Inbound], Awaitable[None]] | None = None
    channel: Channel | None = None
    """The channel of every account; by default each has one to its server."""
    accounts: ChannelAccounts = attrs.field(init=False)

    async def hear(self, inbound: Inbound) -> None:
        if self.hear_first is not None:
            await self.hear_first(inbound)
        await trio.lowlevel.checkpoint()
        self.heard.append(inbound)

    def make(self, channel: str, account: str, settings: AccountConfig) -> Channel:
        if self.channel is not None:
            return self.channel
        if not isinstance(settings, IrcAccount):
            raise UsageError(f"the channel {channel} is not available in this version")
        return self.servers[settings.host].make(account)

    def view(self, account: str = "default") -> AccountView:
        return next(view for view in self.accounts.state() if view.account == account)

    def events(self, kind: type[Any]) -> list[Any]:
        entries = read_journal(FOLDER / JOURNAL, EVENTS, disk=self.disk).entries
        return [entry.event for entry in entries if isinstance(entry.event, kind)]


@asynccontextmanager
async def open_gateway() -> AsyncIterator[Gateway]:
    disk = MemoryDisk()
    ports = make_ports(disk)
    async with (
        open_scripted_irc() as one,
        open_scripted_irc() as two,
        open_gateway_journal(FOLDER, ports=ports, lock=unlocked) as record,
        open_runtime(ports=ports, recorder=record.journal.recorder) as runtime,
    ):
        gateway = Gateway({"one": one, "two": two}, record, disk)
        uses = ChannelUses(
            record=record,
            ports=ports,
            hear=gateway.hear,
            on_connected=lambda *names: gateway.connected.append(names),
        )
        gateway.accounts = ChannelAccounts(await runtime.spawn_supervisor("channels"), gateway.make, uses)
        yield gateway


# --- decisions --------------------------------------------------------------------------------------------------------


def test_only_the_table_moves_a_state() -> None:
    for state in AccountState:
        assert step_account(state, AccountStep.STOP) is AccountState.STOPPED
        for edge in AccountStep:
            if edge not in ACCOUNT[state]:
                with pytest.raises(Exception, match=str(edge)):
                    step_account(state, edge)


def test_waits_grow_from_a_second_to_five_minutes() -> None:
    waits = [wait_after_loss(losses, 0.0) for losses in range(1, 200)]

    assert waits[:4] == [1.0, 2.0, 4.0, 8.0]
    assert waits == sorted(waits)
    assert waits[-1] == 300.0
    assert all(wait_after_loss(losses, 0.99) <= 300.0 for losses in range(1, 200))


def test_losses_are_forgotten_after_a_stable_connection() -> None:
    assert losses_after(7, None) == 8
    assert losses_after(7, STABLE_S - 1) == 8
    assert losses_after(7, STABLE_S) == 1


# --- accounts ---------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A26-a")
async def test_a_server_that_is_down_is_tried_later_and_later(autojump_clock: MockClock) -> None:
    """RC-116: an account connects again after a while, whatever its channel raised."""
    async with open_gateway() as gateway:
        down, up = gateway.servers["one"], gateway.servers["two"]
        down.is_up = False
        await gateway.accounts.reload(ON_IRC)
        seen = []
        for _ in range(5):
            seen.append((gateway.view().losses, gateway.view().is_degraded))
            await trio.sleep(2 ** len(seen) - 1.0)
        await trio.sleep(3_600)

        gaps = [later - sooner for sooner, later in zip(down.attempts, down.attempts[1:], strict=False)]
        assert gaps[0] >= 1.0
        assert all(later >= sooner * 0.99 for sooner, later in itertools.pairwise(gaps))
        assert gaps[-1] == pytest.approx(300.0)
        assert gateway.view().is_degraded
        assert not seen[1][1]
        assert gateway.view("second").state is AccountState.CONNECTED
        assert len(up.attempts) == 1, "another account was taken along"

        down.is_up = True
        await trio.sleep(301)
        assert gateway.view().state is AccountState.CONNECTED
        assert not gateway.view().is_degraded
        assert gateway.view().error == ""


async def test_connections_and_losses_are_on_record(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        await gateway.accounts.reload(ON_IRC)
        await trio.sleep(1)
        gateway.servers["one"].cut()
        await trio.sleep(10)
        await gateway.record.journal.commit()

        lost = gateway.events(ChannelLost)
        assert [(event.channel, event.account) for event in lost] == [("irc", "default")]
        assert "closed the connection" in lost[0].why
        names = [(event.channel, event.account) for event in gateway.events(ChannelConnected)]
        assert sorted(names) == [("irc", "default"), ("irc", "default"), ("irc", "second")]
        assert gateway.connected == names


async def test_an_error_of_a_channel_concerns_its_account_alone(autojump_clock: MockClock) -> None:
    async def fail(inbound: Inbound) -> None:
        if inbound.text == "poison":
            raise RuntimeError("a mistake")

    async with open_gateway() as gateway:
        gateway.hear_first = fail
        await gateway.accounts.reload(ON_IRC)
        await trio.sleep(1)
        gateway.servers["one"].write("poison")
        await trio.sleep(1)
        assert gateway.view().state is AccountState.WAITING
        assert "a mistake" in gateway.view().error

        gateway.servers["two"].write("hello")
        await trio.sleep(1)
        assert [inbound.text for inbound in gateway.heard] == ["hello"]
        assert gateway.view("second").heard_s > 0


async def test_one_account_stops_and_starts_while_the_others_stand(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        await gateway.accounts.reload(ON_IRC)
        await trio.sleep(1)
        standing = gateway.servers["two"].visits[0]

        await gateway.accounts.stop("irc", "default")
        assert gateway.servers["one"].visits == []
        assert gateway.accounts.find("irc", "default") is None
        assert gateway.view().state is AccountState.STOPPED
        await gateway.accounts.start("irc", "default")
        await trio.sleep(1)

        assert len(gateway.servers["one"].visits) == 1
        assert gateway.servers["two"].visits == [standing]
        assert gateway.accounts.find("irc", "default") is not None


async def test_a_reload_reconnects_only_what_has_changed(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        await gateway.accounts.reload(ON_IRC)
        await trio.sleep(1)
        one, two = gateway.servers["one"].visits[0], gateway.servers["two"].visits[0]
        irc = ON_IRC.irc
        assert irc is not None

        narrowed = attrs.evolve(irc, allow_from=("ann",), dm_policy="allowlist")
        await gateway.accounts.reload(ChannelsConfig(irc=narrowed))
        await trio.sleep(1)
        assert gateway.servers["one"].visits == [one], "a change of who may write reconnected the account"

        renamed = attrs.evolve(narrowed, nick="other")
        await gateway.accounts.reload(ChannelsConfig(irc=renamed))
        await trio.sleep(1)
        assert gateway.servers["one"].visits != [one]
        assert gateway.servers["two"].visits == [two]

        await gateway.accounts.reload(ChannelsConfig(irc=attrs.evolve(renamed, enabled=False)))
        await trio.sleep(1)
        assert gateway.servers["one"].visits == []
        assert gateway.servers["two"].visits == [two]
        assert [view.account for view in gateway.accounts.state()] == ["second"]


async def test_nothing_is_handed_in_while_intake_is_shut(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        await gateway.accounts.reload(ON_IRC)
        await trio.sleep(1)
        own = gateway.accounts.intake_of("irc", "default")
        assert own is not None
        own.shut("1,000 deliveries are due")
        gateway.accounts.intake.shut("stopping")
        for server in gateway.servers.values():
            server.write("hello")
        await trio.sleep(10)
        assert gateway.heard == []

        gateway.accounts.intake.reopen("stopping")
        await trio.sleep(10)
        assert [inbound.route.account for inbound in gateway.heard] == ["second"]
        assert gateway.view("second").heard_s > 0
        assert gateway.view().heard_s == 0
        assert own.reasons == ("1,000 deliveries are due",)

        own.reopen("1,000 deliveries are due")
        await trio.sleep(10)
        assert gateway.view().heard_s > 0
        assert len(gateway.heard) == 2


async def test_a_message_is_handed_in_again_until_it_can_be_stored(autojump_clock: MockClock) -> None:
    """GW-08: a message is acknowledged outside after the call that stores it has returned."""
    tries = 0

    async def full(_: Inbound) -> None:
        nonlocal tries
        tries += 1
        if tries < 5:
            raise JournalError("journal.jsonl", "no space left on device")

    async with open_gateway() as gateway:
        gateway.hear_first = full
        await gateway.accounts.reload(ON_IRC)
        await trio.sleep(1)
        gateway.servers["one"].write("hello")
        await trio.sleep(2)
        assert "no space left" in gateway.view().error
        assert gateway.heard == []
        await trio.sleep(10)

        assert [inbound.text for inbound in gateway.heard] == ["hello"]
        assert gateway.view().state is AccountState.CONNECTED


async def test_an_account_that_cannot_be_made_is_reported_and_the_others_run(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        plugins = {"pigeon": PluginChannel(accounts={"a": PluginAccount()})}
        await gateway.accounts.reload(attrs.evolve(ON_IRC, plugins=plugins))
        await trio.sleep(1)

        view = gateway.view("a")
        assert (view.state, view.error) == (
            AccountState.STOPPED,
            "the channel pigeon is not available in this version",
        )
        assert gateway.view().state is AccountState.CONNECTED
        with pytest.raises(UsageError, match="pigeon"):
            await gateway.accounts.start("pigeon", "a")
        with pytest.raises(UsageError, match="no channel account"):
            await gateway.accounts.stop("pigeon", "b")


class Lines:
    """A channel whose service gives a mark with each message."""

    traits = ChannelTraits(limit=100)

    def __init__(self) -> None:
        self.cursors: list[str] = []

    async def run(self, host: ChannelHost) -> None:
        self.cursors.append(host.cursor)
        host.connected()
        await host.save_cursor(str(int(host.cursor or "0") + 1))
        await trio.sleep_forever()

    async def send(self, part: Outbound) -> SendReceipt:
        raise NotImplementedError

    async def was_sent(self, key: str) -> WasSent:
        raise NotImplementedError

    async def show_typing(self, route: ChatRoute, *, is_typing: bool) -> None:
        raise NotImplementedError


async def test_a_saved_cursor_is_given_to_the_next_connection(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        channel = Lines()
        gateway.channel = channel
        await gateway.accounts.reload(ON_IRC)
        await trio.sleep(1)
        await gateway.accounts.stop("irc", "default")
        await gateway.accounts.start("irc", "default")
        await trio.sleep(1)

        assert channel.cursors == ["", "", "1"]
        assert gateway.record.registry.services.cursors == {"irc": {"default": "2", "second": "1"}}
        assert [event.cursor for event in gateway.events(ChannelCursor)] == ["1", "1", "2"]


def test_settings_of_people_are_not_settings_of_the_connection() -> None:
    assert set(connection_of(IrcChannel())) == set(connection_of(IrcAccount()))
    assert not set(connection_of(IrcAccount())) & {field.name for field in attrs.fields(AccountConfig)}
    assert {"host", "nick", "password", "channels"} <= set(connection_of(IrcAccount()))


# --- channels of packages ---------------------------------------------------------------------------------------------


def _made(settings: AccountConfig, channel: str = "pigeon") -> Channel:
    return make_channel(channel, "a", settings, ports=make_ports(MemoryDisk()), read_secret=_no_secret)


def test_a_channel_of_a_package_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "pigeon_post-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pigeon-post\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[greenroom.channels]\npigeon = pigeon_post_module:make\nbroken = pigeon_post_module:gone\n"
    )
    (tmp_path / "pigeon_post_module.py").write_text("def make(**given):\n    return given\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    made: Any = _made(PluginAccount(options={"loft": 3}))

    assert (made["channel"], made["account"], made["options"]) == ("pigeon", "a", {"loft": 3})
    assert set(made) == {"channel", "account", "options", "ports"}
    with pytest.raises(UsageError, match="cannot make the channel 'broken' of pigeon_post_module:gone"):
        _made(PluginAccount(), "broken")


def test_a_channel_that_nobody_brings_is_refused() -> None:
    with pytest.raises(UsageError, match="no installed package brings the channel 'pigeon'"):
        _made(PluginAccount())
    with pytest.raises(UsageError, match="not available"):
        _made(TelegramAccount(), "telegram")
    with pytest.raises(UsageError, match="tls"):
        make_channel(
            "irc",
            "a",
            IrcAccount(host="irc.example.org", nick="a", tls=False, password=_secret()),
            ports=make_ports(MemoryDisk()),
            read_secret=_no_secret,
        )


async def _no_secret(_: Secret) -> str:
    raise NotImplementedError


def _secret() -> Secret:
    return Secret("text", ("hunter2",))

"""The channel accounts of a gateway: each an actor that keeps one account connected.

Rule 1: an account that fails, for whatever reason, is tried again after 1 s to 5 minutes, and concerns no other account. Rule 2: while
intake is shut, or the record cannot take a message, nothing more is handed in, so nothing is acknowledged outside. Rule 3: starting,
stopping and changing one account leaves the connections of the others standing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final, Never, TypeAlias, final

import attrs
import trio

from greenroom.actors import Behavior, Context, Ref
from greenroom.core import JournalError, Level, NameTaken, UsageError
from greenroom.core.ports import Ports
from greenroom.core.texts import message_of, printable_text, single_error
from greenroom.gateway.channels._account_state import (
    DEGRADED_FROM,
    AccountState,
    AccountStep,
    losses_after,
    step_account,
    wait_after_loss,
)
from greenroom.gateway.channels._channel import Channel, ChannelHost
from greenroom.gateway.config._channels import AccountConfig, ChannelsConfig
from greenroom.gateway.record._gateway_events import ChannelConnected, ChannelCursor, ChannelLost
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.routing._chat_messages import Inbound
from greenroom.supervisor import ChildSpec, Restart, Supervisor

AccountKey: TypeAlias = tuple[str, str]
"""Names of a channel and of its account."""
MakeAccount: TypeAlias = Callable[[str, str, AccountConfig], Channel]
"""Makes the channel of an account, given both names and its settings; raises `UsageError` if that is not possible."""
HEAR_AGAIN_S: Final = 1.0
"""Time between two tries to store a message that the record could not take."""
_KILL_GRACE_S: Final = 5.0
_WHY_CHARS: Final = 500


@final
@attrs.frozen(kw_only=True)
class AccountView:
    """The state of an account, for health and lists."""

    channel: str
    account: str
    state: AccountState
    is_degraded: bool
    """True from the third loss in a row."""
    losses: int
    """Losses in a row."""
    error: str
    """The last error; empty if it is connected and has had none since."""
    connected_s: float
    """When it was connected, as seconds since 1970; 0 if it is not."""
    heard_s: float
    """When its last message came in; 0 for none."""


@final
class Intake:
    """A gate for messages from outside; it may be shut for several reasons at once."""

    def __init__(self) -> None:
        self._reasons: set[str] = set()
        self._is_open = trio.Event()
        self._is_open.set()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is shut; empty if it is open."""
        return tuple(sorted(self._reasons))

    def shut(self, why: str) -> None:
        """Hand in nothing more from now on; a message that is being handed in is finished."""
        if not self._reasons:
            self._is_open = trio.Event()
        self._reasons.add(why)

    def reopen(self, why: str) -> None:
        """Withdraw a reason; without any, messages are handed in again."""
        self._reasons.discard(why)
        if not self._reasons:
            self._is_open.set()

    async def wait_open(self) -> None:
        """Return when no reason is left."""
        while self._reasons:
            await self._is_open.wait()


@final
@attrs.define(eq=False, kw_only=True)
class _Account:
    """An account and its present state."""

    key: AccountKey
    settings: AccountConfig
    channel: Channel | None = None
    ref: Ref[Never] | None = None
    state: AccountState = AccountState.STOPPED
    losses: int = 0
    error: str = ""
    connected_s: float = 0.0
    heard_s: float = 0.0
    intake: Intake = attrs.field(factory=Intake)

    def move(self, edge: AccountStep) -> None:
        self.state = step_account(self.state, edge)
        if self.state is not AccountState.CONNECTED:
            self.connected_s = 0.0


@final
@attrs.frozen(kw_only=True)
class ChannelUses:
    """The parts of the gateway that channel accounts use."""

    record: GatewayRecord
    ports: Ports
    hear: Callable[[Inbound], Awaitable[None]]
    """Returns when a message is durable, or is not wanted; raises `JournalError` if it cannot be stored."""
    on_connected: Callable[[str, str], object] = lambda _channel, _account: None
    """Called with channel and account when it is connected: what waits for it may be sent."""
    may_invite: Callable[[str, str, str], bool] = lambda _channel, _account, _sender: False
    """True if an account of a channel follows the invitation of a person."""


@final
class ChannelActor(Behavior[Never]):
    """An actor that keeps one account connected; it takes no messages."""

    actor_tasks = True
    journal: ClassVar[Level] = Level.LIFECYCLE

    def __init__(self, account: _Account, uses: ChannelUses, intake: Intake) -> None:
        self._account = account
        self._uses = uses
        self._intake = intake

    async def on_start(self, ctx: Context) -> None:
        """Start to connect; connecting continues after the start."""
        ctx.start_soon(self._keep, name=f"channel {'/'.join(self._account.key)}")

    async def on_message(self, message: Never, ctx: Context) -> None:
        """Ignore the message: a channel account takes none."""

    async def _keep(self) -> None:
        account = self._account
        try:
            account.move(AccountStep.START)
            while True:
                why, stood_s = await self._connect()
                self._lose(why, stood_s)
                await trio.sleep(wait_after_loss(account.losses, self._uses.ports.chance.random()))
                account.move(AccountStep.RETRY)
        finally:
            account.move(AccountStep.STOP)

    def _now_s(self) -> float:
        return self._uses.ports.clock.wall().timestamp()

    async def _connect(self) -> tuple[str, float | None]:
        """Connect once, and return why that ended and how long it stood."""
        channel, name = self._account.channel, self._account.key
        assert channel is not None
        stood_from: float | None = None

        def connected() -> None:
            nonlocal stood_from
            is_new = stood_from is None
            stood_from = trio.current_time() if stood_from is None else stood_from
            self._account.move(AccountStep.CONNECT)
            if is_new:
                self._account.connected_s, self._account.error = self._now_s(), ""
                self._uses.record.emit(ChannelConnected(channel=name[0], account=name[1], at_s=self._now_s()))
                self._uses.on_connected(*name)

        cursors = self._uses.record.registry.services.cursors
        host = ChannelHost(
            hear=self._hear,
            connected=connected,
            save_cursor=self._save_cursor,
            cursor=cursors.get(name[0], {}).get(name[1], ""),
            may_invite=lambda sender: self._uses.may_invite(*name, sender),
        )
        try:
            await channel.run(host)
            why = "the channel has ended"
        except Exception as error:  # noqa: BLE001 - whatever a channel raises, it concerns this account alone
            why = _words(error)
        return why, None if stood_from is None else trio.current_time() - stood_from

    def _lose(self, why: str, stood_s: float | None) -> None:
        account = self._account
        account.losses = losses_after(account.losses, stood_s)
        account.error = printable_text(why)[:_WHY_CHARS]
        account.move(AccountStep.LOSE)
        channel, name = account.key
        self._uses.record.emit(ChannelLost(channel=channel, account=name, why=account.error, at_s=self._now_s()))

    async def _hear(self, inbound: Inbound) -> None:
        """Hand a message in, as soon as it can be stored."""

        async def hear() -> None:
            await self._intake.wait_open()
            await self._account.intake.wait_open()
            await self._uses.hear(inbound)

        await self._until_stored(hear)
        self._account.heard_s = self._now_s()

    async def _save_cursor(self, cursor: str) -> None:
        channel, account = self._account.key
        event = ChannelCursor(channel=channel, account=account, cursor=cursor, at_s=self._now_s())
        await self._until_stored(lambda: self._uses.record.write(event))

    async def _until_stored(self, store: Callable[[], Awaitable[None]]) -> None:
        """Call again until the record takes it: a full disk may have room again."""
        while True:
            try:
                await store()
            except JournalError as error:
                self._account.error = printable_text(message_of(error))[:_WHY_CHARS]
                await trio.sleep(HEAR_AGAIN_S)
            else:
                return


def _words(error: BaseException) -> str:
    error = single_error(error, or_first=True)
    return message_of(error) or type(error).__name__


@final
class ChannelAccounts:
    """All channel accounts of a gateway.

    Args:
        supervisor: The supervisor that the accounts are started under.
        make: Makes the channel of an account.
        uses: What accounts use of the gateway.
    """

    def __init__(self, supervisor: Supervisor, make: MakeAccount, uses: ChannelUses) -> None:
        self._supervisor = supervisor
        self._make = make
        self._uses = uses
        self._accounts: dict[AccountKey, _Account] = {}
        self._changing = trio.Lock()
        self.intake = Intake()
        """The gate of all accounts together."""

    def find(self, channel: str, account: str) -> Channel | None:
        """Return the channel of an account, connected or not; None if it is stopped or unknown."""
        found = self._accounts.get((channel, account))
        return None if found is None or found.ref is None else found.channel

    def intake_of(self, channel: str, account: str) -> Intake | None:
        """Return the gate of one account; None if it is unknown."""
        found = self._accounts.get((channel, account))
        return None if found is None else found.intake

    def state(self) -> tuple[AccountView, ...]:
        """Return the present state of all accounts that are configured, by channel and name."""
        return tuple(
            AccountView(
                channel=key[0],
                account=key[1],
                state=each.state,
                is_degraded=each.losses >= DEGRADED_FROM and each.state is not AccountState.CONNECTED,
                losses=each.losses,
                error=each.error,
                connected_s=each.connected_s,
                heard_s=each.heard_s,
            )
            for key, each in sorted(self._accounts.items())
        )

    async def reload(self, channels: ChannelsConfig) -> None:
        """Start, stop and change accounts so that they are those of a configuration; the first call starts them all.

        An account whose connection settings are unchanged keeps its connection. Returns before connections are established.
        """
        wanted = {key: settings for key, settings in channels.accounts().items() if settings.enabled}
        async with self._changing:
            for key, account in list(self._accounts.items()):
                settings = wanted.get(key)
                if settings is not None and connection_of(settings) == connection_of(account.settings):
                    account.settings = settings
                    continue
                await self._stop(account, "its settings have changed" if settings is not None else "it was removed")
                del self._accounts[key]
            for key, settings in wanted.items():
                if key not in self._accounts:
                    self._accounts[key] = _Account(key=key, settings=settings)
                    await self._start(self._accounts[key])

    async def start(self, channel: str, account: str) -> None:
        """Start an account that was stopped; returns before it is connected. No effect if it runs.

        Raises:
            UsageError: It is not configured, or cannot be made.
        """
        async with self._changing:
            found = self._known(channel, account)
            if found.ref is None:
                await self._start(found)
                if found.ref is None:
                    raise UsageError(f"cannot start {channel}/{account}: {found.error}")

    async def stop(self, channel: str, account: str) -> None:
        """Stop an account until it is started again; returns when nothing of its connection is left.

        Raises:
            UsageError: It is not configured.
        """
        async with self._changing:
            await self._stop(self._known(channel, account), "it was stopped")

    def _known(self, channel: str, account: str) -> _Account:
        try:
            return self._accounts[channel, account]
        except KeyError:
            raise UsageError(f"no channel account {channel}/{account} is configured") from None

    async def _start(self, account: _Account) -> None:
        account.losses, account.error = 0, ""
        try:
            account.channel = self._make(*account.key, account.settings)
        except UsageError as error:
            account.error = message_of(error)
            return
        spec = ChildSpec(restart=Restart.TRANSIENT, kill_grace_s=_KILL_GRACE_S)
        arguments = (account, self._uses, self.intake)
        name = "-".join(account.key).replace("/", "-")
        try:
            account.ref = await self._supervisor.spawn(ChannelActor, *arguments, name=name, spec=spec)
        except NameTaken:  # names that differ in one replaced character
            account.ref = await self._supervisor.spawn(ChannelActor, *arguments, spec=spec)

    async def _stop(self, account: _Account, why: str) -> None:
        ref, account.ref = account.ref, None
        if ref is not None:
            ref.kill(why)
            await ref.wait_ended()
        account.channel = None


def connection_of(settings: AccountConfig) -> Mapping[str, Any]:
    """Return the settings that a connection depends on: those that say who may write are not among them."""
    policy = {field.name for field in attrs.fields(AccountConfig)} | {"accounts"}
    return {
        field.name: getattr(settings, field.name) for field in attrs.fields(type(settings)) if field.name not in policy
    }

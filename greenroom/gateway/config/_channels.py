"""Settings of channels: who may write, in which chats, and how each channel is reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, final

import attrs

from greenroom.gateway.config._agents import ToolRules
from greenroom.gateway.config._values import Port, Range, Secret, Text

DEFAULT_ACCOUNT = "default"
"""The account of a channel that names none."""


@final
@attrs.frozen(kw_only=True)
class GroupConfig:
    """One group."""

    require_mention: bool = True
    """True if only messages that address the agent begin a turn."""
    allow_from: tuple[Text, ...] | None = None
    """People who may write in it; by default as `groupAllowFrom`."""
    tools: ToolRules = ToolRules()  # noqa: RUF009  frozen
    """Tools of its session."""
    agent_id: Text | None = None
    """Its agent; by default as the bindings say."""


@attrs.frozen(kw_only=True)
class AccountConfig:
    """What all accounts have: who may write."""

    enabled: bool = True
    """False to leave it unconnected."""
    dm_policy: Literal["pairing", "allowlist", "open", "disabled"] = "pairing"
    """Direct messages of people who are not in `allowFrom`: they get a code, nothing, are accepted, or nobody is."""
    allow_from: tuple[Text, ...] = ()
    """People who may write direct messages; `*` for everybody, which `open` requires."""
    group_policy: Literal["allowlist", "open", "disabled"] = "allowlist"
    """Groups: those in `groups`, all, or none."""
    group_allow_from: tuple[Text, ...] = ()
    """People who may write in groups that do not say it; empty for everybody there."""
    groups: Mapping[str, GroupConfig] = attrs.field(factory=dict)
    """Groups by their ids; `*` for all that have no entry."""


@attrs.frozen(kw_only=True)
class IrcAccount(AccountConfig):
    """An account of an IRC server."""

    host: str = ""
    """The server."""
    port: Port | None = None
    """Its port; by default 6697, without `tls` 6667."""
    tls: bool = True
    """False to connect without encryption, which is possible only on this machine where a password is sent."""
    nick: str = ""
    """The name of the agent there; required."""
    username: str = ""
    """Account for SASL; by default the nick."""
    password: Secret | None = None
    """Password for SASL."""
    channels: tuple[Text, ...] = ()
    """Channels to join."""
    owners_by_mask: bool = False
    """True if `nick!user@host` is enough to be an owner. Anybody who takes the nick may then be one."""


@final
@attrs.frozen(kw_only=True)
class IrcChannel(IrcAccount):
    """IRC. With one account, its settings stand here; further ones in `accounts`."""

    accounts: Mapping[str, IrcAccount] = attrs.field(factory=dict)
    """Accounts by their names."""

    @property
    def each_account(self) -> Mapping[str, IrcAccount]:
        """All accounts by their names."""
        return self.accounts if self.accounts and not self.host else {DEFAULT_ACCOUNT: self, **self.accounts}


@attrs.frozen(kw_only=True)
class MatrixAccount(AccountConfig):
    """An account of a Matrix server."""

    homeserver: str = ""
    """Address of the server, with `https`; without it only on this machine."""
    user_id: str = ""
    """The agent's id there, such as `@agent:example.org`; required."""
    access_token: Secret | None = None
    """Its token; or a password."""
    password: Secret | None = None
    """Its password, used to get a token."""
    device_name: str = "greenroom"
    """Name of the login."""


@final
@attrs.frozen(kw_only=True)
class MatrixChannel(MatrixAccount):
    """Matrix. With one account, its settings stand here; further ones in `accounts`."""

    accounts: Mapping[str, MatrixAccount] = attrs.field(factory=dict)
    """Accounts by their names."""

    @property
    def each_account(self) -> Mapping[str, MatrixAccount]:
        """All accounts by their names."""
        return self.accounts if self.accounts and not self.homeserver else {DEFAULT_ACCOUNT: self, **self.accounts}


@attrs.frozen(kw_only=True)
class TelegramAccount(AccountConfig):
    """A bot of Telegram."""

    bot_token: Secret | None = None
    """Its token; required."""
    api_url: str = "https://api.telegram.org"
    """Address of the Bot API."""
    poll_seconds: Annotated[int, Range(1, 50)] = 30
    """Seconds that a request waits for messages."""


@final
@attrs.frozen(kw_only=True)
class TelegramChannel(TelegramAccount):
    """Telegram. With one bot, its settings stand here; further ones in `accounts`."""

    accounts: Mapping[str, TelegramAccount] = attrs.field(factory=dict)
    """Bots by their names."""

    @property
    def each_account(self) -> Mapping[str, TelegramAccount]:
        """All accounts by their names."""
        is_only_others = self.accounts and self.bot_token is None
        return self.accounts if is_only_others else {DEFAULT_ACCOUNT: self, **self.accounts}


@final
@attrs.frozen(kw_only=True)
class PluginAccount(AccountConfig):
    """An account of a channel that a package brings."""

    options: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """Settings of the channel's own."""


@final
@attrs.frozen(kw_only=True)
class PluginChannel:
    """A channel that a package brings."""

    accounts: Mapping[str, PluginAccount] = attrs.field(factory=dict)
    """Accounts by their names."""

    @property
    def each_account(self) -> Mapping[str, PluginAccount]:
        """All accounts by their names."""
        return self.accounts


@final
@attrs.frozen(kw_only=True)
class ChannelsConfig:
    """Channels. One that is not named here is not connected; the page and the terminal are always there."""

    irc: IrcChannel | None = None
    """IRC."""
    matrix: MatrixChannel | None = None
    """Matrix."""
    telegram: TelegramChannel | None = None
    """Telegram."""
    plugins: Mapping[str, PluginChannel] = attrs.field(factory=dict)
    """Channels that packages bring, by their names."""

    def accounts(self) -> Mapping[tuple[str, str], AccountConfig]:
        """Return all accounts by channel and name."""
        named: dict[str, IrcChannel | MatrixChannel | TelegramChannel | PluginChannel | None] = {
            "irc": self.irc,
            "matrix": self.matrix,
            "telegram": self.telegram,
            **self.plugins,
        }
        return {
            (channel, account): settings
            for channel, each in named.items()
            if each is not None
            for account, settings in each.each_account.items()
        }

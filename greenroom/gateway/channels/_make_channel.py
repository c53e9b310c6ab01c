"""The channel of an account: one that comes with greenroom, or one of a package, found by its entry point."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Final

from greenroom.core import UsageError
from greenroom.core.ports import Ports
from greenroom.core.texts import error_text
from greenroom.gateway.channels._channel import Channel
from greenroom.gateway.channels._irc import IrcClient, ReadSecret
from greenroom.gateway.channels._matrix import MatrixClient
from greenroom.gateway.config._channels import AccountConfig, IrcAccount, MatrixAccount, PluginAccount

GROUP: Final = "greenroom.channels"
"""The group of entry points under which packages name their channels."""


def make_channel(
    channel: str, account: str, settings: AccountConfig, *, ports: Ports, read_secret: ReadSecret
) -> Channel:
    """Return the channel of an account; nothing is connected yet.

    Args:
        channel: Name of the channel, as in the configuration.
        account: Name of its account.
        settings: The account's settings.
        ports: Time, ids and threads.
        read_secret: Reads a password or a token, at each connection anew.

    Raises:
        UsageError: The settings cannot be used, or no package brings this channel.
    """
    match settings:
        case IrcAccount():
            return IrcClient(account, settings, ports=ports, read_secret=read_secret)
        case MatrixAccount():
            return MatrixClient(account, settings, ports=ports, read_secret=read_secret)
        case PluginAccount():
            return _from_package(channel, account, settings, ports)
    raise UsageError(f"the channel {channel} is not available in this version")


def _from_package(channel: str, account: str, settings: PluginAccount, ports: Ports) -> Channel:
    found = _entry_points(channel)
    if len(found) != 1:
        problem = "no installed package brings" if not found else "several packages bring"
        raise UsageError(f"{problem} the channel {channel!r} (entry points of the group {GROUP})")
    try:
        make = found[0].load()
        made: Channel = make(channel=channel, account=account, options=settings.options, ports=ports)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"cannot make the channel {channel!r} of {found[0].value}: {error_text(error)}") from error
    return made


def _entry_points(name: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP, name=name))

"""Senders of messages: kinds, owners, the names that models read, and the class of a session by who writes to it.

Rule 1: an owner is known by channel and id, never by name; an id that others can take counts only where the configuration says so.
Rule 2: a name is data: it is cut, on one line, without brackets and quotes, and always followed by the id in brackets of the gateway's.
Must not know: clock, sessions.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from greenroom.gateway.config._agents import ToolRules
from greenroom.gateway.config._channels import IrcAccount
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.policy._tool_policy import OriginClass
from greenroom.gateway.routing._chat_messages import Assurance, Inbound, Sender
from greenroom.gateway.routing._message_routing import ANY, account_of, names_of, person_name
from greenroom.gateway.routing._session_key import (
    CronSession,
    DirectSession,
    MainSession,
    RoomSession,
    SessionKey,
    SubagentSession,
    key_name,
)

MAX_SHOWN_NAME: Final = 64
"""Characters of a name that are shown to models."""
_MAX_SHOWN_ID: Final = 100
_MAX_DEPTH: Final = 16
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters without a shape of their own: controls, direction marks, surrogates, and those that nobody has defined."""
_BRACKETS: Final = frozenset({"Ps", "Pe", "Pi", "Pf"})
_SIGNS: Final = frozenset("<>\"'`&|\\")


class SenderKind(StrEnum):
    """Kinds of senders."""

    OPERATOR = "operator"
    """A client of the gateway."""
    OWNER = "owner"
    """The user, in a chat."""
    PERSON = "person"
    """Somebody who may write."""
    STRANGER = "stranger"
    """Everybody else."""

    @property
    def is_user(self) -> bool:
        """True if its words are the user's."""
        return self in {SenderKind.OPERATOR, SenderKind.OWNER}


def is_owner(config: GatewayConfig, inbound: Inbound) -> bool:
    """True if a message is an owner's: by one of the names that are linked to the sender's id."""
    sender = inbound.sender
    if sender.assurance is Assurance.MASK:
        account = account_of(config, inbound)
        if not (isinstance(account, IrcAccount) and account.owners_by_mask):
            return False
    names = names_of(config, inbound.route.channel, sender.id)
    return any(name in config.commands.owner_allow_from for name in names if name != ANY)


def shown_sender(channel: str, sender: Sender, *, kind: SenderKind) -> str:
    """Return a sender as models read it: `Ann (irc:ann, not an owner)`."""
    name = shown_name(sender.name) or "somebody"
    about = "owner" if kind is SenderKind.OWNER else "not an owner"
    return f"{name} ({channel}:{_shown_id(sender.id)}, {about})"


def shown_name(name: str) -> str:
    """Return a name from outside on one line, without controls, brackets and quotes, and with at most 64 characters."""
    plain = unicodedata.normalize("NFKC", "".join(map(_plain, name[: 8 * MAX_SHOWN_NAME])))
    # Normal forms may hold what the original did not, such as the brackets of U+2474.
    return " ".join("".join(map(_plain, plain)).split())[:MAX_SHOWN_NAME].strip()


def _plain(sign: str) -> str:
    category = unicodedata.category(sign)
    if category in _DROPPED:
        return " " if sign.isspace() else ""
    return " " if category in _BRACKETS or sign in _SIGNS or sign.isspace() else sign


def _shown_id(id_: str) -> str:
    """Return an id for people; what cannot be shown is written as in session keys, so that two ids stay two."""
    name = key_name(id_)
    shown = "".join(sign if _plain(sign) == sign else f"%{ord(sign):02X}" for sign in name)
    return shown if len(shown) <= _MAX_SHOWN_ID else f"{shown[: _MAX_SHOWN_ID - 1]}…"


# --- classes of sessions ----------------------------------------------------------------------------------------------


def origin_class_of(
    config: GatewayConfig, key: SessionKey, *, spawned_by: Callable[[str], str] = lambda _: ""
) -> OriginClass:
    """Return the class of a session by who can write to it: it is an owner's only if nobody else can.

    Args:
        config: The configuration.
        key: The session.
        spawned_by: Returns the key of the session that a sub-agent was spawned by; empty if unknown, and then the class is `group`.
    """
    for _ in range(_MAX_DEPTH):
        if not isinstance(key.rest, SubagentSession):
            break
        parent = spawned_by(str(key))
        if not parent:
            return "group"
        key = SessionKey.parse(parent)
    match key.rest:
        case MainSession():
            return _main_class(config)
        case DirectSession() as direct:
            return "owner" if _is_owners(config, direct) else "people"
        case CronSession():
            return "owner"
        case RoomSession() | SubagentSession():
            return "group"
    return "people"


def _main_class(config: GatewayConfig) -> OriginClass:
    is_global = config.session.scope == "global"
    if is_global and any(
        account.group_policy == "open" or (account.group_policy == "allowlist" and account.groups)
        for account in config.channels.accounts().values()
    ):
        return "group"
    return "people" if (is_global or config.session.dm_scope == "main") and _others_may_write(config) else "owner"


def _others_may_write(config: GatewayConfig) -> bool:
    owners = config.commands.owner_allow_from
    return any(
        account.dm_policy in {"pairing", "open"}
        or (account.dm_policy == "allowlist" and any(f"{channel}:{each}" not in owners for each in account.allow_from))
        for (channel, _), account in config.channels.accounts().items()
    )


def _is_owners(config: GatewayConfig, direct: DirectSession) -> bool:
    """True if only an owner can write to a session of direct messages."""
    for owner in config.commands.owner_allow_from:
        for name in names_of(config, *owner.split(":", 1)) if ":" in owner else ():
            channel, _, id_ = name.partition(":")
            peer = id_ if direct.channel else person_name(config, channel, id_)
            if direct.channel in {"", channel} and direct.peer == key_name(peer):
                names = (name,) if direct.channel else names_of(config, channel, id_)
                return all(_is_certain(config, each) for each in names)
    return False


def _is_certain(config: GatewayConfig, name: str) -> bool:
    """True if an id can be taken by nobody but the person that it is of."""
    channel, _, id_ = name.partition(":")
    if channel == "irc":
        accounts = config.channels.irc.each_account.values() if config.channels.irc is not None else ()
        return "!" not in id_ or all(account.owners_by_mask for account in accounts)
    return channel in {"matrix", "telegram"}


def room_rules_of(
    config: GatewayConfig, key: SessionKey, *, spawned_by: Callable[[str], str] = lambda _: ""
) -> ToolRules | None:
    """Return the rules for the tools of a group's session, and of what descends from it; None for all other sessions.

    A key does not name the account: where several accounts of a channel are in a group, what any of them denies is denied.

    Args:
        config: The configuration.
        key: The session.
        spawned_by: As for `origin_class_of`.
    """
    for _ in range(_MAX_DEPTH):
        if not isinstance(key.rest, SubagentSession):
            break
        parent = spawned_by(str(key))
        if not parent:
            return None
        key = SessionKey.parse(parent)
    room = key.rest
    if not isinstance(room, RoomSession):
        return None
    found = [
        named.get(room.peer) or account.groups.get(ANY)
        for (channel, _), account in config.channels.accounts().items()
        if channel == room.channel
        for named in [{key_name(name): group for name, group in account.groups.items() if name != ANY}]
    ]
    rules = [group.tools for group in found if group is not None]
    allows = [each.allow for each in rules if each.allow is not None]
    # Of several lists of allowed tools, the first one holds: two of them cannot be said as one.
    return ToolRules(allow=allows[0] if allows else None, deny=tuple(name for each in rules for name in each.deny))

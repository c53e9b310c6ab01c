"""Routing of messages: the agent and the session key of each.

Rule 1: every message has exactly one key, which depends on nothing but the configuration and what the channel says about the message.
Rule 2: the messages of different people share a key only where the configuration says so. Rule 3: text and names are never looked at.
Must not know: policies, sessions, the clock.
"""

from __future__ import annotations

from typing import Final, Literal

from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._channels import AccountConfig, GroupConfig
from greenroom.gateway.config._checks import agents_of, default_agent
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import Binding
from greenroom.gateway.routing._chat_messages import Inbound, PeerKind
from greenroom.gateway.routing._session_key import SessionKey, direct_key, main_key, room_key

_TOPICS: Final = frozenset({"telegram"})
"""Channels whose threads are topics."""
_ROOM: Final[dict[PeerKind, Literal["group", "channel"]]] = {PeerKind.GROUP: "group", PeerKind.CHANNEL: "channel"}
ANY: Final = "*"
"""Everybody, or every group, in a list."""


def account_of(config: GatewayConfig, inbound: Inbound) -> AccountConfig | None:
    """Return the settings of the account that a message came to; None if there is none, or it is off."""
    account = config.channels.accounts().get((inbound.route.channel, inbound.route.account))
    return account if account is not None and account.enabled else None


def group_of(account: AccountConfig, inbound: Inbound) -> GroupConfig | None:
    """Return the settings of a message's group: its own, else those of `*`; None if neither is there."""
    return account.groups.get(inbound.route.peer) or account.groups.get(ANY)


def agent_for(config: GatewayConfig, inbound: Inbound) -> str:
    """Return the id of the agent of a message: of its group's settings, else of the first of the most specific bindings, else the
    default one.
    """
    account = account_of(config, inbound)
    group = group_of(account, inbound) if account is not None and inbound.route.kind is not PeerKind.DIRECT else None
    if group is not None and group.agent_id is not None:
        return _known(config, group.agent_id)
    fitting = [binding for binding in config.bindings if _fits(binding, inbound)]
    best = max(fitting, key=_precision, default=None)  # of equals, the first
    return default_agent(config) if best is None else _known(config, best.agent_id)


def route_key(config: GatewayConfig, inbound: Inbound, *, is_owner: bool) -> SessionKey:
    """Return the session key of a message.

    Args:
        config: The configuration.
        inbound: The message.
        is_owner: True if it is an owner's.
    """
    agent, route = agent_for(config, inbound), inbound.route
    if config.session.scope == "global":
        return main_key(agent)
    if route.kind is not PeerKind.DIRECT:
        is_topic = route.channel in _TOPICS
        return room_key(agent, route.channel, _ROOM[route.kind], route.peer, thread=route.thread, is_topic=is_topic)
    match config.session.dm_scope:
        case "main":
            return main_key(agent)
        case "owner-main" if is_owner:
            return main_key(agent)
        case "per-peer":
            return direct_key(agent, person_name(config, route.channel, inbound.sender.id))
        case "per-account-channel-peer":
            return direct_key(agent, inbound.sender.id, channel=route.channel, account=route.account)
        case _:
            return direct_key(agent, inbound.sender.id, channel=route.channel)


def names_of(config: GatewayConfig, channel: str, sender: str) -> tuple[str, ...]:
    """Return the names, each as `channel:id`, of the person with that id: the others are those that the configuration links to it."""
    name = f"{channel}:{sender}"
    for linked in config.session.identity_links.values():
        if name in linked:
            return linked
    return (name,)


def person_name(config: GatewayConfig, channel: str, sender: str) -> str:
    """Return the name under which a person is one on all channels: that of the links, else `channel:id`.

    A linked name that has a colon gets another one in front, so that it is never the `channel:id` of somebody else.
    """
    name = f"{channel}:{sender}"
    for linked_name, linked in config.session.identity_links.items():
        if name in linked:
            return f":{linked_name}" if ":" in linked_name else linked_name
    return name


def _known(config: GatewayConfig, agent: str) -> str:
    """Return an agent id in its one form; the default agent's if there is no such agent."""
    wanted = normal_agent_id(agent)
    return wanted if wanted in agents_of(config) else default_agent(config)


def _fits(binding: Binding, inbound: Inbound) -> bool:
    match, route = binding.match, inbound.route
    if match.channel != route.channel or match.account_id not in {None, route.account}:
        return False
    if match.peer is None:
        return True
    peer = inbound.sender.id if route.kind is PeerKind.DIRECT else route.peer
    return match.peer.kind == route.kind.value and match.peer.id == peer


def _precision(binding: Binding) -> tuple[bool, bool]:
    return binding.match.peer is not None, binding.match.account_id is not None

"""Routing: the agent and the session key of each message."""

from __future__ import annotations

from typing import Any, Final, get_args

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.gateway.config._agents import AgentConfig, AgentsConfig
from greenroom.gateway.config._channels import ChannelsConfig, GroupConfig, PluginAccount, PluginChannel
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import Binding, BindingMatch, DmScope, PeerMatch, SessionConfig
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, PeerKind, Sender
from greenroom.gateway.routing._message_routing import agent_for, route_key
from greenroom.gateway.routing._session_key import SessionKey

AGENTS: Final = AgentsConfig(
    list=tuple(AgentConfig(id=each, default=each == "main") for each in ("main", "a", "b", "c", "d"))
)
NAMES: Final = st.sampled_from(
    [
        "a:b",
        "a%3Ab",
        "a",
        "A",
        "dm",
        "main",
        "ann",
        ":ann",
        "irc:a",
        "\u05d0\u202e",
        "\U0001f600",
        "x" * 300,
        "x" * 299 + "y",
        " ",
    ]
)
ROUTES: Final = st.builds(
    ChatRoute,
    channel=st.sampled_from(["irc", "matrix", "telegram"]),
    account=st.sampled_from(["default", "a:b", "dm"]),
    kind=st.sampled_from(PeerKind),
    peer=NAMES,
    thread=st.just("") | NAMES,
)
INBOUND: Final = st.builds(
    lambda route, sender: Inbound(route=route, sender=Sender(id=sender), id="m", text="t"), ROUTES, NAMES
)
SCOPES: Final = st.sampled_from(get_args(DmScope))
LINKS: Final = {"ann": ("irc:a", "matrix:A"), "irc:ann": ("telegram:a",)}


def configured(scope: Any = "owner-main", **more: Any) -> GatewayConfig:
    return GatewayConfig(agents=AGENTS, session=SessionConfig(dm_scope=scope, identity_links=LINKS), **more)


def person(inbound: Inbound) -> str:
    name = f"{inbound.route.channel}:{inbound.sender.id}"
    return next((linked for linked, names in LINKS.items() if name in names), f"-{name}")


def shares(one: Inbound, other: Inbound, scope: str) -> bool:
    """True if two messages, of people other than owners, may share a session: said without keys."""
    a, b = one.route, other.route
    if PeerKind.DIRECT not in {a.kind, b.kind}:
        return (a.channel, a.kind, a.peer, a.thread) == (b.channel, b.kind, b.peer, b.thread)
    if a.kind is not b.kind:
        return False
    same = one.sender.id == other.sender.id
    return {
        "main": True,
        "per-peer": person(one) == person(other),
        "per-account-channel-peer": same and (a.channel, a.account) == (b.channel, b.account),
    }.get(scope, same and a.channel == b.channel)


@pytest.mark.promise("A24-a")
@given(INBOUND, INBOUND, SCOPES)
@example(
    Inbound(route=ChatRoute(channel="irc", peer="x"), sender=Sender(id="ann"), id="m", text="t"),
    Inbound(route=ChatRoute(channel="telegram", peer="x"), sender=Sender(id="a"), id="m", text="t"),
    "per-peer",
)
def test_messages_share_a_session_only_where_the_scope_says_so(one: Inbound, other: Inbound, scope: DmScope) -> None:
    config = configured(scope)
    keys = [route_key(config, each, is_owner=False) for each in (one, other)]

    assert (keys[0] == keys[1]) == shares(one, other, scope)
    assert [SessionKey.parse(str(key)) for key in keys] == keys


@pytest.mark.promise("A24-b")
@given(INBOUND)
def test_an_owner_has_one_session_on_all_channels(inbound: Inbound) -> None:
    mine = attrs.evolve(inbound, route=attrs.evolve(inbound.route, kind=PeerKind.DIRECT))

    assert str(route_key(configured(), mine, is_owner=True)) == "agent:main:main"
    assert str(route_key(configured(), mine, is_owner=False)) != "agent:main:main"


@given(INBOUND, NAMES)
def test_a_thread_has_a_session_of_its_own(inbound: Inbound, thread: str) -> None:
    chat = attrs.evolve(inbound.route, kind=PeerKind.GROUP, thread="")
    keys = {
        str(route_key(configured(), attrs.evolve(inbound, route=attrs.evolve(chat, thread=each)), is_owner=False))
        for each in ("", thread)
    }

    assert len(keys) == 2


BINDINGS: Final = st.lists(
    st.builds(
        Binding,
        agent_id=st.sampled_from(["a", "b", "c", "d", "gone"]),
        match=st.builds(
            BindingMatch,
            channel=st.sampled_from(["irc", "matrix"]),
            account_id=st.none() | st.sampled_from(["default", "dm"]),
            peer=st.none() | st.builds(PeerMatch, kind=st.sampled_from(["direct", "group", "channel"]), id=NAMES),
        ),
    ),
    max_size=6,
).map(tuple)


@given(BINDINGS, INBOUND)
def test_the_first_of_the_most_specific_bindings_decides(bindings: tuple[Binding, ...], inbound: Inbound) -> None:
    """Chats before accounts before channels; said as three searches, one after the other."""
    route = inbound.route
    peer = inbound.sender.id if route.kind is PeerKind.DIRECT else route.peer
    mine = [each for each in bindings if each.match.channel == route.channel]
    mine = [each for each in mine if each.match.account_id in {None, route.account}]
    of_peer = [each for each in mine if each.match.peer == PeerMatch(kind=route.kind.value, id=peer)]
    of_account = [each for each in mine if each.match.peer is None and each.match.account_id]
    of_channel = [each for each in mine if each.match.peer is None and not each.match.account_id]
    # Of two for one chat, that which names the account as well is the more specific one.
    of_peer.sort(key=lambda each: each.match.account_id is None)
    expected = next((each.agent_id for found in (of_peer, of_account, of_channel) for each in found), "main")

    assert agent_for(configured(bindings=bindings), inbound) == ("main" if expected == "gone" else expected)


def test_the_agent_of_a_group_is_that_of_its_settings() -> None:
    account = PluginAccount(groups={"#a": GroupConfig(agent_id="B"), "*": GroupConfig(agent_id="c")})
    channels = ChannelsConfig(plugins={"chat": PluginChannel(accounts={"default": account})})
    bindings = (Binding(agent_id="d", match=BindingMatch(channel="chat", peer=PeerMatch(kind="group", id="#a"))),)
    config = configured(channels=channels, bindings=bindings)

    found = [
        agent_for(
            config,
            Inbound(route=ChatRoute(channel="chat", kind=kind, peer=peer), sender=Sender(id="#a"), id="m", text=""),
        )
        for kind, peer in ((PeerKind.GROUP, "#a"), (PeerKind.GROUP, "#b"), (PeerKind.DIRECT, "#a"))
    ]
    assert found == ["b", "c", "main"]


def test_one_session_for_everybody_is_the_main_one() -> None:
    config = attrs.evolve(configured(), session=SessionConfig(scope="global"))
    message = Inbound(
        route=ChatRoute(channel="irc", kind=PeerKind.GROUP, peer="#a"), sender=Sender(id="a"), id="m", text=""
    )

    assert str(route_key(config, message, is_owner=False)) == "agent:main:main"

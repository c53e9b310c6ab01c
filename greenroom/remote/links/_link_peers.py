"""Other nodes, as one node knows them: their tokens, addresses and permissions."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import final

import attrs

from greenroom.core import UsageError
from greenroom.remote.links._dialling import read_address
from greenroom.remote.links._link_permits import LinkPermit
from greenroom.remote.wire import check_node_name, check_token


@final
@attrs.frozen(kw_only=True)
class LinkPeer:
    """Another node, as this one knows it."""

    token: bytes = attrs.field(repr=False, converter=check_token)
    """The secret of both nodes: at least 32 random bytes. It never crosses a connection."""
    address: str = ""
    """Where it listens: `unix:/path`, `http://127.0.0.1:port` or `https://host:port`; empty if only it connects."""
    tls: ssl.SSLContext | None = attrs.field(default=None, repr=False)
    """Certificates that count for `https`; by default those of the system."""
    permit: LinkPermit = attrs.field(factory=LinkPermit)
    """Permissions with actors of this node; by default `tell`, `ask` and `watch` those that are published."""


def check_peers(name: str, peers: Mapping[str, LinkPeer]) -> None:
    """Raise UsageError if a name or an address cannot be used."""
    try:
        for each in (name, *peers):
            check_node_name(each)
    except ValueError as error:
        raise UsageError(str(error)) from None
    for peer in peers.values():
        if peer.address:
            read_address(peer.address)

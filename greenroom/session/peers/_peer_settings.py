"""Settings of what a session knows beyond itself: other sessions, and hosts on which its agents may work."""

from __future__ import annotations

from typing import Literal, final

import attrs

from greenroom.core.validation import checked, positive


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class PeerSettings:
    """Letters from other sessions."""

    inbound: Literal["accept", "hold", "refuse"] = "refuse"
    """Whether the main agent reads them, a person has to release each, or none is taken."""
    socket: str = ""
    """The path of a Unix socket on which letters are taken too; empty for none."""
    sockets: tuple[str, ...] = ()
    """Paths of sockets of other sessions, such as those of other projects, that `ListAgents` shows."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class HostAddress:
    """A host, as this session knows it."""

    address: str
    """Where it listens: `unix:/path`, `http://127.0.0.1:port` or `https://host:port`."""
    token_file: str
    """The file of mode 0600 with the token of the host."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class RemoteSettings:
    """Agents on other processes."""

    hosts: dict[str, HostAddress] = attrs.field(factory=dict)
    """Hosts by the names of their nodes."""
    unreachable_s: float = attrs.field(default=900.0, validator=positive)
    """Seconds without a word of its host after which a remote agent counts as failed."""

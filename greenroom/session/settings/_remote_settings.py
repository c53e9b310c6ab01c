"""Settings of hosts, on which agents of a session may work."""

from __future__ import annotations

from typing import final

import attrs

from greenroom.core.validation import checked, positive


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

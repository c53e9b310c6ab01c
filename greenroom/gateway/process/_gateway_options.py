"""The choices of a host that opens a gateway: what it replaces, for tests and for programs that embed one."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias, final

import attrs

from greenroom.core.ports import Ports
from greenroom.gateway.channels._accounts import AccountKey
from greenroom.gateway.channels._channel import Channel
from greenroom.gateway.keepers._agent_setup import OpenModel
from greenroom.inbox import InboxStore
from greenroom.serving import Endpoint
from greenroom.store import SqliteInboxStore, open_inbox_store

OpenStore: TypeAlias = Callable[[Path, Ports], Awaitable[InboxStore]]
"""Opens the store of inputs at a path."""


async def open_sqlite_store(path: Path, ports: Ports) -> SqliteInboxStore:
    """Open the store of inputs in a file."""
    return await open_inbox_store(path, blocking=ports.blocking, wall=ports.clock.wall)


@final
@attrs.frozen(kw_only=True)
class GatewayOptions:
    """The parts that a host replaces."""

    ports: Ports = attrs.field(factory=Ports)
    open_model: OpenModel | None = None
    """Returns the model for an agent id and a reference; by default that of the configuration."""
    channels: Mapping[AccountKey, Channel] = attrs.field(factory=dict)
    """Channels by channel and account; others are made as the configuration says. Each needs an account there."""
    environ: Mapping[str, str] = attrs.field(factory=lambda: dict(os.environ), repr=False)
    """Variables."""
    port: int | None = None
    """The port instead of that of the configuration; 0 for any free one."""
    listens: bool = True
    """False for no port: then there are no clients."""
    endpoints: tuple[Endpoint, ...] = ()
    """Further endpoints of the port, such as a page for browsers."""
    looks_around: bool = True
    """False to measure no lag of the event loop, and to look at the configuration file only when it is asked for."""
    show: Callable[[str], object] | None = None
    """Called with each line of the log, in words."""
    open_store: OpenStore = open_sqlite_store
    """Opens the store of inputs; by default `inbox.sqlite` in the state folder."""
    lock_journal: Callable[[Path], AbstractContextManager[None]] | None = None
    """Holds the lock of the journal; by default the one of the system."""

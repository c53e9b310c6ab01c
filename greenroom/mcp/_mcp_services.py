"""Resources for connections, and the supervisor that they run under."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core.ports import Ports
from greenroom.effects import Effects
from greenroom.mcp._channel_messages import ChannelPush
from greenroom.mcp._elicitations import Elicit
from greenroom.mcp._mcp_settings import McpSettings
from greenroom.mcp._peer import OpenPeer
from greenroom.mcp._server_rules import ServerRules
from greenroom.supervisor import StopOrder, Supervisor, SupervisorSpec
from greenroom.tools import SystemProcesses

SUPERVISOR: Final = "mcp"
"""The name of the supervisor of all connections."""


@final
@attrs.frozen(kw_only=True)
class McpServices:
    """Resources for connections. Composed by the session, the same for all of its agents."""

    cwd: Path
    """Working directory of programs unless their entry gives one; also the root that servers are given."""
    ports: Ports = attrs.field(factory=Ports)
    settings: McpSettings = attrs.field(factory=McpSettings)
    rules: ServerRules = attrs.field(factory=ServerRules)
    """Rules for which servers may be connected."""
    programs: SystemProcesses | None = None
    """Starts programs: `open_processes` of the tools. Without it only remote servers can be connected."""
    output_folder: Path | None = None
    """Folder for results that are not text, or too long; None discards them."""
    tokens: Path | None = None
    """Folder of the tokens of remote servers, in the user's own; None reads and stores none."""
    elicit: Elicit | None = None
    """Shows a server's question in the middle of a call to a person; None: questions are declined."""
    on_elicited: Callable[[str, str], object] = lambda *_: None
    """Called with a server's name and a question's id when the action at a URL is done."""
    on_push: Callable[[str, ChannelPush], object] = lambda *_: None
    """Called with a server's name and a message that it pushes."""
    open_peer: OpenPeer | None = None
    """Opens connections; by default with the official SDK, which is imported at the first connection."""
    effects: Effects | None = None
    """Records what servers say, or serves it from a record."""
    mask: Callable[[Any], Any] = lambda values: values
    """Masks secrets in JSON values for that record."""


@final
class Branch:
    """The supervisor of all connections of a session, started with the first one."""

    def __init__(self, parent: Supervisor) -> None:
        self._parent = parent
        self._supervisor: Supervisor | None = None
        self._opening = trio.Lock()

    async def supervisor(self) -> Supervisor:
        """Return the supervisor; restart it if it has ended."""
        async with self._opening:
            if self._supervisor is None or self._supervisor.ref.is_gone:
                spec = SupervisorSpec(stop_order=StopOrder.TOGETHER)
                self._supervisor = await self._parent.spawn_supervisor(SUPERVISOR, spec, escalates=False)
            return self._supervisor

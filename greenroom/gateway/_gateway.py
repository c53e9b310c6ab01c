"""A gateway: many sessions, each the chat of somebody, in one process.

    async with open_gateway(read_config(path, os.environ), Path("state")) as gateway:
        print(gateway.url)
        await gateway.wait_stop()           # a signal, or the method gateway.stop

Rule 1: leaving the block stops in stages. Rule 2: cancelling it, or an error, cuts everything, and the next start resumes it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, final

import trio

from greenroom.core import UsageError, require_trio
from greenroom.gateway.config._reader import ConfigReading
from greenroom.gateway.process._config_in_force import ReloadResult
from greenroom.gateway.process._gateway_opening import GatewayOpening
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.gateway.process._gateway_parts import GatewayParts
from greenroom.gateway.process._health_report import health_report
from greenroom.gateway.process._state_folder import HeldState, hold_state


@final
class Gateway:
    """A gateway that is open. Made by `open_gateway`.

    Attributes:
        parts: Its parts.
        url: Where clients reach it; empty if it does not listen.
        is_killed: True if it was told to end at once.
    """

    def __init__(self, parts: GatewayParts, url: str, scope: trio.CancelScope) -> None:
        self.parts = parts
        self.url = url
        self.is_killed = False
        self._scope = scope

    def __repr__(self) -> str:
        return f"<Gateway {self.url or 'without a port'}>"

    def health(self) -> dict[str, Any]:
        """Return the state of each part, as the method `health`."""
        return health_report(self.parts)

    async def wait_stop(self) -> None:
        """Return when somebody asked for a stop; then leave the block."""
        await self.parts.stop.is_asked.wait()

    def stop(self, reason: str) -> None:
        """Ask for a stop in order; `wait_stop` returns."""
        self.parts.stop.ask(reason)

    def kill(self, reason: str) -> None:
        """End everything at once; what is cut is resumed by the next start."""
        self.is_killed = True
        self.parts.stop.ask(reason)
        self._scope.cancel(reason)

    async def reload(self) -> ReloadResult:
        """Read the configuration again, and return what came of it."""
        return await self.parts.config.reload()


@asynccontextmanager
async def open_gateway(
    config: ConfigReading, state: Path | HeldState, options: GatewayOptions | None = None
) -> AsyncIterator[Gateway]:
    """Open a gateway; leaving the block stops it in stages.

    When this returns, clients are served, channels are being connected, and what an earlier process left is done in the background.

    Args:
        config: The configuration, as it was read; its files are watched.
        state: The state folder, or one that is held already.
        options: What the host replaces.

    Raises:
        GatewayHeld: Another gateway holds the state folder.
        UsageError: The configuration cannot be used, or the port is taken.
        JournalError: The state folder cannot be used.
    """
    require_trio("open_gateway()")
    if config.config is None:
        raise UsageError(f"{config.path} cannot be used: {'; '.join(map(str, config.problems))}")
    holding = hold_state(state) if isinstance(state, Path) else nullcontext(state)
    with holding as held, trio.CancelScope() as scope:
        async with GatewayOpening(config, held, options or GatewayOptions()).open() as (parts, url):
            yield Gateway(parts, url, scope)

"""The command `greenroom gateway`, with the page for browsers on the gateway's port."""

from __future__ import annotations

from pathlib import Path

from greenroom.gateway.process._serve_command import run_gateway
from greenroom.web._page_files import page_endpoints


def run_command(*, config: Path | None = None, state: Path | None = None, port: int | None = None) -> int:
    """Run a gateway until it is told to stop.

    Parameters
    ----------
    config
        The configuration; by default GREENROOM_GATEWAY_CONFIG, or ~/.greenroom/gateway.json5. The file is never written.
    state
        The state folder; by default that of the configuration, or ~/.greenroom/gateway.
    port
        The TCP port instead of that of the configuration; 0 for any free one.
    """
    return run_gateway(config, state, port, endpoints=lambda: page_endpoints("gateway"))

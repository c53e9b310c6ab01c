"""A gateway in the foreground of a terminal, or below a supervisor such as systemd: signals and standard error."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import suppress

import trio

from greenroom.gateway._gateway import Gateway, open_gateway
from greenroom.gateway.config._reader import ConfigReading
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.gateway.process._state_folder import HeldState
from greenroom.serving import Endpoint
from greenroom.terminal import Ladder, climbing, complain, noting_log


async def serve_in_foreground(
    reading: ConfigReading, held: HeldState, port: int | None, endpoints: Collection[Endpoint]
) -> int:
    """Run a gateway until it is told to stop, and return the exit code.

    Args:
        reading: The configuration.
        held: The state folder.
        port: The port instead of that of the configuration; None for that.
        endpoints: Further endpoints of the port.
    """
    ladder = Ladder(say=_say)
    options = GatewayOptions(environ=dict(os.environ), show=_say, port=port, endpoints=tuple(endpoints))
    was_killed = True  # until it has stopped in order
    with noting_log(), ladder.stop_scope:
        async with climbing(ladder), open_gateway(reading, held, options) as gateway, trio.open_nursery() as nursery:
            ladder.stop, ladder.kill = gateway.stop, gateway.kill
            nursery.start_soon(_reload_on_hangup, gateway)
            await gateway.wait_stop()
            nursery.cancel_scope.cancel("the gateway stops")
            was_killed = False
        was_killed = was_killed or gateway.is_killed
    if not was_killed:
        return 0
    return ladder.exit_code if ladder.exit_code is not None else 1


async def _reload_on_hangup(gateway: Gateway) -> None:
    with trio.open_signal_receiver(signal.SIGHUP) as signals:
        async for _ in signals:
            await gateway.reload()


def _say(text: str) -> None:
    with suppress(OSError):
        complain(text, code=0)

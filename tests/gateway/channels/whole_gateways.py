"""Whole gateways in real time, with models that follow rules, on real chat servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs

from greenroom.core.ports import Ports, SystemDisk
from greenroom.gateway._gateway import Gateway, open_gateway
from greenroom.gateway.config._reader import read_config
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.models import Call, ModelRequest, PlaybookModel
from tests.gateway.process.day import last_text

CONFIG = """{
  gateway: {drainSeconds: 1},
  agents: {defaults: {model: 'sonnet', workspace: 'workspace'}},
  channels: {CHANNEL},
}"""


def answering(name: str) -> Callable[[ModelRequest], Any]:
    """Return rules: `dig here` starts a sub-agent, whose result is announced; all else is answered in a line."""

    def play(request: ModelRequest) -> Any:
        text = last_text(request)
        if "Your run has ended" in text:
            return "the summary"
        if "A sub-agent that you started" in text:
            return "NO_REPLY"
        if "look deeper" in str(request.messages[0].content):
            return "done"
        if "dig here" in text:
            return Call("sessions_spawn", {"task": "look deeper", "label": "deep"})
        return f"{name} heard you"

    return play


def write_config(folder: Path, channel: str) -> Path:
    folder.mkdir(parents=True)
    path = folder / "gateway.json5"
    path.write_text(CONFIG.replace("CHANNEL", channel))
    return path


@asynccontextmanager
async def open_real_gateway(folder: Path, channel: str, name: str) -> AsyncIterator[Gateway]:
    """Open a gateway with one channel, whose section of the configuration is given."""
    path = write_config(folder, channel)
    model = PlaybookModel({"main": answering(name)})
    options = GatewayOptions(
        ports=attrs.evolve(Ports(), disk=SystemDisk(is_durable=False)),
        open_model=lambda *_: model,
        environ={},
        listens=False,
        looks_around=False,
    )
    async with open_gateway(read_config(path, {}), folder / "state", options) as gateway:
        yield gateway

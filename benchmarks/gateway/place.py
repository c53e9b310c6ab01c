"""A gateway to measure: one channel in memory, a model that answers by rules, a folder that goes with it."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import attrs
import trio

from benchmarks.measure import Target, report
from greenroom.core.ports import Ports
from greenroom.gateway._gateway import Gateway, open_gateway
from greenroom.gateway.channels import (
    ChannelHost,
    ChannelTraits,
    ChatRoute,
    Inbound,
    Outbound,
    Sender,
    SendReceipt,
    SendResult,
    WasSent,
)
from greenroom.gateway.config._reader import read_config
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.models import ModelRequest, PlaybookModel

MAIN = "agent:main:main"
CONFIG = """{
  gateway: {port: 0, drainSeconds: 0},
  agents: {defaults: {model: 'sonnet', workspace: 'workspace', maxConcurrent: 64, subagents: {maxConcurrent: 8, maxChildrenPerAgent: 20}}},
  channels: {plugins: {memory: {accounts: {default: {dmPolicy: 'open', allowFrom: ['*']}}}}},
  limits: {messagesPerMinute: 1000000, turnsPerMinute: 1000000, turnsWaiting: 1000, childrenPerAgent: 10000, openSessions: 1000, connections: 1000, undeliveredMax: 10000},
}"""


_NUMBERS = count(1)


@attrs.define(eq=False)
class MemoryChat:
    """A channel whose service is a list."""

    traits: ChannelTraits = attrs.field(factory=lambda: ChannelTraits(limit=4_000, takes_keys=True))
    shown: list[Outbound] = attrs.field(factory=list)
    refuses: bool = False
    host: ChannelHost | None = None
    has_more: trio.Event = attrs.field(factory=trio.Event)

    async def run(self, host: ChannelHost) -> None:
        self.host = host
        host.connected()
        await trio.sleep_forever()

    async def send(self, part: Outbound) -> SendReceipt:
        await trio.lowlevel.checkpoint()
        if self.refuses:
            return SendReceipt(result=SendResult.FAILED, why="not there")
        self.shown.append(part)
        self.has_more.set()
        self.has_more = trio.Event()
        return SendReceipt(result=SendResult.TAKEN)

    async def was_sent(self, key: str) -> WasSent:
        return WasSent.CANNOT_SAY

    async def show_typing(self, route: ChatRoute, *, is_typing: bool) -> None:
        """Show nothing."""

    async def say(self, text: str, person: str = "ann") -> None:
        """Hand in a message; it is durable when this returns."""
        while self.host is None:  # noqa: ASYNC110 - at the start only
            await trio.sleep(0.001)
        id_ = f"m{next(_NUMBERS)}"  # a gateway knows the ids of earlier processes
        route = ChatRoute(channel="memory", peer=person)
        await self.host.hear(Inbound(route=route, sender=Sender(id=person), id=id_, text=text))

    async def wait_shown(self, count: int) -> None:
        """Wait until that many texts were shown."""
        while len(self.shown) < count:
            await self.has_more.wait()


def replying(text: str) -> Callable[[ModelRequest], Any]:
    """Return rules that always say the same."""
    return lambda _: text


@contextmanager
def new_folder() -> Iterator[Path]:
    """Make a folder with a configuration and a workspace."""
    with tempfile.TemporaryDirectory(prefix="bench-gateway-") as name:
        folder = Path(name)
        (folder / "gateway.json5").write_text(CONFIG, encoding="utf-8")
        yield folder


@asynccontextmanager
async def opened(
    folder: Path,
    play: Callable[[ModelRequest], Any],
    chat: MemoryChat | None = None,
    *,
    wait_s: float = 0.0,
    ports: Ports | None = None,
    **options: Any,
) -> AsyncIterator[Gateway]:
    """Open a gateway on a folder."""
    model = PlaybookModel({"main": play}, wait_s=wait_s)
    given = GatewayOptions(
        ports=ports or Ports(),
        open_model=lambda *_: model,
        channels={("memory", "default"): chat or MemoryChat()},
        environ={},
        **{"listens": False, "looks_around": False, **options},
    )
    async with open_gateway(read_config(folder / "gateway.json5", {}), folder / "state", given) as gateway:
        yield gateway


def report_at_most(bench: str, unit: str, values: Sequence[float], limit: float | None) -> None:
    """Report a plain number, whose median is to be at most a limit."""
    report(Target(bench=bench, numerator=unit, denominator="1", limit=limit, at_least=False), values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

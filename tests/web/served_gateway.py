"""A gateway with its page on a free port, a scripted provider behind it, and a channel in memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from greenroom.core.ports import Ports, SystemDisk
from greenroom.gateway._gateway import Gateway, open_gateway
from greenroom.gateway.config._reader import read_config
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.gateway.record._machines import SendResult
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, Outbound, PeerKind, Sender, SendReceipt
from greenroom.gateway.rpc._scopes import PAGE_SCOPES, RpcScope
from greenroom.testing import ReceivedRequest, open_messages_server
from greenroom.web._page_files import page_endpoints
from tests.gateway.process.town import ChatService, MemoryChannel

Play = Callable[[ReceivedRequest], Any]
CONFIG: Final = """{
  gateway: {port: 0, drainSeconds: 1},
  agents: {
    defaults: {model: 'sonnet', workspace: 'workspace', subagents: {maxConcurrent: 1}},
    list: [{id: 'main', default: true}, {id: 'research', name: 'Research'}],
  },
  tools: {
    subagents: {
      tools: {
        // deny wins
        deny: ["gateway", "cron"],
        // if allow is set, it becomes allow-only (deny still wins)
        // allow: ["read", "exec", "process"]
      },
    },
  },
  channels: {plugins: {ops: {accounts: {default: {dmPolicy: 'pairing'}}}}},
  commands: {ownerAllowFrom: ['ops:ann']},
  models: {providers: {anthropic: {baseUrl: 'URL', apiKey: 'sk-ant-test'}}},
}"""


def last_text(request: ReceivedRequest) -> str:
    """Return the texts of the last message of a request."""
    content = request.body["messages"][-1]["content"]
    return (
        content
        if isinstance(content, str)
        else "\n".join(str(each.get("text") or each.get("content")) for each in content)
    )


@attrs.define(eq=False)
class RefusingChannel:
    """A channel that takes messages, and refuses to send while it is told to."""

    inner: MemoryChannel
    refuses: bool = False
    has_sent: trio.Event = attrs.field(factory=trio.Event)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def send(self, part: Outbound) -> SendReceipt:
        if self.refuses:
            await trio.lowlevel.checkpoint()
            return SendReceipt(result=SendResult.REFUSED, why="403: the bot was removed from this room")
        receipt = await self.inner.send(part)
        self.has_sent.set()
        return receipt


@attrs.define(eq=False)
class PageHouse:
    """A gateway that is served."""

    gateway: Gateway
    channel: RefusingChannel

    def address(self, *, scopes: frozenset[RpcScope] = PAGE_SCOPES) -> str:
        """Return an address with a new one-time code, as `greenroom gateway open` prints it."""
        return f"{self.gateway.url}/#code={self.gateway.parts.tokens.open_code(scopes)}"

    async def say(self, sender: str, text: str, *, peer: str = "") -> None:
        """Have somebody write on the channel, to us or in a group."""
        kind = PeerKind.GROUP if peer else PeerKind.DIRECT
        route = ChatRoute(channel="ops", kind=kind, peer=peer or sender)
        who, id_ = Sender(id=sender, name=sender.title()), f"{sender}-{len(text)}"
        self.channel.inner.say(Inbound(route=route, sender=who, id=id_, text=text, mentions_us=True))
        await trio.lowlevel.checkpoint()


@asynccontextmanager
async def open_page_house(folder: Path, url: str, *, port: int = 0, config: str = CONFIG) -> AsyncIterator[PageHouse]:
    """Run a gateway with its page in real time.

    Args:
        folder: Where its configuration and state are.
        url: Base URL of the provider.
        port: Its port; 0 for any free one.
        config: The configuration.
    """
    (folder / "gateway.json5").write_text(config.replace("URL", url))
    reading = read_config(folder / "gateway.json5", {})
    assert reading.config is not None, reading.problems
    channel = RefusingChannel(MemoryChannel(ChatService("ops", takes_keys=True, can_say=True)))
    options = GatewayOptions(
        ports=Ports(disk=SystemDisk(is_durable=False)),
        channels={("ops", "default"): channel},
        environ={"HOME": str(folder), "PATH": os.environ["PATH"]},
        port=port,
        looks_around=False,
        endpoints=page_endpoints("gateway"),
    )
    async with open_gateway(reading, folder / "state", options) as gateway:
        yield PageHouse(gateway, channel)


@asynccontextmanager
async def open_played_house(folder: Path, play: Play) -> AsyncIterator[PageHouse]:
    """Run a gateway with its page, and a provider that answers by a function."""
    async with open_messages_server(play) as server, open_page_house(folder, server.url) as house:
        yield house

"""A town for tests of whole gateways: people in chats, channels in memory, models that follow rules, and kills at any event.

What outlives a process is a `Town`: the chats with all that was shown there, the messages that people have said, the wall clock, and the
folder of the gateway. `Town.copy` is what is left if the process is killed now.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core.ports import Disk, Ports, SystemDisk
from greenroom.gateway._gateway import Gateway, open_gateway
from greenroom.gateway.announce._retry_plan import part_key
from greenroom.gateway.channels._channel import ChannelHost, ChannelTraits, WasSent
from greenroom.gateway.config._reader import read_config
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.gateway.record._machines import DeliveryState, SendResult
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, Outbound, PeerKind, Sender, SendReceipt
from greenroom.models import ModelRequest, PlaybookModel
from greenroom.store import read_transcript
from greenroom.testing import virtual_ports
from greenroom.trace import JOURNAL

Play = Callable[[ModelRequest], Any]


@attrs.define
class Line:
    """Something that a person says at a time: a text, or a function of the town that makes it."""

    at_s: float
    channel: str
    sender: str
    text: str | Callable[[Town], str]
    peer: str = ""
    thread: str = ""
    mentions: bool = False


@attrs.define
class ChatService:
    """A chat service: it has what people said, and what was shown to them."""

    name: str
    takes_keys: bool
    can_say: bool
    said: list[Inbound] = attrs.field(factory=list)
    acknowledged: int = 0
    shown: list[Outbound] = attrs.field(factory=list)
    given: list[str] = attrs.field(factory=list)
    """Keys of all parts that came, also of those that were there already."""
    on_act: Callable[[str], object] | None = None
    """Called behind each acknowledgement, and with each text that is shown: before the gateway knows."""

    def note(self, act: str) -> None:
        """Tell the listener about an act."""
        if self.on_act is not None:
            self.on_act(f"{self.name} {act}")


@final
@attrs.define(eq=False)
class MemoryChannel:
    """A channel of such a service."""

    service: ChatService
    news: trio.Event = attrs.field(factory=trio.Event)
    is_open: trio.Event | None = None
    """If it is not None, nothing is sent before it is set."""

    @property
    def traits(self) -> ChannelTraits:
        return ChannelTraits(limit=4_000, takes_keys=self.service.takes_keys)

    async def run(self, host: ChannelHost) -> None:
        host.connected()
        while True:
            while self.service.acknowledged < len(self.service.said):
                await host.hear(self.service.said[self.service.acknowledged])
                self.service.acknowledged += 1
                self.service.note("acknowledged")
            await self.news.wait()

    async def send(self, part: Outbound) -> SendReceipt:
        if self.is_open is not None:
            await self.is_open.wait()
        await trio.sleep(0.01)
        self.service.given.append(part.key)
        if not (self.service.takes_keys and part.key in {each.key for each in self.service.shown}):
            self.service.shown.append(part)
            self.service.note("shown")
        await trio.sleep(0.01)
        return SendReceipt(result=SendResult.TAKEN)

    async def was_sent(self, key: str) -> WasSent:
        if not self.service.can_say:
            return WasSent.CANNOT_SAY
        return WasSent.YES if key in {each.key for each in self.service.shown} else WasSent.NO

    async def show_typing(self, route: ChatRoute, *, is_typing: bool) -> None:
        pass

    def say(self, inbound: Inbound) -> None:
        self.service.said.append(inbound)
        self.news.set()
        self.news = trio.Event()


@attrs.define
class TownClock:
    """The wall clock of the town; each process begins where the former one was killed."""

    inner: Any
    offset_s: float = 0.0

    def bind(self) -> Any:
        return self.inner.bind()

    def wall(self) -> datetime:
        moment: datetime = self.inner.wall() + timedelta(seconds=self.offset_s)
        return moment


@attrs.define(eq=False)
class Town:
    """The things that outlive a process."""

    folder: Path
    services: dict[str, ChatService]
    script: list[Line]
    play: Play
    now_s: float = 0.0
    """Seconds since the day began."""
    next_line: int = 0
    decided: list[str] = attrs.field(factory=list)
    """Why texts were blocked of which an operator has looked into the chat, and then sent them again or not."""

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def copy(self, to: Path, now_s: float) -> Town:
        """Return what is left if the process is killed now."""
        shutil.copytree(self.folder, to)
        services = {name: copy.deepcopy(attrs.evolve(service, on_act=None)) for name, service in self.services.items()}
        return Town(to, services, self.script, self.play, now_s=now_s, next_line=self.next_line)

    # --- looking ------------------------------------------------------------------------------------------------------

    def texts(self, channel: str, peer: str = "") -> list[str]:
        """Return the texts that were shown in a chat, without figures that depend on when."""
        return [plain(part.text) for part in self.services[channel].shown if not peer or part.route.peer == peer]

    def events(self) -> list[dict[str, Any]]:
        """Return the gateway's journal."""
        return [json.loads(line) for line in (self.state / JOURNAL).read_bytes().splitlines()]

    def conversation(self, session_id: str) -> list[tuple[str, str]]:
        """Return the texts of people and of the model in a session, in order."""
        places = list(self.state.glob(f"agents/*/sessions/{session_id}/transcripts/main*.jsonl*"))
        assert len(places) <= 1, places
        return [
            (str(line["type"]), plain(text))
            for place in places
            for line in read_transcript(place)
            if line.get("type") in {"user", "assistant"}
            for text in texts_of(line["message"])
        ]


def texts_of(message: Any) -> list[str]:
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type") == "text"]


def plain(text: str) -> str:
    """Return a text without times, paths and ids."""
    text = re.sub(r"Stats: .*", "Stats: -", text)
    text = re.sub(r"code: \w{8}", "code: -", text)
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", text)


@asynccontextmanager
async def living(
    town: Town, *, disk: Any = None, seed: int = 1, on_open: Callable[[Gateway], object] | None = None
) -> AsyncIterator[Gateway]:
    """Run a gateway on a town, with its people, until the block is left."""
    config = read_config(town.folder / "gateway.json5", {})
    assert config.config is not None, [str(problem) for problem in config.problems]
    plain_ports = virtual_ports(seed + int(town.now_s * 1000))
    clock = TownClock(plain_ports.clock, town.now_s)
    ports: Ports = attrs.evolve(plain_ports, clock=clock, disk=disk or SystemDisk(is_durable=False))
    channels = {(name, "default"): MemoryChannel(service) for name, service in town.services.items()}
    model = PlaybookModel(dict.fromkeys(("main", "scribe", "quiet"), town.play), wait_s=1.0)
    options = GatewayOptions(
        ports=ports,
        open_model=lambda *_: model,
        channels=channels,
        environ={"TZ": "UTC"},
        listens=False,
        looks_around=False,
        lock_journal=lambda _: nullcontext(),
    )
    async with open_gateway(config, town.state, options) as gateway, trio.open_nursery() as nursery:
        if on_open is not None:
            on_open(gateway)
        nursery.start_soon(speak, town, channels, clock.offset_s)
        nursery.start_soon(decide_blocked, town, gateway)
        yield gateway
        nursery.cancel_scope.cancel()


async def speak(town: Town, channels: dict[tuple[str, str], MemoryChannel], offset_s: float) -> None:
    """Have people say their lines at their times."""
    while town.next_line < len(town.script):
        number, line = town.next_line, town.script[town.next_line]
        await trio.sleep(max(0.0, line.at_s - offset_s - trio.current_time()))
        text = line.text if isinstance(line.text, str) else line.text(town)
        route = ChatRoute(
            channel=line.channel,
            kind=PeerKind.GROUP if line.peer else PeerKind.DIRECT,
            peer=line.peer or line.sender,
            thread=line.thread,
        )
        town.next_line += 1
        channels[line.channel, "default"].say(
            Inbound(
                route=route,
                sender=Sender(id=line.sender, name=line.sender),
                id=f"m{number}",
                text=text,
                mentions_us=line.mentions,
            )
        )


async def decide_blocked(town: Town, gateway: Gateway) -> None:
    """Have an operator look for texts that are blocked: those that are not in the chat are sent again."""
    deliveries = gateway.parts.below.deliveries
    while True:
        await trio.sleep(5)
        for row in [row for row in deliveries.list() if row.state is DeliveryState.BLOCKED]:
            shown = {part.key for part in town.services[str(row.route["channel"])].shown}
            decide = deliveries.dismiss if part_key(row.id, 1) in shown else deliveries.retry
            town.decided.append(row.why)
            await decide(row.id, "operator")


def is_quiet(gateway: Gateway, town: Town) -> bool:
    """True if nothing is left to do: all was said and read, nothing runs, waits or is due."""
    registry = gateway.parts.registry
    return (
        town.next_line == len(town.script)
        and all(service.acknowledged == len(service.said) for service in town.services.values())
        and not registry.inbound
        and all(run.is_ended for run in registry.runs.values())
        and all(row.is_settled for row in registry.deliveries())
        and not any(gateway.parts.keepers.is_busy(key) for key in registry.sessions)
    )


async def wait_quiet(gateway: Gateway, town: Town, *, until_s: float, limit_s: float = 20_000) -> None:
    """Wait until the day is over and nothing is left to do."""
    await trio.sleep(max(0.0, until_s - town.now_s))
    with trio.move_on_after(limit_s):
        while not is_quiet(gateway, town):  # noqa: ASYNC110 - many parts have to be quiet
            await trio.sleep(5)
        return
    registry = gateway.parts.registry
    left = [
        *registry.inbound.values(),
        *(run for run in registry.runs.values() if not run.is_ended),
        *registry.replies.values(),
    ]
    left += [each for each in registry.completions.values() if not each.delivery.is_settled]
    raise AssertionError(
        f"not quiet: {left}, {[key for key in registry.sessions if gateway.parts.keepers.is_busy(key)]}, said {town.next_line}"
    )


_LINE: Final = re.compile(rb'"ev":"([a-z.]+)"')


class RecordingTownDisk:
    """A disk that calls a function after each line of the gateway's journal, and if asked to after each append to another file."""

    append_all = Disk.append_all

    def __init__(self, journal: Path, on_line: Callable[[str], object], *, has_others: bool = False) -> None:
        self._disk = SystemDisk(is_durable=False)
        self._journal = journal
        self._on_line = on_line
        self._has_others = has_others
        self.make_folder = self._disk.make_folder
        self.sync = self._disk.sync
        self.read = self._disk.read
        self.size = self._disk.size
        self.close = self._disk.close
        self.write = self._disk.write

    def append(self, path: Path, content: bytes) -> None:
        """Append; of the gateway's journal line by line."""
        if path != self._journal:
            self._disk.append(path, content)
            if self._has_others:
                self._on_line(f"append to {path.name}")
            return
        for line in content.splitlines(keepends=True):
            self._disk.append(path, line)
            found = _LINE.search(line)
            self._on_line(found[1].decode() if found else "")

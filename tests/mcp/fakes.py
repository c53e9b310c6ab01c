"""Servers that are scripted: they connect, fail, list, answer and die when a test says so, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from greenroom.actors import Behavior, Context
from greenroom.core import event_of
from greenroom.core.ports import InlineBlocking, Ports
from greenroom.mcp import (
    CallFailed,
    Change,
    Elicit,
    Elicitation,
    Http,
    McpServers,
    McpServices,
    McpSettings,
    Peer,
    ServerConfig,
    ServerDown,
    Stdio,
    start_servers,
)
from greenroom.mcp._dialogs import Dialogs
from greenroom.mcp._events import McpEvent
from greenroom.mcp._peer import (
    BinaryPart,
    CallResult,
    ConnectionEnd,
    Part,
    PeerInfo,
    PromptInfo,
    PromptPart,
    ResourceInfo,
    ResourcePart,
    TextPart,
    ToolInfo,
)
from greenroom.supervisor import Runtime

ECHO: Final = ToolInfo(name="echo", input_schema={"type": "object"}, is_read_only=True)
SLOW: Final = ToolInfo(name="slow")
WORK: Final = ToolInfo(name="work")
ASK: Final = ToolInfo(name="ask")
FORM: Final = Elicitation(
    server="far",
    message="Who are you?",
    schema={
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name"],
    },
)
PAGE: Final = Elicitation(server="far", message="Log in.", mode="url", url="https://login.example/now", id="q1")


class FakeServer:
    """What is at the other end, across connections."""

    def __init__(self, *tools: ToolInfo, connects_after_s: float = 0.0, fails: tuple[str, ...] = ()) -> None:
        self.tools = tools or (ECHO, SLOW)
        self.prompts: tuple[PromptInfo, ...] = ()
        self.resources: tuple[ResourceInfo, ...] | None = None
        self.connects_after_s = connects_after_s
        self.fails = list(fails)
        """Why the next tries to connect fail, one after the other."""
        self.needs_auth = False
        self.prompts_fail: float | None = None
        """After how many seconds its list of prompts fails; None where it does not."""
        self.silent_at = ""
        """At which step it says nothing any more: `connect`, `tools`, `prompts` or `resources`; empty for none."""
        self.opened = 0
        self.open_now = 0
        self.cancelled = 0
        self.closes_in_s = 0.0
        self.peer: FakePeer | None = None
        self.elicit: Elicit | None = None
        """Takes what its tool `ask` asks."""
        self.dialogs = Dialogs()

    def die(self, why: str = "it died") -> None:
        assert self.peer is not None
        self.peer.ending.why = why
        self.peer.lost.set()


class FakePeer:
    left_out: tuple[str, ...] = ()

    def __init__(self, server: FakeServer, ending: ConnectionEnd) -> None:
        self.server = server
        self.ending = ending
        self.lost = trio.Event()
        self.changed = trio.Event()
        has_resources = server.resources is not None
        self.info = PeerInfo(
            name="fake",
            version="1",
            protocol="2026-07-28",
            instructions="Be kind. " * 300,
            has_resources=has_resources,
        )

    async def _answer(self, step: str) -> None:
        if self.server.silent_at == step:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()

    async def list_tools(self) -> tuple[ToolInfo, ...]:
        await self._answer("tools")
        return self.server.tools

    async def list_prompts(self) -> tuple[PromptInfo, ...]:
        await self._answer("prompts")
        if self.server.prompts_fail is not None:
            await trio.sleep(self.server.prompts_fail)
            raise CallFailed("no prompts today")
        return self.server.prompts

    async def list_resources(self) -> tuple[ResourceInfo, ...]:
        await self._answer("resources")
        return self.server.resources or ()

    async def get_prompt(self, prompt: str, values: Mapping[str, str]) -> tuple[PromptPart, ...]:
        await trio.lowlevel.checkpoint()
        said = ", ".join(f"{name}={value}" for name, value in values.items())
        return (PromptPart("user", TextPart(f"{prompt}: {said}")),)

    async def read_resource(self, uri: str) -> tuple[Part, ...]:
        await trio.lowlevel.checkpoint()
        return (ResourcePart(uri=uri, text="inside"),)

    async def call(self, tool: str, values: Mapping[str, Any], on_progress: Callable[[str], None]) -> CallResult:
        if tool == "slow":
            try:
                for _ in range(int(values.get("steps", 0))):
                    await trio.sleep(values.get("step_s", 1.0))
                    on_progress("a step")
                await trio.sleep_forever()
            except trio.Cancelled:
                self.server.cancelled += 1
                raise
        if tool == "work":
            return await self._work(on_progress, **values)
        if tool == "ask":
            return await self._ask(**values)
        if tool == "refuse":
            raise CallFailed("no such luck")
        if tool == "drop":
            self.server.die("it dropped the line")
            raise ServerDown("fake", "Connection closed")
        await trio.lowlevel.checkpoint()
        return CallResult(parts=(TextPart(str(values.get("text", ""))),), is_error=tool == "boom")

    async def _work(
        self,
        on_progress: Callable[[str], None],
        *,
        takes_s: float,
        text: str = "",
        says: str = "",
        is_error: bool = False,
        picture: str = "",
    ) -> CallResult:
        """Work for some seconds, say something at half of them, and be done."""
        try:
            await trio.sleep(takes_s / 2)
            if says:
                on_progress(says)
            await trio.sleep(takes_s / 2)
        except trio.Cancelled:
            self.server.cancelled += 1
            raise
        image = (BinaryPart(kind="image", mime_type="image/png", base64=picture),) if picture else ()
        return CallResult(parts=(TextPart(text), *image), is_error=is_error)

    async def _ask(
        self, *, before_s: float = 0.0, after_s: float = 0.0, server: str = "far", mode: str = "form"
    ) -> CallResult:
        """Ask a person something between two pieces of work, and return what came of it."""
        assert self.server.elicit is not None
        try:
            await trio.sleep(before_s)
            asked = FORM if mode == "form" else PAGE
            answer = await self.server.elicit(attrs.evolve(asked, server=server))
            await trio.sleep(after_s)
        except trio.Cancelled:
            self.server.cancelled += 1
            raise
        assert answer is not None
        said = "" if answer.content is None else f" {dict(answer.content)}"
        return CallResult(parts=(TextPart(f"{answer.action}{said}"),))

    async def wait_changed(self) -> frozenset[Change]:
        await self.changed.wait()
        self.changed = trio.Event()
        return frozenset(Change)

    async def wait_lost(self) -> None:
        await self.lost.wait()


class FakePeers:
    """Connects scripted servers by their names."""

    def __init__(self, **servers: FakeServer) -> None:
        self.servers = servers

    @asynccontextmanager
    async def __call__(self, config: ServerConfig, ending: ConnectionEnd) -> AsyncIterator[Peer]:
        server = self.servers[config.name]
        server.opened += 1
        if server.silent_at == "connect":
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):  # a program that does not end when it is asked to
                    await trio.sleep(server.closes_in_s)
        await trio.sleep(server.connects_after_s)
        if server.needs_auth:
            ending.needs_auth, ending.why = True, "it requires a login"
            raise ConnectionError("refused")
        if server.fails:
            raise ConnectionError(server.fails.pop(0))
        peer = server.peer = FakePeer(server, ending)
        server.open_now += 1
        try:
            yield peer
        finally:
            server.open_now -= 1
            with trio.CancelScope(shield=True):
                await trio.sleep(server.closes_in_s)


def http(name: str, **more: Any) -> ServerConfig:
    return ServerConfig(name=name, way=Http(url="http://127.0.0.1/mcp"), **more)


def stdio(name: str, **more: Any) -> ServerConfig:
    return ServerConfig(name=name, way=Stdio(command=name), **more)


async def start(
    runtime: Runtime,
    *configs: ServerConfig,
    settings: McpSettings | None = None,
    folder: Path | None = None,
    elicit: Elicit | None = None,
    **servers: FakeServer,
) -> McpServers:
    ports = Ports(blocking=InlineBlocking())
    services = McpServices(
        cwd=Path("/"),
        ports=ports,
        settings=settings or McpSettings(),
        open_peer=FakePeers(**servers),
        output_folder=folder,
        elicit=elicit,
    )
    started = await start_servers(runtime.root, configs, services)
    for server in servers.values():
        server.elicit = started.ask_person
    return started


def listen(runtime: Runtime) -> list[McpEvent]:
    """Return the list in which every event about a server from now on is."""
    events: list[McpEvent] = []

    def take(record: tuple[Any, ...]) -> None:
        event = event_of(record)
        if isinstance(event, McpEvent):
            events.append(event)

    runtime.recorder.listen(take)
    return events


class Agent(Behavior[str]):
    """Stands for an agent that owns servers."""

    async def on_message(self, message: str, ctx: Context) -> None:
        raise ValueError(message)

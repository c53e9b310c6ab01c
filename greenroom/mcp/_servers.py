"""The servers of a session or of one agent: each a connection under a supervisor, their tools under one roof.

Rule 1: starting returns at once; who needs a server waits for it, with a deadline, and wakes when it changes. Rule 2: the
same servers give the same tools in the same order. Rule 3: servers of an agent end with it, whoever forgets to say so.
Must not know: the SDK, agents, models.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, final

import attrs
import trio

from greenroom.actors import Ref, Subscription
from greenroom.core import NameTaken, Ports, UsageError
from greenroom.mcp._configs import ServerConfig, ServerScope
from greenroom.mcp._connection import McpConnection
from greenroom.mcp._elicitation import Elicit, Elicitation, ElicitationAnswer
from greenroom.mcp._errors import MissingServers
from greenroom.mcp._lifecycle import ServerStatus
from greenroom.mcp._names import plain_name
from greenroom.mcp._parsing import BrokenServer
from greenroom.mcp._peer import OpenPeer
from greenroom.mcp._prompts import McpPrompt, make_prompts
from greenroom.mcp._required import has_to_wait, missing, why_missing
from greenroom.mcp._resources import Library
from greenroom.mcp._rules import ServerRules
from greenroom.mcp._sdk import SdkPeers
from greenroom.mcp._server import Server, ServerState
from greenroom.mcp._settings import McpSettings
from greenroom.mcp._sources import DisabledServer
from greenroom.mcp._stdio import Programs
from greenroom.mcp._tools import Keeper, McpTool, cut, make_tools
from greenroom.supervisor import ChildSpec, Restart, StopOrder, Supervisor, SupervisorSpec

Part = TypeVar("Part", McpPrompt, McpTool)
REQUIRED_WAIT_S: Final = 30.0
"""How long an agent waits for the servers that it requires."""
SUPERVISOR: Final = "mcp"
"""The name of the supervisor that connections live under."""
_KILL_GRACE_S: Final = 6.0
"""A program gets a second to end by itself, two after it was asked, and is killed then."""


@final
@attrs.frozen(kw_only=True)
class McpServices:
    """What connections are made with. Composed by the session, the same for all of its agents."""

    cwd: Path
    """Where programs start, unless their entry says otherwise; also what servers are told to be working on."""
    ports: Ports = attrs.field(factory=Ports)
    settings: McpSettings = attrs.field(factory=McpSettings)
    rules: ServerRules = attrs.field(factory=ServerRules)
    """Which servers may be connected at all."""
    programs: Programs | None = None
    """What starts programs: `open_processes` of the tools. Without it only servers at an address can be connected."""
    output_folder: Path | None = None
    """Where results are kept that are no text, or too long; None keeps nothing of them."""
    tokens: Path | None = None
    """The folder in which tokens of servers at an address are kept, the user's own; None reads and keeps none."""
    elicit: Elicit | None = None
    """Puts what a server asks in the middle of a call before a person; None: servers are told that nobody can be asked."""
    on_elicited: Callable[[str, str], object] = lambda *_: None
    """Hears the name of a server and the id of a question of its: what a person was to do at an address is done."""
    open_peer: OpenPeer | None = None
    """How servers are connected; by default with the official SDK, which is imported at the first connection."""


@final
class Branch:
    """The supervisor of all connections of a session; it is there as soon as the first one is to be made."""

    def __init__(self, parent: Supervisor) -> None:
        self._parent = parent
        self._supervisor: Supervisor | None = None
        self._opening = trio.Lock()

    async def supervisor(self) -> Supervisor:
        """Return it; started anew if somebody has ended it."""
        async with self._opening:
            if self._supervisor is None or self._supervisor.ref.is_gone:
                spec = SupervisorSpec(stop_order=StopOrder.TOGETHER)
                self._supervisor = await self._parent.spawn_supervisor(SUPERVISOR, spec, escalates=False)
            return self._supervisor


@final
class McpServers:
    """Servers that belong together. Made by `start_servers` and `start_more`."""

    def __init__(
        self,
        branch: Branch,
        services: McpServices,
        disabled: Iterable[DisabledServer] = (),
        broken: Iterable[BrokenServer] = (),
    ) -> None:
        self.broken = tuple(broken)
        """Entries that stand for no server, because they cannot be used."""
        self._branch = branch
        self._services = services
        self._open_peer = services.open_peer or SdkPeers(
            cwd=services.cwd,
            programs=services.programs,
            ports=services.ports,
            tokens=services.tokens,
            elicit=None if services.elicit is None else self.ask_person,
            on_elicited=services.on_elicited,
        )
        self._keeper = Keeper(services.ports, services.output_folder)
        self._servers: dict[str, Server] = {}
        self._disabled = tuple(disabled)
        self._changed = trio.Event()
        self._listeners: dict[Callable[[], None], None] = {}
        self._tools: tuple[McpTool, ...] | None = None
        self._clashes: tuple[str, ...] = ()
        self._watch: Subscription | None = None

    def __repr__(self) -> str:
        return f"<McpServers {', '.join(f'{one.name}={one.status.value}' for one in self._servers.values())}>"

    # --- starting and ending ----------------------------------------------------------------------------------------

    async def start(self, configs: Iterable[ServerConfig]) -> None:
        """Start to connect servers; returns before they are.

        Raises:
            UsageError: Two of them have the same name, or one has that of a server that is there; none is started.
        """
        configs = list(configs)
        names = [*self._servers, *(one.name for one in configs)]
        twice = next((one for at, one in enumerate(names) if one in names[:at]), None)
        if twice is not None:
            raise UsageError(f"there are two MCP servers called {twice!r}; a name stands for one server")
        for config in configs:
            self._servers[config.name] = Server(config, self._services.settings, self._note_change)
        for config in configs:
            await self._connect(self._servers[config.name])

    async def start_more(self, configs: Iterable[ServerConfig], *, owner: Ref[Any] | None = None) -> McpServers:
        """Start servers of one agent beside these; they are seen through the object that is returned, and only there.

        Args:
            configs: What to connect.
            owner: The agent, if it lives already; else call `end_with` as soon as it does, and `close` if it never will.
        """
        more = McpServers(self._branch, self._services)
        try:
            await more.start(configs)
        except BaseException:
            more.end("the agent was not started")
            raise
        if owner is not None:
            more.end_with(owner)
        return more

    def end_with(self, owner: Ref[Any]) -> None:
        """End these servers when an actor is gone for good; at once when it is."""
        if self._watch is not None:
            self._watch.cancel()
        self._watch = owner.watch(lambda _: self.end("its agent has ended"))

    def end(self, why: str = "ended") -> None:
        """End these servers, without waiting until they have."""
        for server in self._servers.values():
            if server.ref is not None and not server.ref.is_gone:
                server.ref.kill(why)

    async def close(self) -> None:
        """End these servers, and wait until nothing is left of them. Cancelled, they end all the same."""
        self.end("closed")
        for server in self._servers.values():
            if server.ref is not None:
                await server.ref.wait_ended()

    async def reconnect(self, name: str) -> None:
        """End the connection of a server, if there is one, and start another; returns before that stands.

        Raises:
            UsageError: There is no such server.
        """
        server = self._server(name)
        if server.ref is not None and not server.ref.is_gone:
            server.ref.kill("it is connected anew")
            await server.ref.wait_ended()
        await self._connect(server)

    async def set_enabled(self, name: str, *, enabled: bool) -> None:
        """Connect a server that is not to be connected, or end one that is; returns before a connection stands.

        Raises:
            UsageError: There is no such server.
        """
        asked_for = next((one for one in self._disabled if one.config.name == name), None)
        if asked_for is not None:
            if enabled:
                self._disabled = tuple(one for one in self._disabled if one is not asked_for)
                await self.start([asked_for.config])
            return
        server = self._server(name)
        is_live = server.ref is not None and not server.ref.is_gone
        if enabled and not is_live:
            await self._connect(server)
        elif server.ref is not None and is_live and not enabled:
            server.ref.kill("it was switched off")
            await server.ref.wait_ended()

    async def _connect(self, server: Server) -> None:
        services = self._services
        spec = ChildSpec(restart=Restart.TEMPORARY, kill_grace_s=_KILL_GRACE_S)
        supervisor = await self._branch.supervisor()
        made = (McpConnection, server, self._open_peer, services.settings, services.ports.chance)
        try:
            server.ref = await supervisor.spawn(*made, name=plain_name(server.name), spec=spec)
        except NameTaken:  # an agent's own server of the same name, or one with another character in its place
            server.ref = await supervisor.spawn(*made, spec=spec)

    async def ask_person(self, asked: Elicitation) -> ElicitationAnswer:
        """Put a question of one of these servers before a person; see `Server.ask_person`."""
        elicit = self._services.elicit
        assert elicit is not None
        return await self._server(asked.server).ask_person(asked, elicit)

    # --- looking ----------------------------------------------------------------------------------------------------

    @property
    def tools(self) -> tuple[McpTool, ...]:
        """The tools of the servers that are connected, as of now; the same objects until something changes."""
        if self._tools is None:
            clashes: list[str] = []
            self._tools = make_tools(
                self._servers.values(),
                output_chars=self._services.settings.output_chars,
                keeper=self._keeper,
                on_clash=lambda name, server: clashes.append(f"{name} of {server} is left out: the name is taken"),
            )
            self._clashes = tuple(clashes)
        return self._tools

    @property
    def is_managed(self) -> bool:
        """Whether an administrator says which servers there are."""
        is_one = any(one.config.scope is ServerScope.MANAGED for one in self._servers.values())
        return self.rules.is_exclusive or is_one

    @property
    def rules(self) -> ServerRules:
        """Which servers may be connected at all."""
        return self._services.rules

    @property
    def is_closed(self) -> bool:
        """Whether no servers are connected that files name: by `--strict-mcp-config`, or because an administrator names some."""
        return self.is_managed or self._services.settings.only_given

    @property
    def may_grow(self) -> bool:
        """Whether servers may come that nobody knows of yet."""
        return self._services.settings.may_grow

    @property
    def prompts(self) -> tuple[McpPrompt, ...]:
        """The prompts of the servers that are connected, as of now."""
        most = self._services.settings.output_chars
        return make_prompts(self._servers.values(), most=most, keep=partial(self._keeper.keep, "prompt"))

    async def find_prompt(self, name: str) -> McpPrompt:
        """Return the prompt that is called by a name; while servers are being connected, these are waited for.

        Raises:
            UsageError: There is none.
        """
        prompts = await self._expect(name, lambda: self.prompts)
        if name not in prompts:
            known = ", ".join(f"/{one}" for one in sorted(prompts)) or "none"
            raise UsageError(f"there is no prompt /{name}; there are: {known}")
        return prompts[name]

    async def find_tool(self, name: str) -> McpTool:
        """Return the tool that a model calls by a name; while servers are being connected, these are waited for.

        Raises:
            UsageError: There is none.
        """
        tools = await self._expect(name, lambda: self.tools)
        if name not in tools:
            known = ", ".join(sorted(tools)) or "none"
            raise UsageError(f"there is no tool {name} of an MCP server; there are: {known}{self._why_not()}")
        return tools[name]

    async def _expect(self, name: str, look: Callable[[], Iterable[Part]]) -> Mapping[str, Part]:
        """Return what there is by its names, as soon as something has this name, or nothing more is about to come."""
        while True:
            there = {one.name: one for one in look()}
            if name in there or not self._is_settling():
                return there
            await self._changed.wait()

    def _why_not(self) -> str:
        """Return which servers are not connected, in words that go behind others."""
        return "".join(f"; {one.name}: {one.why}" for one in self.states() if one.why)

    def with_resources(self) -> tuple[Server, ...]:
        """Return the servers that say that they have resources: those connected, and those that are about to be once more."""
        there = [one for one in self._servers.values() if one.status in {ServerStatus.CONNECTED, ServerStatus.PENDING}]
        return tuple(one for one in there if one.info.has_resources)

    def library(self, servers: Callable[[], Iterable[Server]]) -> Library:
        """Return what resources of these servers are looked at with."""
        return Library(servers, self._services.settings.output_chars, partial(self._keeper.keep, "resource"))

    @property
    def clashes(self) -> tuple[str, ...]:
        """Tools that are left out because another one has their name, a line each."""
        return self._clashes if self.tools or self._clashes else ()

    @property
    def instructions(self) -> Mapping[str, str]:
        """What connected servers want a model to know, by their names; none is longer than 2,048 characters."""
        there = [one for one in self._servers.values() if one.status is ServerStatus.CONNECTED]
        return {one.name: cut(one.info.instructions) for one in there if one.info.instructions}

    def states(self) -> tuple[ServerState, ...]:
        """Return how each server stands now, those included that are not to be connected."""
        disabled = [
            ServerState(
                name=one.config.name,
                status=ServerStatus.DISABLED,
                type=one.config.type,
                scope=one.config.scope.value,
                why=one.why,
            )
            for one in self._disabled
        ]
        return (*(one.state() for one in self._servers.values()), *disabled)

    def get(self, name: str) -> Server | None:
        """Return a server by its name; None where there is none."""
        return self._servers.get(name)

    def _server(self, name: str) -> Server:
        server = self._servers.get(name)
        if server is None:
            known = ", ".join(self._servers) or "none"
            raise UsageError(f"there is no MCP server {name!r} here; there are: {known}")
        return server

    # --- waiting ----------------------------------------------------------------------------------------------------

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever a status or a list of tools changes, in that step; return what ends that."""
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def _is_settling(self, names: Collection[str] | None = None) -> bool:
        asked_for = (one for one in self._servers.values() if names is None or one.name in names)
        return any(one.status is ServerStatus.PENDING for one in asked_for)

    async def wait_settled(self, timeout_s: float = REQUIRED_WAIT_S, names: Collection[str] | None = None) -> bool:
        """Wait until no server is being connected any more; returns whether that is so, or the time was up.

        Args:
            timeout_s: How long, in seconds.
            names: The servers that matter; None for all.
        """
        with trio.move_on_after(timeout_s):
            while self._is_settling(names):
                await self._changed.wait()
            return True
        return False

    async def wait_required(self, patterns: Collection[str], timeout_s: float = REQUIRED_WAIT_S) -> None:
        """Wait for the servers that an agent requires; it ends early as soon as one of them has failed.

        Args:
            patterns: Each means the servers whose names it is a part of, in any case.
            timeout_s: How long, in seconds.

        Raises:
            MissingServers: Some pattern has no server with tools.
        """
        with trio.move_on_after(timeout_s):
            while has_to_wait(patterns, self.states()):
                await self._changed.wait()
        states = self.states()
        lacking = missing(patterns, states)
        if lacking:
            raise MissingServers(lacking, dict(why_missing(lacking, states)))

    def _note_change(self) -> None:
        self._tools = None
        self._changed.set()
        self._changed = trio.Event()
        for listener in list(self._listeners):
            listener()


async def start_servers(
    supervisor: Supervisor,
    configs: Iterable[ServerConfig],
    services: McpServices,
    *,
    disabled: Iterable[DisabledServer] = (),
    broken: Iterable[BrokenServer] = (),
) -> McpServers:
    """Start the servers of a session under a supervisor `mcp`; returns before they are connected.

    They end with the supervisor, side by side. None of them can make it fail. Without any server nothing is started, and
    agents can still start their own with `start_more`.

    Args:
        supervisor: The session's.
        configs: What to connect, in the order of precedence.
        services: What with.
        disabled: Servers to be shown and not connected.
        broken: Entries to be told of that cannot be used.

    Raises:
        UsageError: Two servers have the same name.
    """
    servers = McpServers(Branch(supervisor), services, disabled, broken)
    await servers.start(configs)
    return servers

"""The servers of a session or of one agent: each a connection under a supervisor, and all their tools.

Rule 1: starting returns at once; a task that needs a server waits for it, with a deadline, and is notified of changes.
Rule 2: the same servers give the same tools in the same order. Rule 3: servers of an agent end with it, even if nobody
ends them explicitly.

Must not know: the SDK, agents, models.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeVar, final

import attrs
import trio

from greenroom.actors import Ref, Subscription
from greenroom.core import NameTaken, UsageError
from greenroom.mcp._call_results import text_of
from greenroom.mcp._configs import ServerConfig, ServerScope
from greenroom.mcp._connection import McpConnection
from greenroom.mcp._elicitations import Elicitation, ElicitationAnswer
from greenroom.mcp._entry_parser import BrokenServer
from greenroom.mcp._mcp_errors import MissingServers, ServerDown
from greenroom.mcp._mcp_services import Branch, McpServices
from greenroom.mcp._peer import OpenPeer
from greenroom.mcp._resources import Library
from greenroom.mcp._sdk import SdkPeers
from greenroom.mcp._server import Server, ServerState, has_to_wait, missing, why_missing
from greenroom.mcp._server_lifecycle import ServerStatus
from greenroom.mcp._server_prompts import McpPrompt, make_prompts
from greenroom.mcp._server_rules import ServerRules
from greenroom.mcp._server_sources import DisabledServer
from greenroom.mcp._server_tools import Keeper, McpTool, cut, make_tools
from greenroom.mcp._tool_names import hook_server, plain_name
from greenroom.supervisor import ChildSpec, Restart, Supervisor

Part = TypeVar("Part", McpPrompt, McpTool)
REQUIRED_WAIT_S: Final = 30.0
"""Seconds that an agent waits for the servers that it requires."""
_KILL_GRACE_S: Final = 6.0
"""A program has a second to end by itself, two more after TERM, and is then killed."""


@final
class McpServers:
    """A group of servers. Made by `start_servers` and `start_more`."""

    def __init__(
        self,
        branch: Branch,
        services: McpServices,
        disabled: Iterable[DisabledServer] = (),
        broken: Iterable[BrokenServer] = (),
    ) -> None:
        self.broken = tuple(broken)
        """Unusable entries."""
        self._branch = branch
        self._services = services
        on_push, recorded = services.on_push, None
        if services.effects is not None:
            from greenroom.mcp._peer_effects import PeerEffects  # for runs on record alone

            recorded = PeerEffects(services.effects, services.mask, on_push)
            on_push = recorded.push
        open_peer: OpenPeer = services.open_peer or SdkPeers(
            cwd=services.cwd,
            programs=services.programs,
            ports=services.ports,
            tokens=services.tokens,
            elicit=None if services.elicit is None else self.ask_person,
            on_elicited=services.on_elicited,
            on_push=on_push,
        )
        self._open_peer = open_peer if recorded is None else recorded.around(open_peer)
        self._keeper = Keeper(services.ports, services.output_folder)
        self._servers: dict[str, Server] = {}
        self._disabled = tuple(disabled)
        self._changed = trio.Event()
        self._listeners: dict[Callable[[], None], None] = {}
        self._tools: tuple[McpTool, ...] | None = None
        self._clashes: tuple[str, ...] = ()
        self._watch: Subscription | None = None

    def __repr__(self) -> str:
        return f"<McpServers {', '.join(f'{server.name}={server.status.value}' for server in self._servers.values())}>"

    # --- starting and ending ----------------------------------------------------------------------------------------

    async def start(self, configs: Iterable[ServerConfig]) -> None:
        """Start to connect servers; returns before they are connected.

        Raises:
            UsageError: Two of them have the same name, or the name of an existing server; none is started.
        """
        configs = list(configs)
        names = [*self._servers, *(config.name for config in configs)]
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise UsageError(f"the name of an MCP server must be unique, got {twice!r} twice")
        for config in configs:
            self._servers[config.name] = Server(config, self._services.settings, self._note_change)
        for config in configs:
            await self._connect(self._servers[config.name])

    async def start_more(self, configs: Iterable[ServerConfig], *, owner: Ref[Any] | None = None) -> McpServers:
        """Start servers of one agent beside these; only the returned object gives access to them.

        Args:
            configs: The servers.
            owner: The agent, if it exists already; otherwise call `end_with` as soon as it does, or `close` if it never
                will.
        """
        on_push = self._services.on_push
        services = attrs.evolve(
            self._services, on_push=lambda name, push: on_push(name, attrs.evolve(push, is_of_agent=True))
        )
        more = McpServers(self._branch, services)
        try:
            await more.start(configs)
        except BaseException:
            more.end("the agent was not started")
            raise
        if owner is not None:
            more.end_with(owner)
        return more

    def end_with(self, owner: Ref[Any]) -> None:
        """End these servers when an actor has terminated; at once if it has already."""
        if self._watch is not None:
            self._watch.cancel()
        self._watch = owner.watch(lambda _: self.end("its agent has ended"))

    def end(self, why: str = "ended") -> None:
        """End these servers, without waiting."""
        for server in self._servers.values():
            if server.ref is not None and not server.ref.is_gone:
                server.ref.kill(why)

    async def close(self) -> None:
        """End these servers, and wait until nothing is left of them. On cancellation, they end all the same."""
        self.end("closed")
        for server in self._servers.values():
            if server.ref is not None:
                await server.ref.wait_ended()

    async def reconnect(self, name: str) -> None:
        """Close the connection of a server, if any, and open another; returns before it is established.

        Raises:
            UsageError: The server does not exist.
        """
        server = self._server(name)
        if server.ref is not None and not server.ref.is_gone:
            server.ref.kill("it is being reconnected")
            await server.ref.wait_ended()
        await self._connect(server)

    async def set_enabled(self, name: str, *, enabled: bool) -> None:
        """Connect a disabled server, or disable a connected one; returns before a connection is established.

        Raises:
            UsageError: The server does not exist.
        """
        asked_for = next((entry for entry in self._disabled if entry.config.name == name), None)
        if asked_for is not None:
            if enabled:
                self._disabled = tuple(entry for entry in self._disabled if entry is not asked_for)
                await self.start([asked_for.config])
            return
        server = self._server(name)
        is_live = server.ref is not None and not server.ref.is_gone
        if enabled and not is_live:
            await self._connect(server)
        elif server.ref is not None and is_live and not enabled:
            server.ref.kill("it was disabled")
            await server.ref.wait_ended()

    async def _connect(self, server: Server) -> None:
        services = self._services
        spec = ChildSpec(restart=Restart.TEMPORARY, kill_grace_s=_KILL_GRACE_S)
        supervisor = await self._branch.supervisor()
        connection = partial(McpConnection, server, self._open_peer, services.settings, services.ports.chance)
        try:
            server.ref = await supervisor.spawn(connection, name=plain_name(server.name), spec=spec)
        except NameTaken:  # an agent's own server with the same name, or a name that differs in one replaced character
            server.ref = await supervisor.spawn(connection, spec=spec)

    async def call(self, server: str, tool: str, values: Mapping[str, Any]) -> str:
        """Call a tool for a hook, and return the text of its result, without its other parts.

        A server that is not connected fails at once, since hooks delay their turn.

        Raises:
            ServerDown: The server does not exist, or is not connected.
            CallFailed: The tool failed.
        """
        server = hook_server(server)
        found = self.get(server)
        if found is None:
            raise ServerDown(server, "no server has this name")
        return text_of(await found.call(tool, values, wait_s=0), tool, server)

    async def ask_person(self, asked: Elicitation) -> ElicitationAnswer:
        """Ask a person a question of one of these servers; see `Server.ask_person`."""
        elicit = self._services.elicit
        assert elicit is not None
        return await self._server(asked.server).ask_person(asked, elicit)

    # --- looking ----------------------------------------------------------------------------------------------------

    @property
    def tools(self) -> tuple[McpTool, ...]:
        """The tools of the connected servers; the same objects until something changes."""
        if self._tools is None:
            clashes: list[str] = []
            self._tools = make_tools(
                self._servers.values(),
                output_chars=self._services.settings.output_chars,
                keeper=self._keeper,
                on_clash=lambda name, server: clashes.append(
                    f"{name} of {server} is ignored: another tool has this name"
                ),
            )
            self._clashes = tuple(clashes)
        return self._tools

    @property
    def is_managed(self) -> bool:
        """True if an administrator determines the servers."""
        is_one = any(server.config.scope is ServerScope.MANAGED for server in self._servers.values())
        return self.rules.is_exclusive or is_one

    @property
    def rules(self) -> ServerRules:
        """Rules for which servers may be connected."""
        return self._services.rules

    @property
    def is_closed(self) -> bool:
        """True if servers from files are not connected: by `--strict-mcp-config`, or because an administrator names
        some.
        """
        return self.is_managed or self._services.settings.only_given

    @property
    def may_grow(self) -> bool:
        """True if servers may be added later."""
        return self._services.settings.may_grow

    @property
    def prompts(self) -> tuple[McpPrompt, ...]:
        """The prompts of the connected servers."""
        most = self._services.settings.output_chars
        return make_prompts(self._servers.values(), most=most, keep=partial(self._keeper.keep, "prompt"))

    async def find_prompt(self, name: str) -> McpPrompt:
        """Return the prompt of a name; waits while servers are being connected.

        Raises:
            UsageError: It does not exist.
        """
        prompts = await self._expect(name, lambda: self.prompts)
        if name not in prompts:
            known = ", ".join(f"/{prompt}" for prompt in sorted(prompts)) or "none"
            raise UsageError(f"unknown prompt /{name}; expected one of: {known}")
        return prompts[name]

    async def find_tool(self, name: str) -> McpTool:
        """Return the tool of a name; waits while servers are being connected.

        Raises:
            UsageError: It does not exist.
        """
        tools = await self._expect(name, lambda: self.tools)
        if name not in tools:
            known = ", ".join(sorted(tools)) or "none"
            raise UsageError(f"unknown MCP tool {name}; expected one of: {known}{self._why_not()}")
        return tools[name]

    async def _expect(self, name: str, look: Callable[[], Iterable[Part]]) -> Mapping[str, Part]:
        """Return the current items by name, as soon as one has this name, or no more can come."""
        while True:
            there = {part.name: part for part in look()}
            if name in there or not self._is_settling():
                return there
            await self._changed.wait()

    def _why_not(self) -> str:
        """Return the servers that are not connected, as the end of a message."""
        return "".join(f"; {state.name}: {state.why}" for state in self.states() if state.why)

    def with_resources(self) -> tuple[Server, ...]:
        """Return the servers that declare resources: connected, or about to be again."""
        there = [
            server
            for server in self._servers.values()
            if server.status in {ServerStatus.CONNECTED, ServerStatus.PENDING}
        ]
        return tuple(server for server in there if server.info.has_resources)

    def library(self, servers: Callable[[], Iterable[Server]]) -> Library:
        """Return the library for resources of these servers."""
        return Library(servers, self._services.settings.output_chars, partial(self._keeper.keep, "resource"))

    @property
    def clashes(self) -> tuple[str, ...]:
        """Tools that are ignored because another one has their name, one line each."""
        return self._clashes if self.tools or self._clashes else ()

    @property
    def instructions(self) -> Mapping[str, str]:
        """Instructions of connected servers for a model, by name; each at most 2,048 characters."""
        there = [server for server in self._servers.values() if server.status is ServerStatus.CONNECTED]
        return {server.name: cut(server.info.instructions) for server in there if server.info.instructions}

    def states(self) -> tuple[ServerState, ...]:
        """Return snapshots of all servers, including disabled ones."""
        disabled = [
            ServerState(
                name=entry.config.name,
                status=ServerStatus.DISABLED,
                type=entry.config.type,
                scope=entry.config.scope.value,
                why=entry.why,
            )
            for entry in self._disabled
        ]
        return (*(server.state() for server in self._servers.values()), *disabled)

    def get(self, name: str) -> Server | None:
        """Return a server by its name; None if it does not exist."""
        return self._servers.get(name)

    def _server(self, name: str) -> Server:
        server = self._servers.get(name)
        if server is None:
            known = ", ".join(self._servers) or "none"
            raise UsageError(f"unknown MCP server {name!r}; expected one of: {known}")
        return server

    # --- waiting ----------------------------------------------------------------------------------------------------

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever a status or a list of tools changes, in that step; return a function that
        unsubscribes.
        """
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def _is_settling(self, names: Collection[str] | None = None) -> bool:
        asked_for = (server for server in self._servers.values() if names is None or server.name in names)
        return any(server.status is ServerStatus.PENDING for server in asked_for)

    async def wait_settled(self, timeout_s: float = REQUIRED_WAIT_S, names: Collection[str] | None = None) -> bool:
        """Wait until no server is being connected; return False if the time was up.

        Args:
            timeout_s: Time limit, in seconds.
            names: The servers that matter; None for all.
        """
        with trio.move_on_after(timeout_s):
            while self._is_settling(names):
                await self._changed.wait()
            return True
        return False

    async def wait_required(self, patterns: Collection[str], timeout_s: float = REQUIRED_WAIT_S) -> None:
        """Wait for the servers that an agent requires; returns early as soon as one of them has failed.

        Args:
            patterns: Each matches the servers whose names contain it, ignoring case.
            timeout_s: Time limit, in seconds.

        Raises:
            MissingServers: Some pattern matches no server with tools.
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

    They end with the supervisor, side by side. None of them can make it fail. Without servers nothing is started, and
    agents can still start their own with `start_more`.

    Args:
        supervisor: The session's.
        configs: The servers, in order of precedence.
        services: Their resources.
        disabled: Servers to show but not to connect.
        broken: Unusable entries to report.

    Raises:
        UsageError: Two servers have the same name.
    """
    servers = McpServers(Branch(supervisor), services, disabled, broken)
    await servers.start(configs)
    return servers

"""Actor that keeps one server connected, and ends when it cannot be connected any longer.

Rule 1: one task opens and closes the connection; calls run in their callers' own tasks and block nothing. Rule 2: every
failure of the server ends this connection, as `Down` with the reason, or starts the next attempt; it never escapes
otherwise. Rule 3: every wait has a deadline or an end: a silent server is given up. Rule 4: a program that ended is not
restarted automatically: its input may have caused the end, and its state is lost. A remote server is retried, because
networks recover.

Must not know: the SDK.
"""

from __future__ import annotations

from typing import ClassVar, Final, Never, final

import attrs
import trio

from greenroom.actors import Behavior, Context
from greenroom.core import InternalError, Level
from greenroom.core.ports import Chance
from greenroom.core.texts import printable_text
from greenroom.mcp._configs import Http
from greenroom.mcp._events import (
    McpAuthNeeded,
    McpClosed,
    McpConnected,
    McpFailed,
    McpLost,
    McpPromptsChanged,
    McpRetried,
    McpStarted,
    McpToolsChanged,
)
from greenroom.mcp._mcp_errors import CallFailed, ServerDown, told
from greenroom.mcp._mcp_settings import McpSettings
from greenroom.mcp._peer import Change, ConnectionEnd, OpenPeer, Peer, PromptInfo, ToolInfo
from greenroom.mcp._server import Server
from greenroom.mcp._server_lifecycle import ServerStatus
from greenroom.supervisor import Backoff

FIRST_TRIES: Final = 3
"""Attempts to reach a remote server before it is given up."""
LATER_TRIES: Final = 5
"""Attempts after an established connection was lost."""
STABLE_S: Final = 60.0
"""Seconds after which a connection has its attempts back; one that fails earlier has not."""
BACKOFF: Final = Backoff(first_s=1.0, cap_s=30.0)
_WHY_CHARS: Final = 500
_PROMPTS_S: Final = 5.0
"""Time limit for listing prompts, in seconds; after it the server counts as connected without any."""
_FIRST_PAUSE_S: Final = 1.0
_MAX_PAUSE_S: Final = 60.0
_MAX_LEFT_OUT: Final = 20
_OPEN: Final = frozenset({ServerStatus.PENDING, ServerStatus.CONNECTED})


@final
@attrs.frozen(kw_only=True)
class _Ended:
    """The result of one attempt."""

    why: str
    needs_auth: bool
    is_over: bool
    stood_s: float | None
    """Duration of the connection; None if it was never established."""


@final
class McpConnection(Behavior[Never]):
    """Actor that keeps one server connected; it takes no messages. It ends as failed when the server is given up, and
    normally when its owner has gone.

    Args:
        server: The server, which receives all status changes.
        open_peer: Opens a connection.
        settings: Time limits.
        chance: Randomizes the retries.
    """

    actor_tasks = True
    journal: ClassVar[Level] = Level.LIFECYCLE

    def __init__(self, server: Server, open_peer: OpenPeer, settings: McpSettings, chance: Chance) -> None:
        self._server = server
        self._open = open_peer
        self._settings = settings
        self._chance = chance

    async def on_start(self, ctx: Context) -> None:
        """Start to connect; connecting continues after the start."""
        self._server.move(ctx, McpStarted, type=self._server.config.type)
        ctx.start_soon(self._keep, ctx, name=f"MCP server {self._server.name}")

    async def on_message(self, message: Never, ctx: Context) -> None:
        """Ignore the message: a connection takes none."""

    async def _keep(self, ctx: Context) -> None:
        server = self._server
        tries, stood_before = 0, False
        way = server.config.way
        has_helper = isinstance(way, Http) and bool(way.headers_helper)
        try:
            while True:
                ended = await self._connect(ctx)
                if ended.is_over:
                    server.move(ctx, McpClosed, why=ended.why)
                    ctx.ref.stop(why=ended.why)
                    return
                if ended.stood_s is None:
                    tries += 1
                else:
                    tries = 0 if ended.stood_s >= STABLE_S or not stood_before else tries + 1
                    stood_before = True
                # Headers of a helper expire: a lost connection is retried with new ones.
                is_renewed = ended.stood_s is not None and has_helper
                if ended.needs_auth and not is_renewed:
                    server.move(ctx, McpAuthNeeded, error=ended.why)
                    raise ServerDown(server.name, ended.why)
                wait_s = plan_retry(
                    is_stdio=not server.config.is_remote,
                    stood_before=stood_before,
                    tries=tries,
                    chance=self._chance.random(),
                )
                if wait_s is None:
                    server.move(ctx, McpFailed, error=ended.why)
                    raise ServerDown(server.name, ended.why)
                if ended.stood_s is None:
                    server.move(ctx, McpRetried, error=ended.why, tries=tries, wait_s=round(wait_s, 3))
                else:
                    server.move(ctx, McpLost, error=ended.why, wait_s=round(wait_s, 3))
                await trio.sleep(wait_s)
        except BaseException:
            if server.status in _OPEN:  # it was closed from this side, or our own code failed
                server.move(ctx, McpClosed)
            raise

    async def _connect(self, ctx: Context) -> _Ended:
        """Connect once, and stay until the connection ends."""
        server, limit_s = self._server, self._settings.start_timeout_s
        ending = ConnectionEnd()
        errors: list[BaseException] = []
        stood_since: float | None = None
        stood_s: float | None = None
        scope = trio.CancelScope(deadline=trio.current_time() + limit_s)
        try:
            with scope:
                async with self._open(server.config, ending) as peer:
                    tools = await peer.list_tools()
                    prompts, problem = await self._list_prompts(peer, min(_PROMPTS_S, limit_s / 2))
                    scope.deadline = float("inf")
                    stood_since = trio.current_time()
                    try:
                        self._take(ctx, peer, tools, prompts, problem)
                        await self._stay(ctx, peer)
                    finally:
                        stood_s = trio.current_time() - stood_since
                        # Before the server is stopped, which may take seconds: calls fail now.
                        server.close(ending.why or "the connection was closed")
        except* Exception as group:  # the boundary: a server is a foreign program
            errors.append(group)
            if group.subgroup(InternalError) is not None:
                raise
        why = ending.why or (told(errors[0]) if errors else "")
        if scope.cancelled_caught:
            why = f"it did not answer within {limit_s:g} s" + (f": {why}" if why else "")
        why = why or "it closed the connection"
        why = _line(f"{why}; it said: {ending.said}" if ending.said else why)
        return _Ended(why=why[:_WHY_CHARS], needs_auth=ending.needs_auth, is_over=ending.is_over, stood_s=stood_s)

    def _take(
        self,
        ctx: Context,
        peer: Peer,
        tools: tuple[ToolInfo, ...],
        prompts: tuple[PromptInfo, ...] | None,
        problem: str,
    ) -> None:
        info, server = peer.info, self._server
        server.open(peer, tools, prompts or ())
        says = _line(f"{info.name} {info.version}")[:_WHY_CHARS]
        count = len(server.prompts)
        left_out = _shown_of(peer.left_out)
        server.move(
            ctx, McpConnected, says=says, protocol=info.protocol, tools=len(tools), prompts=count, left_out=left_out
        )
        if prompts is None:
            server.move(ctx, McpPromptsChanged, prompts=0, error=problem)

    async def _list_prompts(self, peer: Peer, limit_s: float) -> tuple[tuple[PromptInfo, ...] | None, str]:
        """Return its prompts, or None with the reason if they cannot be read: a server is useful without them."""
        try:
            with trio.fail_after(limit_s):
                return await peer.list_prompts(), ""
        except (CallFailed, trio.TooSlowError) as problem:
            return None, _line(told(problem))[:_WHY_CHARS]

    async def _stay(self, ctx: Context, peer: Peer) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow, ctx, peer)
            await peer.wait_lost()
            nursery.cancel_scope.cancel("the connection was lost")

    async def _follow(self, ctx: Context, peer: Peer) -> None:
        """Read the tools and prompts again when the server reports a change; ever more rarely while it always does."""
        pause_s = _FIRST_PAUSE_S
        while True:
            waits_since_s = trio.current_time()
            changes = await peer.wait_changed()
            is_calm = trio.current_time() > waits_since_s + pause_s
            pause_s = _FIRST_PAUSE_S if is_calm else min(2 * pause_s, _MAX_PAUSE_S)
            if Change.TOOLS in changes:
                await self._read_tools(ctx, peer)
            if Change.PROMPTS in changes:
                await self._read_prompts(ctx, peer)
            await trio.sleep(pause_s)

    async def _read_tools(self, ctx: Context, peer: Peer) -> None:
        server = self._server
        try:
            with trio.fail_after(self._settings.start_timeout_s):
                tools = await peer.list_tools()
        except (CallFailed, trio.TooSlowError) as problem:  # the tools that it listed before can still be called
            server.move(ctx, McpToolsChanged, tools=len(server.tools), error=_line(told(problem))[:_WHY_CHARS])
            return
        if tools != server.tools:
            server.open(peer, tools, server.prompts)
            server.move(ctx, McpToolsChanged, tools=len(tools), left_out=_shown_of(peer.left_out))

    async def _read_prompts(self, ctx: Context, peer: Peer) -> None:
        server = self._server
        prompts, problem = await self._list_prompts(peer, self._settings.start_timeout_s)
        if prompts is None:
            server.move(ctx, McpPromptsChanged, prompts=len(server.prompts), error=problem)
        elif prompts != server.prompts:
            server.open(peer, server.tools, prompts)
            server.move(ctx, McpPromptsChanged, prompts=len(prompts))


def plan_retry(*, is_stdio: bool, stood_before: bool, tries: int, chance: float) -> float | None:
    """Return the seconds to wait before the next attempt; None gives up.

    Args:
        is_stdio: True for a program, which is not restarted.
        stood_before: True if it has been connected before.
        tries: Consecutive failed attempts; 0 right after an established connection was lost.
        chance: A number in [0, 1).
    """
    if is_stdio or tries >= (LATER_TRIES if stood_before else FIRST_TRIES):
        return None
    return BACKOFF.delay_s(tries if stood_before else tries - 1, chance)


def _shown_of(left_out: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_line(line)[:_WHY_CHARS] for line in left_out[:_MAX_LEFT_OUT])


def _line(text: str) -> str:
    """Return a text that a server has written as one line that is safe to print."""
    return printable_text(" ".join(text.split()))

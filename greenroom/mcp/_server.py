"""One server across its connections: its status, its lists, and its pending calls.

Rule 1: a status moves by an event, which is recorded in the same step. Rule 2: a call ends when its connection does, at
once: the caller's task waits in a scope that the connection may cancel. Rule 3: every wait has a deadline.

Must not know: how a connection is made.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Final, TypeVar, final

import attrs
import trio

from greenroom.actors import Context, Ref
from greenroom.mcp._configs import ServerConfig
from greenroom.mcp._dialogs import Dialogs
from greenroom.mcp._elicitation_actions import ElicitationAction
from greenroom.mcp._elicitations import Elicit, Elicitation, ElicitationAnswer
from greenroom.mcp._events import (
    McpAuthNeeded,
    McpClosed,
    McpConnected,
    McpEvent,
    McpFailed,
    McpLost,
    McpPromptsChanged,
    McpRetried,
    McpStarted,
    McpToolsChanged,
)
from greenroom.mcp._mcp_errors import CallFailed, ServerDown
from greenroom.mcp._mcp_settings import McpSettings
from greenroom.mcp._peer import CallResult, Part, Peer, PeerInfo, PromptInfo, PromptPart, ResourceInfo, ToolInfo
from greenroom.mcp._server_lifecycle import ServerStatus, step

T = TypeVar("T")

_NOTHING = PeerInfo()
_REASON_S: Final = 2.0


@attrs.define(eq=False)
class _PendingCall:
    ends_at: float
    idle_s: float
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    why: str = ""
    """The reason if it was ended from outside."""
    _stopped_at: float | None = None

    def renew(self) -> None:
        """Restart the idle deadline: the call makes progress."""
        if self._stopped_at is None:
            self.scope.deadline = min(self.ends_at, trio.current_time() + self.idle_s)

    def suspend(self) -> None:
        self._stopped_at, self.scope.deadline = trio.current_time(), math.inf

    def resume(self) -> None:
        if self._stopped_at is not None:
            self.ends_at += trio.current_time() - self._stopped_at
            self._stopped_at = None
        self.renew()


@final
@attrs.frozen(kw_only=True)
class ServerState:
    """A snapshot of a server's state."""

    name: str
    status: ServerStatus
    type: str
    """`stdio`, `http`, `sse`, `ws` or `sdk`."""
    scope: str
    why: str = ""
    """Why it is not connected."""
    tools: tuple[str, ...] = ()
    """The server's own names of its tools."""
    prompts: tuple[str, ...] = ()
    """The server's own names of its prompts."""
    left_out: tuple[str, ...] = ()
    """Unusable entries of its lists, one line each with the reason."""
    info: PeerInfo = _NOTHING
    calls: int = 0
    """Pending calls."""


@final
class Server:
    """A server across its connections."""

    def __init__(self, config: ServerConfig, settings: McpSettings, on_change: Callable[[], None]) -> None:
        self.config = config
        self.status = ServerStatus.DISABLED
        self.why = "it was not started"
        self.tools: tuple[ToolInfo, ...] = ()
        self.prompts: tuple[PromptInfo, ...] = ()
        self.info = _NOTHING
        self.ref: Ref[Any] | None = None
        """The current connection, or the last one."""
        self._settings = settings
        self._on_change = on_change
        self._changed = trio.Event()
        self._peer: Peer | None = None
        self._calls: dict[_PendingCall, None] = {}
        self.dialogs = Dialogs()
        """Its open questions to a person."""

    def __repr__(self) -> str:
        return f"<Server {self.name!r} {self.status.value} tools={len(self.tools)}>"

    @property
    def name(self) -> str:
        """Its name in this session."""
        return self.config.name

    @property
    def moves_after_s(self) -> float:
        """Seconds after which a call of the main agent moves to the background; infinite to wait until it ends."""
        return self._settings.background_after_s or math.inf

    def state(self) -> ServerState:
        """Return a snapshot of its state."""
        return ServerState(
            name=self.name,
            status=self.status,
            type=self.config.type,
            scope=self.config.scope.value,
            why=self.why,
            tools=tuple(tool.name for tool in self.tools),
            prompts=tuple(prompt.name for prompt in self.prompts),
            left_out=() if self._peer is None else self._peer.left_out,
            info=self.info,
            calls=len(self._calls),
        )

    # --- what its connection says -----------------------------------------------------------------------------------

    def move(self, ctx: Context, event_class: type[McpEvent], **values: Any) -> None:
        """Record an event, and apply it; called by the connection only."""
        event = event_class(actor=ctx.ref.id, inc=ctx.incarnation, parent=ctx.seq, server=self.name, **values)
        self.status = step(self.status, event)
        ctx.recorder.emit(event)
        match event:
            case McpStarted() | McpConnected() | McpToolsChanged() | McpPromptsChanged():
                self.why = ""
            case McpRetried() | McpLost() | McpFailed() | McpAuthNeeded():
                self.why = event.error
            case McpClosed():
                self.why = event.why or "it was ended"
        if self.status is not ServerStatus.CONNECTED:
            self.tools, self.prompts = (), ()
        self.note_change()

    def open(self, peer: Peer, tools: tuple[ToolInfo, ...], prompts: tuple[PromptInfo, ...] = ()) -> None:
        """Start to use an established connection and its lists."""
        self._peer = peer
        self.info = peer.info
        self.tools = tools
        self.prompts = prompts

    def close(self, why: str) -> None:
        """Drop the connection, and end the pending calls."""
        self._peer = None
        for call in list(self._calls):
            call.why = why
            call.scope.cancel("the connection was lost")

    def note_change(self) -> None:
        """Wake the tasks that wait for another status."""
        self._changed.set()
        self._changed = trio.Event()
        self._on_change()

    async def ask_person(self, asked: Elicitation, elicit: Elicit) -> ElicitationAnswer:
        """Ask a person a question of the server; while it is open, no deadline of its calls passes.

        If no person is available it is declined. It is withdrawn, and answered with `cancel`, when the last call that
        it may belong to has ended.
        """

        async def put() -> ElicitationAnswer:
            return await elicit(asked) or ElicitationAnswer(action=ElicitationAction.DECLINE)

        answer = await self.dialogs.ask(put, is_in_call=bool(self._calls))
        return answer or ElicitationAnswer(action=ElicitationAction.CANCEL)

    # --- what others want of it -------------------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        values: Mapping[str, Any],
        on_progress: Callable[[str], None] = lambda _: None,
        *,
        wait_s: float | None = None,
    ) -> CallResult:
        """Call a tool. On cancellation, the server is notified.

        Args:
            tool: The server's own name of it.
            values: The arguments.
            on_progress: Called with the server's progress message.
            wait_s: Time limit to wait for a server that is being connected; None for its start timeout.

        Raises:
            ServerDown: It is not connected, or was lost meanwhile.
            CallFailed: It answered with an error that is not a result, or not in time.
        """
        return await self._ask(tool, lambda peer, said: peer.call(tool, values, said), on_progress, wait_s=wait_s)

    async def get_prompt(self, prompt: str, values: Mapping[str, str]) -> tuple[PromptPart, ...]:
        """Return the messages of a prompt with its arguments filled in. Raises like `call`."""
        return await self._ask(f"the prompt {prompt}", lambda peer, _: peer.get_prompt(prompt, values))

    async def list_resources(self) -> tuple[ResourceInfo, ...]:
        """Return its current resources. Raises like `call`."""
        return await self._ask("the list of resources", lambda peer, _: peer.list_resources())

    async def read_resource(self, uri: str) -> tuple[Part, ...]:
        """Return the content of a resource. Raises like `call`."""
        return await self._ask(uri, lambda peer, _: peer.read_resource(uri))

    async def _ask(
        self,
        what: str,
        ask: Callable[[Peer, Callable[[str], None]], Awaitable[T]],
        on_progress: Callable[[str], None] = lambda _: None,
        *,
        wait_s: float | None = None,
    ) -> T:
        peer = await self._wait_peer(self._settings.start_timeout_s if wait_s is None else wait_s)
        settings = self._settings
        limit_s = settings.call_timeout_s if self.config.timeout_s is None else self.config.timeout_s
        idle_s = settings.idle_s(is_stdio=not self.config.is_remote)
        call = _PendingCall(trio.current_time() + limit_s, idle_s)

        def still_there(text: str) -> None:
            call.renew()
            if text:
                on_progress(text)

        call.renew()
        self._calls[call] = None
        try:
            with self.dialogs.holding(call), call.scope:
                return await ask(peer, still_there)
        except ServerDown as problem:
            call.why = problem.why
        finally:
            del self._calls[call]
            if not self._calls:
                self.dialogs.end_calls()
        if call.why:
            # The reason is known once the connection's block has been left, which is now or very soon.
            with trio.move_on_after(_REASON_S):
                while self.status is ServerStatus.CONNECTED:
                    await self._changed.wait()
            raise ServerDown(self.name, f"it was lost while it ran {what}: {self.why or call.why}")
        if trio.current_time() < call.ends_at:
            raise CallFailed(f"{what} of {self.name} made no progress for {idle_s:g} s, and was cancelled")
        raise CallFailed(f"{what} of {self.name} timed out after {limit_s:g} s, and was cancelled")

    async def _wait_peer(self, wait_s: float) -> Peer:
        with trio.move_on_after(wait_s):
            while self._peer is None and self.status is ServerStatus.PENDING and wait_s > 0:
                await self._changed.wait()
        if self._peer is None:
            raise ServerDown(self.name, self.why or "it is still being connected")
        return self._peer


# --- servers that an agent requires ------------------------------------------------------------------------------
#
# A pattern matches every server whose name contains it, ignoring case.


def is_meant(pattern: str, server: str) -> bool:
    """True if a pattern matches a server."""
    return pattern.casefold() in server.casefold()


def has_to_wait(patterns: Collection[str], states: Iterable[ServerState]) -> bool:
    """True if waiting may help: a matching server is being connected, and none has failed."""
    meant = [state.status for state in states if any(is_meant(pattern, state.name) for pattern in patterns)]
    return ServerStatus.PENDING in meant and ServerStatus.FAILED not in meant


def missing(patterns: Iterable[str], states: Collection[ServerState]) -> tuple[str, ...]:
    """Return the patterns that match no tools: a server that is being connected may never become usable."""
    usable = [state.name for state in states if state.tools]
    return tuple(pattern for pattern in patterns if not any(is_meant(pattern, name) for name in usable))


def why_missing(patterns: Collection[str], states: Iterable[ServerState]) -> Mapping[str, str]:
    """Return the reason for each server that a pattern matches and that has no tools."""
    return {
        state.name: state.why
        or ("it has no tools" if state.status is ServerStatus.CONNECTED else "it is being connected")
        for state in states
        if not state.tools and any(is_meant(pattern, state.name) for pattern in patterns)
    }

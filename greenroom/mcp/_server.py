"""One server across its connections: how it stands, what it offers, and the calls that are on their way.

Rule 1: a status moves by an event, which is put on record in the same step. Rule 2: a call ends when its connection does, at
once: it is the caller's task that waits, in a scope that the connection may cancel. Rule 3: nobody waits without a deadline.
Must not know: how a connection is made.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar, final

import attrs
import trio

from greenroom.actors import Context, Ref
from greenroom.mcp._configs import ServerConfig
from greenroom.mcp._dialogs import Dialogs
from greenroom.mcp._elicitation import Elicit, Elicitation, ElicitationAction, ElicitationAnswer
from greenroom.mcp._errors import CallFailed, ServerDown
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
from greenroom.mcp._lifecycle import ServerStatus, step
from greenroom.mcp._peer import CallResult, Part, Peer, PeerInfo, PromptInfo, PromptPart, ResourceInfo, ToolInfo
from greenroom.mcp._settings import McpSettings

T = TypeVar("T")

_NOTHING = PeerInfo()
_REASON_S: Final = 2.0


@attrs.define(eq=False)
class _Call:
    ends_at: float
    idle_s: float
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    why: str = ""
    """Why it was ended from outside."""
    _stopped_at: float | None = None

    def renew(self) -> None:
        """Hear that it is still at work."""
        if self._stopped_at is None:
            self.scope.deadline = min(self.ends_at, trio.current_time() + self.idle_s)

    def stop(self) -> None:
        self._stopped_at, self.scope.deadline = trio.current_time(), math.inf

    def go_on(self) -> None:
        if self._stopped_at is not None:
            self.ends_at += trio.current_time() - self._stopped_at
            self._stopped_at = None
        self.renew()


@final
@attrs.frozen(kw_only=True)
class ServerState:
    """How a server stands, as of one moment."""

    name: str
    status: ServerStatus
    type: str
    """`stdio`, `http`, `sse`, `ws` or `sdk`."""
    scope: str
    why: str = ""
    """Why it is not connected."""
    tools: tuple[str, ...] = ()
    """Its own names of its tools."""
    prompts: tuple[str, ...] = ()
    """Its own names of its prompts."""
    left_out: tuple[str, ...] = ()
    """What it lists and nobody can use, a line each with the reason."""
    info: PeerInfo = _NOTHING
    calls: int = 0
    """Calls that are on their way."""


@final
class Server:
    """A server that is, was or may be connected."""

    def __init__(self, config: ServerConfig, settings: McpSettings, on_change: Callable[[], None]) -> None:
        self.config = config
        self.status = ServerStatus.DISABLED
        self.why = "it was not started"
        self.tools: tuple[ToolInfo, ...] = ()
        self.prompts: tuple[PromptInfo, ...] = ()
        self.info = _NOTHING
        self.ref: Ref[Any] | None = None
        """The connection, or the last one."""
        self._settings = settings
        self._on_change = on_change
        self._changed = trio.Event()
        self._peer: Peer | None = None
        self._calls: dict[_Call, None] = {}
        self.dialogs = Dialogs()
        """What it asks a person now."""

    def __repr__(self) -> str:
        return f"<Server {self.name!r} {self.status.value} tools={len(self.tools)}>"

    @property
    def name(self) -> str:
        """What it is called in this session."""
        return self.config.name

    @property
    def moves_after_s(self) -> float:
        """How long the main agent waits for a call before it goes on in the background, in seconds; infinite for ever."""
        return self._settings.background_after_s or math.inf

    def state(self) -> ServerState:
        """Return how it stands now."""
        return ServerState(
            name=self.name,
            status=self.status,
            type=self.config.type,
            scope=self.config.scope.value,
            why=self.why,
            tools=tuple(one.name for one in self.tools),
            prompts=tuple(one.name for one in self.prompts),
            left_out=() if self._peer is None else self._peer.left_out,
            info=self.info,
            calls=len(self._calls),
        )

    # --- what its connection says -----------------------------------------------------------------------------------

    def move(self, ctx: Context, event_class: type[McpEvent], **values: Any) -> None:
        """Put an event on record, and be what it says; called by the connection alone."""
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
        """Take a connection that stands, and what it offers."""
        self._peer = peer
        self.info = peer.info
        self.tools = tools
        self.prompts = prompts

    def close(self, why: str) -> None:
        """Let go of the connection, and end the calls that are on their way."""
        self._peer = None
        for call in list(self._calls):
            call.why = why
            call.scope.cancel("the connection was lost")

    def note_change(self) -> None:
        """Wake whoever waits for another status."""
        self._changed.set()
        self._changed = trio.Event()
        self._on_change()

    async def ask_person(self, asked: Elicitation, elicit: Elicit) -> ElicitationAnswer:
        """Put a question of its before a person; while that is open, no deadline of its calls passes.

        Where nobody can be asked it is declined. It is taken back, and answered with `cancel`, when the last call has ended
        that it may belong to.
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
        """Call a tool. Cancelled, the server is told.

        Args:
            tool: The server's own name of it.
            values: The arguments.
            on_progress: Called with what the server says it is doing.
            wait_s: How long to wait for a server that is being connected; None for the time that it has to start.

        Raises:
            ServerDown: It is not connected, or was lost meanwhile.
            CallFailed: It answered with an error that is no result, or not in time.
        """
        return await self._ask(tool, lambda peer, said: peer.call(tool, values, said), on_progress, wait_s=wait_s)

    async def get_prompt(self, prompt: str, values: Mapping[str, str]) -> tuple[PromptPart, ...]:
        """Return what a prompt says, its arguments filled in. Raises as `call` does."""
        return await self._ask(f"the prompt {prompt}", lambda peer, _: peer.get_prompt(prompt, values))

    async def list_resources(self) -> tuple[ResourceInfo, ...]:
        """Return the resources that it has now. Raises as `call` does."""
        return await self._ask("the list of resources", lambda peer, _: peer.list_resources())

    async def read_resource(self, uri: str) -> tuple[Part, ...]:
        """Return what a resource holds. Raises as `call` does."""
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
        call = _Call(trio.current_time() + limit_s, idle_s)

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
            # Why it was lost is known once its connection has been left, which is now or very soon.
            with trio.move_on_after(_REASON_S):
                while self.status is ServerStatus.CONNECTED:
                    await self._changed.wait()
            raise ServerDown(self.name, f"it was lost while it ran {what}: {self.why or call.why}")
        if trio.current_time() < call.ends_at:
            raise CallFailed(f"{what} of {self.name} gave no sign of progress for {idle_s:g} s, and was cancelled")
        raise CallFailed(f"{what} of {self.name} did not end within {limit_s:g} s, and was cancelled")

    async def _wait_peer(self, wait_s: float) -> Peer:
        with trio.move_on_after(wait_s):
            while self._peer is None and self.status is ServerStatus.PENDING and wait_s > 0:
                await self._changed.wait()
        if self._peer is None:
            raise ServerDown(self.name, self.why or "it is still being connected")
        return self._peer

"""A chat over the gateway's protocol: what the user types goes there, events come back, and a break is healed.

Rule 1: a message has one key, however often it is sent; so it is said once. Rule 2: after a break or a gap the end of the conversation is
read anew. Rule 3: Esc and Ctrl+C end the turn, never a sub-agent; `/stop` ends both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final, final
from uuid import uuid4

import trio

from greenroom.core import UsageError
from greenroom.gateway.chat._chat_screen import ChatScreen, LineEditor
from greenroom.gateway.chat._chat_view import NOTE, ChatView
from greenroom.gateway.rpc._client import GatewayClient
from greenroom.gateway.rpc._rpc_frames import RpcError
from greenroom.serving import ConnectionEnded
from greenroom.terminal import Key, Press

FIRST_WAIT_S: Final = 0.5
MAX_WAIT_S: Final = 10.0
"""Longest time between two tries to connect again, in seconds."""
DECISIONS: Final[Mapping[str, str]] = {"y": "once", "a": "always", "n": "deny"}
HELP: Final = (
    "Enter sends; Esc or Ctrl+C ends the turn; Ctrl+D or /quit leaves.",
    "/stop ends the turn and all sub-agents; /approve ID once|always|deny answers a question; y, a or n alone answers the oldest one.",
    "Other lines that begin with / are commands of the gateway: /help there lists them.",
)
_READ: Final = 20
_REMEMBERED: Final = 100
LAST_S: Final = 2.0
"""Time for the reply of a run that has ended, in seconds."""


@final
class Chat:
    """One session in a terminal."""

    def __init__(
        self, connect: Callable[[], AbstractAsyncContextManager[GatewayClient]], session: str, screen: ChatScreen
    ) -> None:
        self.view = ChatView(session)
        self._connect = connect
        self._screen = screen
        self._editor = LineEditor()
        self._client: GatewayClient | None = None
        self._is_connected = trio.Event()
        self._scope = trio.CancelScope()
        self._pending: set[str] = set()
        self._over: deque[str] = deque(maxlen=_REMEMBERED)
        self._has_ended = True
        self._has_changed = trio.Event()

    async def converse(self) -> None:
        """Stay connected until `leave`.

        Raises:
            UsageError: The first try to connect failed.
            RpcError: The gateway refuses the token or the version.
        """
        wait_s, was_connected = FIRST_WAIT_S, False
        with self._scope:
            while True:
                try:
                    async with self._connect() as client:
                        await self._begin(client, is_again=was_connected)
                        wait_s, was_connected = FIRST_WAIT_S, True
                        await self._hear(client)
                except (UsageError, ConnectionEnded):
                    if not was_connected:
                        raise
                if self._client is not None:
                    self._client, self._is_connected = None, trio.Event()
                    self._note("the connection was lost; trying again")
                await trio.sleep(wait_s)
                wait_s = min(MAX_WAIT_S, 2 * wait_s)

    @property
    def is_busy(self) -> bool:
        """True while something is being done that can be aborted."""
        return self.view.is_busy or bool(self._pending) or not self._has_ended

    def leave(self) -> None:
        """End the chat."""
        self._scope.cancel("the user leaves")

    async def wait_answered(self) -> None:
        """Wait until everything that was sent from here is answered."""
        while self._pending:
            await self._has_changed.wait()
        with trio.move_on_after(LAST_S):  # the reply follows the end of its run
            while not self._has_ended:
                await self._has_changed.wait()

    # --- what comes ---------------------------------------------------------------------------------------------------

    async def _begin(self, client: GatewayClient, *, is_again: bool) -> None:
        await client.subscribe(["chat"], sessions=[self.view.session])
        await client.subscribe(["agent"])
        if "approve" in client.hello.get("scopes", ()):
            await client.subscribe(["approval"])
        await self._read_anew(client)
        self._client = client
        self._is_connected.set()
        if is_again:
            self._note("connected again")

    async def _hear(self, client: GatewayClient) -> None:
        async for event in client.events:
            if event.name == "gap":
                await self._read_anew(client)
                continue
            self._screen.show(self.view.fold(event.name, event.payload))
            if event.name == "chat" and event.payload.get("state") in {"final", "aborted", "error"}:
                self._has_ended = True
            if event.name == "agent" and event.payload.get("phase") == "end":
                self._over.append(str(event.payload.get("runId")))
                self._pending.discard(self._over[-1])
            self._draw()

    async def _read_anew(self, client: GatewayClient) -> None:
        messages: Any = []
        try:
            history = await client.call("chat.history", {"sessionKey": self.view.session, "limit": _READ})
            messages = history.get("messages") or []
        except RpcError as error:
            if error.code != "not_found":  # a session is made by its first message
                raise
        for run in list(self._pending):
            if (await client.call("agent.wait", {"runId": run, "timeoutMs": 0})).get("status") != "pending":
                self._pending.discard(run)
        self._has_ended |= not self._pending
        waiting: Any = (await client.call("approvals.list")).get("approvals") or []
        self._screen.show(self.view.read_anew(messages, waiting))
        self._draw()

    # --- what goes ----------------------------------------------------------------------------------------------------

    def press(self, key: Press) -> str | Callable[[], Awaitable[None]] | None:
        """Take a key into account; return the line that it completes, or what it asks for at once."""
        if key is Key.ESCAPE:
            return self.abort
        line = self._editor.press(key)
        self._draw()
        # Not by the key alone: the first letter of a message would be consent.
        if line is not None and line.strip() in DECISIONS and self.view.questions:
            return partial(self.decide, next(iter(self.view.questions)), DECISIONS[line.strip()])
        return line

    async def say(self, line: str) -> None:
        """Send a line, or do what it commands."""
        match line.split():
            case []:
                return
            case ["/quit" | "/exit"]:
                self.leave()
            case ["/keys"]:
                self._screen.show([f"{NOTE}{each}" for each in HELP])
            case ["/stop"]:
                await self._change("chat.abort", {})
                await self._change("subagents.stop", {"target": "all"})
            case ["/approve", id_, decision]:
                await self.decide(id_, decision)
            case _:
                if self._screen.is_live:
                    self._screen.show([f"> {line}"])
                self._has_ended = False
                answer = await self._change("chat.send", {"message": line})
                if answer is None:
                    self._has_ended = True
                elif answer.get("status") == "command":
                    self._has_ended = True
                    self._screen.show([f"{NOTE}{each}" for each in str(answer.get("reply", "")).splitlines()])
                elif answer.get("runId") and str(answer["runId"]) not in self._over:
                    self._pending.add(str(answer["runId"]))
        self._draw()

    async def abort(self) -> None:
        """End the turn; its sub-agents go on."""
        if self.is_busy:
            await self._change("chat.abort", {})

    async def decide(self, approval: str, decision: str) -> None:
        """Answer a question about a call."""
        if await self._change("approvals.resolve", {"approvalId": approval, "decision": decision}, of_session=False):
            self.view.questions.pop(approval, None)
            self._draw()

    async def _change(
        self, method: str, params: Mapping[str, Any], *, of_session: bool = True
    ) -> Mapping[str, Any] | None:
        """Make a change, over as many connections as it takes; None if the gateway refuses."""
        key = str(uuid4())
        session = {"sessionKey": self.view.session} if of_session else {}
        while True:
            await self._is_connected.wait()
            client = self._client
            assert client is not None
            try:
                return await client.change(method, {**params, **session}, key=key)
            except ConnectionEnded:
                await trio.sleep(FIRST_WAIT_S)
            except RpcError as error:
                self._note(error.message)
                return None

    def _note(self, text: str) -> None:
        self._screen.show([f"{NOTE}{text}"])
        self._draw()

    def _draw(self) -> None:
        self._screen.draw(self.view.partial, self.view.status, self._editor.text)
        self._has_changed.set()
        self._has_changed = trio.Event()

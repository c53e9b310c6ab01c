"""A headless run that a program talks to while it lasts: prompts, requests and answers on standard input.

Lines are taken up in their order; what a request changes has changed when its answer is written. What is said during a turn
goes into the session's queue; else it begins one. When standard input ends, what is asked is refused, and the run ends as
any other does. A line that cannot be used is said to be so, and ends nothing.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, final

import attrs
import trio

from greenroom.agents import PermissionQuestion
from greenroom.core import GreenroomError, UsageError
from greenroom.core.ports import Ports
from greenroom.headless._event_printer import EventPrinter
from greenroom.headless._hosted_servers import HostedServers, read_names
from greenroom.headless._opening import key_source
from greenroom.headless._printers import Writer
from greenroom.headless._protocol import (
    CAPABILITIES,
    Answered,
    Asked,
    UserSaid,
    callback_line,
    elicitation_line,
    question_line,
    read_decision,
    read_elicitation,
    read_line,
    receipt,
    refusal,
    rewound,
    success,
    withdrawal,
)
from greenroom.headless._slash_commands import commands_of, own_call
from greenroom.headless._stream_json import Line
from greenroom.hooks import HandlerFailed, HookSource, SourceKind, parse_callbacks
from greenroom.mcp import Elicitation, ElicitationAnswer, ServerState
from greenroom.permissions import Allow, Deny
from greenroom.session import Session
from greenroom.store import new_uuid
from greenroom.tasks import TERMINAL
from greenroom.terminal import complain

MAX_BYTES: Final = 10_000_000
"""Of one line."""
_PIECE: Final = 65_536


@final
class LineReader:
    """Reads lines of standard input without holding up anything else."""

    def __init__(self) -> None:
        self._stdin = sys.stdin
        self._buffered = b""
        self._is_at_end = self._stdin is None or self._stdin.closed

    async def next(self) -> bytes | None:
        """Return the next line; None at the end.

        Raises:
            UsageError: A line is longer than `MAX_BYTES`.
        """
        searched = 0
        while True:
            end = self._buffered.find(b"\n", searched)
            if end >= 0:
                line, self._buffered = self._buffered[:end], self._buffered[end + 1 :]
                return line
            if self._is_at_end:
                line, self._buffered = self._buffered, b""
                return line or None
            searched = len(self._buffered)
            if searched > MAX_BYTES:
                self._is_at_end, self._buffered = True, b""
                raise UsageError(f"a line is longer than {MAX_BYTES:,} bytes")
            piece = await self._read()
            self._is_at_end = not piece
            self._buffered += piece

    async def _read(self) -> bytes:
        try:
            descriptor = self._stdin.fileno()
        except (OSError, io.UnsupportedOperation):  # what takes its place in a test
            await trio.lowlevel.checkpoint()
            buffer = getattr(self._stdin, "buffer", None)
            return bytes(buffer.read(_PIECE)) if buffer is not None else self._stdin.read(_PIECE).encode()
        try:
            await trio.lowlevel.wait_readable(descriptor)
        except PermissionError:  # a file is always readable
            await trio.lowlevel.checkpoint()
        return os.read(descriptor, _PIECE)


@final
@attrs.define(eq=False)
class _Question:
    line: Line
    answer: Allow | Deny | None = None
    is_answered: trio.Event = attrs.field(factory=trio.Event)


@final
@attrs.define(eq=False)
class _Call:
    answer: Answered | None = None
    is_answered: trio.Event = attrs.field(factory=trio.Event)


@final
class Host:
    """The program at the other end.

    Args:
        writer: Takes the lines for it.
        ports: Ids.
    """

    def __init__(self, writer: Writer, ports: Ports) -> None:
        self._writer = writer
        self._ids = ports.ids
        self._session: Session | None = None
        self._events: EventPrinter | None = None
        self._questions: dict[str, _Question] = {}
        self._calls: dict[str, _Call] = {}
        self._servers = HostedServers(self._ask)
        self._said: dict[str, UserSaid] = {}
        """Messages that the program sent during turns, by our own ids."""
        self._put, self.prompts = trio.open_memory_channel[UserSaid](float("inf"))
        self._is_at_end = False
        self._was_initialized = False

    def close(self) -> None:
        """Take no more prompts."""
        self._put.close()

    async def open_servers(self, names: Sequence[str], session: Session) -> None:
        """Connect MCP servers of the program that the command line names; returns before they are connected.

        Raises:
            UsageError: One cannot be called so.
        """
        self._session = session
        await self._servers.add(names, session.servers)

    async def wait_servers(self) -> None:
        """Wait until no MCP server of the program is being connected any more: what it offers is there for the next turn."""
        if self._session is not None:
            await self._servers.wait_settled(self._session.servers)

    async def listen(self, session: Session, events: EventPrinter) -> None:
        """Process lines until standard input ends.

        Args:
            session: The session, open.
            events: Prints its events; knows the turn that runs, and the tasks.
        """
        self._session, self._events = session, events
        reader, number = LineReader(), 0
        try:
            while True:
                number += 1
                try:
                    line = await reader.next()
                    if line is None:
                        return
                    await self._take(line, session)
                except GreenroomError as error:
                    complain(f"standard input, line {number}: {error}", code=0)
        finally:
            self._is_at_end = True
            self.close()
            for question in self._questions.values():
                question.is_answered.set()
            self._servers.close()
            for call in self._calls.values():
                call.is_answered.set()

    async def _take(self, line: bytes, session: Session) -> None:
        said = read_line(line)
        match said:
            case UserSaid():
                self._say(said, session)
            case Answered() if said.id in self._calls:
                call = self._calls[said.id]
                call.answer = call.answer or said
                call.is_answered.set()
            case Answered():
                question = self._questions.get(said.id)
                if (
                    question is not None and not question.is_answered.is_set()
                ):  # else it was answered, or is not asked any more
                    question.answer = read_decision(said)
                    question.is_answered.set()
            case Asked():
                await self._do(said, session)

    def _say(self, said: UserSaid, session: Session) -> None:
        if not said.uuid:  # so that receipts, repetitions and requests to set files back call it the same
            said = attrs.evolve(said, uuid=new_uuid(self._ids))
        # A call of ours waits for the end of the turn, and what comes behind something that waits stays behind it.
        waits = own_call(said.text, session) is not None or self.prompts.statistics().current_buffer_used > 0
        if self._printing.is_in_turn and not waits:
            self._said[session.send(said.text, priority=said.priority, message_id=said.uuid)] = said
        else:
            with suppress(trio.ClosedResourceError):  # the run is being left
                self._put.send_nowait(said)

    @property
    def _printing(self) -> EventPrinter:
        assert self._events is not None
        return self._events

    def said_of(self, own: str) -> UserSaid | None:
        """Return what the program said during a turn, by the id that `session.send` gave it."""
        return self._said.get(own)

    def _name(self, own: str) -> str:
        """Return what the program calls what it said."""
        said = self._said.get(own)
        return own if said is None else said.uuid

    async def _do(self, asked: Asked, session: Session) -> None:
        handler = _REQUESTS.get(asked.subtype)
        try:
            if handler is None:
                raise UsageError(
                    f"unknown control request {asked.subtype!r}; expected one of: {', '.join(sorted(_REQUESTS))}"
                )
            answer = success(asked.id, await handler(self, session, asked.values))
        except GreenroomError as error:
            answer = refusal(asked.id, str(error))
        self._write(answer)

    def _write(self, line: Line) -> None:
        self._writer.put_line(line)

    # --- what it asks for ------------------------------------------------------------------------------------------

    async def _initialize(self, session: Session, values: Mapping[str, Any]) -> Line:
        agents = values.get("agents") or {}
        if not isinstance(agents, Mapping):
            raise UsageError("agents must be an object of definitions by their names")
        groups = values.get("hooks") or {}
        if not isinstance(groups, Mapping):
            raise UsageError("hooks must be an object: {event: [{matcher, hookCallbackIds}]}")
        parsed = parse_callbacks(groups, HookSource("initialize", SourceKind.HOST), self._call_back)
        if parsed.problems:
            raise UsageError("; ".join(map(str, parsed.problems)))
        servers = read_names(values.get("sdkMcpServers"))
        if agents:
            await session.agents.add_definitions(agents, source="initialize")
        await self._servers.add(servers, session.servers)
        if parsed.hooks:
            session.add_hooks(parsed)
        if values.get("forwardSubagentText") is True:
            self._printing.printer.show_text()
        answer: Line = {
            "commands": [
                {"name": command.name, "description": command.description, "argumentHint": command.argument_hint}
                for command in commands_of(session)
            ],
            "agents": [
                {"name": definition.name, "description": definition.description, "model": definition.model}
                for definition in session.agents.definitions.values()
            ],
            "models": [{"value": session.model, "displayName": session.model, "description": ""}],
            "output_style": "default",
            "available_output_styles": ["default"],
            "account": {"apiKeySource": key_source()},
            "capabilities": list(CAPABILITIES),
        }
        if self._was_initialized:
            answer["pending_permission_requests"] = [question.line for question in self._questions.values()]
            answer["background_tasks"] = self._printing.live_tasks()
        self._was_initialized = True
        return answer

    async def _interrupt(self, session: Session, values: Mapping[str, Any]) -> Line:
        drops = values.get("cancel_queued") is True
        done = session.interrupt("the program interrupted it", cancel_queued=drops)
        return receipt(map(self._name, done.still_queued), map(self._name, done.cancelled) if drops else None)

    async def _set_mode(self, session: Session, values: Mapping[str, Any]) -> Line:
        await session.permissions.set_mode(str(values.get("mode", "")))
        return {"mode": session.permissions.mode}

    async def _stop_task(self, session: Session, values: Mapping[str, Any]) -> Line:
        task_id = str(values.get("task_id", ""))
        task = session.tasks.find(task_id)
        if task is None:
            raise UsageError(f"No task found with ID: {task_id}")
        if task.state in TERMINAL:
            raise UsageError(f"Task {task_id} is not running (status: {task.state})")
        session.tasks.kill(task_id, "the program stopped it")
        return {}

    async def _mcp_message(self, session: Session, values: Mapping[str, Any]) -> Line:
        del session
        await trio.lowlevel.checkpoint()
        message = values.get("message")
        if not isinstance(message, Mapping):
            raise UsageError("mcp_message needs a server_name, and a message that is an object")
        self._servers.receive(str(values.get("server_name", "")), message)
        return {}

    async def _register_root(self, session: Session, values: Mapping[str, Any]) -> Line:
        folder = values.get("directory")
        if not isinstance(folder, str) or not folder:
            raise UsageError("register_repo_root needs directory, the path of a folder")
        return {"directory": str(await session.files.add_folder(folder))}

    async def _rewind_files(self, session: Session, values: Mapping[str, Any]) -> Line:
        message, dry_run = values.get("user_message_id"), values.get("dry_run") or False
        if not isinstance(message, str) or not message or not isinstance(dry_run, bool):
            raise UsageError("rewind_files needs user_message_id, the uuid of a message; dry_run is true or false")
        try:
            return rewound(await session.files.rewind(message, dry_run=dry_run))
        except UsageError as error:
            if not dry_run:
                raise
            return {"canRewind": False, "error": str(error)}

    async def _mcp_status(self, session: Session, values: Mapping[str, Any]) -> Line:
        del values
        await trio.lowlevel.checkpoint()
        return {"mcpServers": [_server(state) for state in session.servers.states()]}

    async def _mcp_reconnect(self, session: Session, values: Mapping[str, Any]) -> Line:
        await session.servers.reconnect(str(values.get("serverName", "")))
        return {}

    async def _mcp_toggle(self, session: Session, values: Mapping[str, Any]) -> Line:
        enabled = values.get("enabled")
        if not isinstance(enabled, bool):
            raise UsageError("mcp_toggle needs enabled, true or false")
        await session.servers.set_enabled(str(values.get("serverName", "")), enabled=enabled)
        return {}

    # --- what it is asked ------------------------------------------------------------------------------------------

    def _ask(self, make: Callable[[str], Line]) -> Awaitable[Answered | None]:
        """Write a request at once, and return what waits for its answer: None where the program has gone.

        Args:
            make: Returns the line, given the id of the request.
        """
        request, call = new_uuid(self._ids), _Call()
        if self._is_at_end:
            call.is_answered.set()
        else:
            self._calls[request] = call
            self._write(make(request))
        return self._wait_answer(request, call)

    async def _wait_answer(self, request: str, call: _Call) -> Answered | None:
        """Wait for an answer; cancelled, the program is told that there need not be one."""
        try:
            await call.is_answered.wait()
        except trio.Cancelled:
            if request in self._calls:
                self._write(withdrawal(request))
            raise
        finally:
            self._calls.pop(request, None)
        return call.answer

    async def _call_back(self, callback: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a hook of the program; if cancelled, the request is withdrawn.

        Raises:
            HandlerFailed: It has gone, or says that it cannot.
        """
        if self._is_at_end:
            raise HandlerFailed("the program does not listen any more")
        answer = await self._ask(lambda request: callback_line(request, callback, told))
        if answer is None or answer.error:
            raise HandlerFailed("the program has gone" if answer is None else answer.error)
        return answer.values

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer | None:
        """Put a question of an MCP server before the program's user; cancelled, it is withdrawn.

        Returns:
            The answer; None where the program has gone.

        Raises:
            UsageError: The program says that it cannot ask, or its answer cannot be read.
        """
        answer = await self._ask(lambda request: elicitation_line(request, asked))
        return None if answer is None else read_elicitation(answer)

    async def can_use_tool(self, question: PermissionQuestion) -> Allow | Deny | None:
        """Ask the program about a call; cancelled, the question is withdrawn."""
        if self._is_at_end:
            return None
        request = new_uuid(self._ids)
        is_main = self._session is not None and question.agent == self._session.main.id
        asked = _Question(question_line(request, question, is_main=is_main))
        self._questions[request] = asked
        self._write(asked.line)
        try:
            await asked.is_answered.wait()
        except trio.Cancelled:
            self._write(withdrawal(request))
            raise
        finally:
            del self._questions[request]
        return asked.answer


_REQUESTS: Final[Mapping[str, Callable[[Host, Session, Mapping[str, Any]], Awaitable[Line]]]] = {
    "initialize": Host._initialize,
    "interrupt": Host._interrupt,
    "mcp_message": Host._mcp_message,
    "mcp_reconnect": Host._mcp_reconnect,
    "mcp_status": Host._mcp_status,
    "mcp_toggle": Host._mcp_toggle,
    "register_repo_root": Host._register_root,
    "rewind_files": Host._rewind_files,
    "set_permission_mode": Host._set_mode,
    "stop_task": Host._stop_task,
}


def _server(one: ServerState) -> Line:
    line: Line = {"name": one.name, "status": one.status.value, "scope": one.scope}
    if one.info.name:
        line["serverInfo"] = {"name": one.info.name, "version": one.info.version}
    if one.why:
        line["error"] = one.why
    if one.left_out:
        line["leftOut"] = list(one.left_out)
    return line | {"tools": [{"name": name} for name in one.tools]}

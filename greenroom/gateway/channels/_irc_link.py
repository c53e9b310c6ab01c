"""One connection to an IRC server: lines in and out, receipts of what was sent, and questions about people.

Rule 1: one task writes, so a sender that is cancelled leaves no half line. Rule 2: behind the lines of a text goes a `PING`; its `PONG`
says that the server has taken them, and an error for their target before it that it has not. Rule 3: only the `PONG` of a second `PING`
is the receipt: a server that writes to its clients in turn has by then written the text to its readers, too, so a kill cannot lose it.
Rule 4: when the connection ends, every text that was begun and has no receipt is unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, final

import attrs
import trio

from greenroom.core import PeerError, open_bare_nursery
from greenroom.gateway.channels._irc_lines import IrcLine, fold_name, format_line, parse_line
from greenroom.gateway.channels._irc_registration import Registration
from greenroom.gateway.record._machines import SendResult
from greenroom.gateway.routing._chat_messages import SendReceipt

BURST: Final = 5
"""Lines that are sent at once."""
PACE_S: Final = 0.6
"""Seconds for each further line."""
SILENCE_S: Final = 60.0
"""Silence after which the server is asked whether it is there; after twice as long it is not."""
RECEIPT_S: Final = 60.0
"""Time for a receipt."""
CONFIRMATIONS: Final = 2
"""Answers of the server after which a text has its receipt."""
LOGIN_S: Final = 30.0
"""Time for a login."""
_WHOIS_S: Final = 10.0
_CHUNK_BYTES: Final = 4_096
_MAX_LINE_BYTES: Final = 16_384
_RECEIPT: Final = "greenroom-"
_REFUSALS: Final = frozenset(
    {"401", "403", "404", "407", "411", "412", "413", "414", "415", "477", "486", "488", "489", "492", "494", "531"}
)
"""Answers to a text that is not delivered."""
_LOST: Final = (trio.BrokenResourceError, trio.ClosedResourceError, trio.EndOfChannel)


@final
class Pace:
    """A limit on lines: some at once, then one in a while."""

    def __init__(self, burst: int = BURST, pace_s: float = PACE_S) -> None:
        self._burst = burst
        self._pace_s = pace_s
        self._free_s = -1e9
        self._lock = trio.StrictFIFOLock()

    async def wait(self) -> None:
        """Return when a line may be sent; first come, first served."""
        async with self._lock:
            now = trio.current_time()
            self._free_s = max(self._free_s, now - (self._burst - 1) * self._pace_s)
            await trio.sleep_until(max(self._free_s, now))
            self._free_s += self._pace_s


@final
@attrs.define(eq=False)
class _PendingText:
    """A text that was begun, and has no receipt yet."""

    target: str
    answers: int = 0
    """Answers of the server to the questions behind it."""
    receipt: SendReceipt | None = None
    ended: trio.Event = attrs.field(factory=trio.Event)

    def end(self, result: SendResult, why: str = "") -> None:
        if self.receipt is None:
            self.receipt = SendReceipt(result=result, why=why)
            self.ended.set()


@final
@attrs.define(eq=False)
class Whois:
    """The answer to a question about a nick."""

    mask: str = ""
    """`nick!user@host`; empty if nobody has the nick."""
    account: str = ""
    is_program: bool = False
    ended: trio.Event = attrs.field(factory=trio.Event)


@final
class IrcLink:
    """A connection that is logged in. Made by `open_irc_link`."""

    def __init__(self, stream: trio.abc.Stream, registration: Registration) -> None:
        self.registration = registration
        self.own_prefix = ""
        """Our `nick!user@host` as the server shows it; empty until it has."""
        self._stream = stream
        self._pending = b""
        self._lines: list[IrcLine] = []
        self._to_write, self._out = trio.open_memory_channel[bytes](64)
        self._numbers = itertools.count(1)
        self._sent: dict[str, _PendingText] = {}
        self._questions: dict[str, Whois] = {}
        self._asking = trio.StrictFIFOLock()
        self.pace = Pace()

    @property
    def nick(self) -> str:
        """Our nick."""
        return self.registration.nick

    def fold(self, name: str) -> str:
        """Return a name in the form in which this server compares it."""
        return fold_name(name, self.registration.mapping)

    async def write(self, *lines: bytes) -> None:
        """Hand lines to the writer.

        Raises:
            trio.BrokenResourceError, trio.ClosedResourceError: The connection has ended.
        """
        for line in lines:
            await self._to_write.send(line)

    async def login(self) -> None:
        """Log in.

        Raises:
            PeerError: The server refuses, or does not answer in time.
        """
        with trio.move_on_after(LOGIN_S):
            await self.write(*self.registration.begin())
            while not self.registration.is_done:
                line = await self._next_line()
                if line.command == "PING":
                    await self.write(format_line("PONG", line.param(-1)))
                await self.write(*self.registration.take(line))
            return
        raise PeerError(f"the server did not finish the login within {LOGIN_S:g} s")

    async def next_line(self) -> IrcLine:
        """Return the next line that is not for the connection itself.

        Raises:
            PeerError: The server has gone, or is silent.
        """
        while True:
            line: IrcLine | None = None
            for _ in range(2):
                with trio.move_on_after(SILENCE_S):
                    line = await self._next_line()
                    break
                await self.write(format_line("PING", "still there"))
            if line is None:
                raise PeerError(f"the server is silent for {2 * SILENCE_S:g} s")
            if not await self._take(line):
                return line

    async def _next_line(self) -> IrcLine:
        while not self._lines:
            try:
                chunk = await self._stream.receive_some(_CHUNK_BYTES)
            except _LOST:
                chunk = b""
            if not chunk:
                raise PeerError("the server closed the connection")
            *lines, self._pending = (self._pending + bytes(chunk)).split(b"\n")
            if len(self._pending) > _MAX_LINE_BYTES:
                raise PeerError("the server sent a line without an end")
            self._lines += [line for line in map(parse_line, lines) if line is not None]
        return self._lines.pop(0)

    async def _take(self, line: IrcLine) -> bool:
        """True if a line was for the connection itself."""
        match line.command:
            case "PING":
                await self.write(format_line("PONG", line.param(-1)))
            case "PONG":
                await self._confirm(line.param(-1))
            case "ERROR":
                raise PeerError(f"the server ended the connection: {line.param(-1)}")
            case "311" | "330" | "335" | "318":
                self._answer(line)
            case refusal if refusal in _REFUSALS:
                self._refuse(line)
            case _:
                return False
        return True

    # --- texts ------------------------------------------------------------------------------------------------------

    async def say(self, target: str, lines: Sequence[str]) -> SendReceipt:
        """Send the lines of a text, and return what became of them. If it is cancelled, that is unknown.

        Raises:
            UsageError: The target is not one word.
        """
        messages = [format_line("PRIVMSG", target, line) for line in lines]
        token, sent, is_begun = f"{_RECEIPT}{next(self._numbers)}", _PendingText(self.fold(target)), False
        self._sent[token] = sent
        try:
            for message in messages:
                await self.pace.wait()
                if sent.receipt is not None:
                    return sent.receipt
                is_begun = True  # from here on the writer may have it, whatever becomes of this task
                await self.write(message)
            await self.write(format_line("PING", token))
            with trio.move_on_after(RECEIPT_S):
                await sent.ended.wait()
        except _LOST:
            if not is_begun:
                return SendReceipt(result=SendResult.FAILED, why="the connection has ended")
        finally:
            del self._sent[token]
        return sent.receipt or SendReceipt(
            result=SendResult.UNKNOWN, why="the connection ended before the server had confirmed the text"
        )

    async def _confirm(self, token: str) -> None:
        sent = self._sent.get(token)
        if sent is None:
            return
        sent.answers += 1
        if sent.answers < CONFIRMATIONS:
            await self.write(format_line("PING", token))
        else:
            sent.end(SendResult.TAKEN)

    def _refuse(self, line: IrcLine) -> None:
        target, why = self.fold(line.param(1)), f"{line.command} {line.param(-1)}"
        question = self._questions.get(target)
        if question is not None and line.command == "401":
            question.ended.set()
        # Answers come in the order of the texts: the oldest one without an answer is the one that is refused.
        waiting = (each for each in self._sent.values() if each.target == target and not each.answers)
        oldest = next((each for each in waiting if each.receipt is None), None)
        if oldest is not None:
            oldest.end(SendResult.REFUSED, why)

    # --- people -----------------------------------------------------------------------------------------------------

    async def whois(self, nick: str) -> Whois | None:
        """Return what the server says about a nick; None if it does not answer."""
        async with self._asking:
            question = self._questions[self.fold(nick)] = Whois()
            try:
                await self.pace.wait()
                await self.write(format_line("WHOIS", nick))
                with trio.move_on_after(_WHOIS_S):
                    await question.ended.wait()
                    return question
            except _LOST:
                pass
            finally:
                del self._questions[self.fold(nick)]
        return None

    def _answer(self, line: IrcLine) -> None:
        question = self._questions.get(self.fold(line.param(1)))
        if question is None:
            return
        match line.command:
            case "311":
                question.mask = f"{line.param(1)}!{line.param(2)}@{line.param(3)}"
            case "330":
                question.account = line.param(2)
            case "335":
                question.is_program = True
            case _:
                question.ended.set()

    # --- the end ----------------------------------------------------------------------------------------------------

    async def write_all(self) -> None:
        """Write what is handed over, until the connection ends."""
        try:
            async for line in self._out:
                await self._stream.send_all(line)
        except _LOST:
            pass
        finally:
            self._out.close()  # from now on nobody can hand over anything

    def end(self) -> None:
        """Settle what waits: no answer will come."""
        self._to_write.close()
        self._out.close()
        for sent in self._sent.values():
            sent.end(SendResult.UNKNOWN, "the connection ended before the server had confirmed the text")
        for question in self._questions.values():
            question.ended.set()


@asynccontextmanager
async def open_irc_link(stream: trio.abc.Stream, registration: Registration) -> AsyncIterator[IrcLink]:
    """Log in over a stream; leaving the block ends the connection and closes the stream.

    Raises:
        PeerError: The server refuses the login, or does not answer in time.
    """
    link = IrcLink(stream, registration)
    try:
        async with open_bare_nursery() as nursery:
            nursery.start_soon(link.write_all)
            try:
                await link.login()
                yield link
            finally:
                link.end()
                nursery.cancel_scope.cancel()
    finally:
        link.end()
        await trio.aclose_forcefully(stream)

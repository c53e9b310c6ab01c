"""An IRC server in memory, with one person `ann` who writes to the agent, and faults on request."""

from __future__ import annotations

import base64
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio
import trio.testing

from greenroom.core import PeerError
from greenroom.gateway.channels import ChatRoute, PeerKind
from greenroom.gateway.channels._irc import IrcClient
from greenroom.gateway.channels._irc_lines import IrcLine, parse_line
from greenroom.gateway.config._channels import IrcAccount
from greenroom.gateway.config._values import Secret
from greenroom.testing import virtual_ports

ANN = "ann!~ann@here"


@attrs.define(eq=False, slots=False)
class Visit:
    """A client, as the server sees it."""

    stream: trio.abc.Stream
    nick: str = "*"
    is_negotiating: bool = False
    is_welcome: bool = False
    modes: str = ""
    coded: str = ""

    def __attrs_post_init__(self) -> None:
        self._to_write, self._out = trio.open_memory_channel[bytes](math.inf)

    async def tell(self, *lines: str) -> None:
        self.tell_nowait(*lines)
        await trio.lowlevel.checkpoint()

    def tell_nowait(self, *lines: str) -> None:
        self._to_write.send_nowait("".join(f"{line}\r\n" for line in lines).encode())

    async def write_all(self) -> None:
        try:
            async for chunk in self._out:
                await self.stream.send_all(chunk)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass


@attrs.define(eq=False)
class ScriptedIrc:
    """The server. Settings first, then what a test reads."""

    nursery: trio.Nursery
    capabilities: tuple[str, ...] = ()
    password: str = ""
    support: str = "CASEMAPPING=ascii CHANTYPES=#"
    modes: str = "abB"
    accounts: dict[str, str] = attrs.field(factory=dict)
    """Accounts that people are logged in to, by nick."""
    hosts: dict[str, str] = attrs.field(factory=lambda: {"ann": ANN})
    programs: set[str] = attrs.field(factory=set)
    taken_nicks: set[str] = attrs.field(factory=set)
    is_up: bool = True
    answers_pings: bool = True
    most_answers: float = math.inf
    """Questions that are answered; behind the last answer the server ends."""
    visits: list[Visit] = attrs.field(factory=list)
    received: list[bytes] = attrs.field(factory=list)
    """All lines of all clients."""
    times: list[float] = attrs.field(factory=list)
    """When each message came in."""
    messages: list[tuple[str, str]] = attrs.field(factory=list)
    """Target and text."""
    attempts: list[float] = attrs.field(factory=list)
    route: ChatRoute = attrs.field(factory=lambda: ChatRoute(channel="irc", kind=PeerKind.DIRECT, peer=ANN))

    # --- what the kit uses --------------------------------------------------------------------------------------------

    @property
    def shown(self) -> list[str]:
        return [text for target, text in self.messages if target in {"ann", "#room"}]

    @property
    def open_connections(self) -> int:
        return len(self.visits)

    def make(self, name: str = "default", **settings: Any) -> IrcClient:
        secret = {"password": Secret("text", (self.password,))} if self.password else {}
        account = IrcAccount(**{"host": "localhost", "nick": "agent", "tls": False, **secret, **settings})
        return IrcClient(name, account, ports=virtual_ports(), read_secret=_plain, open_stream=lambda _: self.connect())

    def write(self, text: str, *, is_program: bool = False) -> None:
        self.say("NOTICE" if is_program else "PRIVMSG", self.visits[-1].nick, text)

    def cut(self) -> None:
        for visit in list(self.visits):
            self.nursery.start_soon(trio.aclose_forcefully, visit.stream)

    def set_up(self, *, is_up: bool) -> None:
        self.is_up = is_up

    # --- what tests use -----------------------------------------------------------------------------------------------

    def say(self, command: str, target: str, text: str, *, source: str = ANN, tags: str = "") -> None:
        line = f"{'@' + tags + ' ' if tags else ''}:{source} {command} {target} :{text}"
        self.visits[-1].tell_nowait(line)

    async def connect(self) -> trio.abc.Stream:
        self.attempts.append(trio.current_time())
        await trio.lowlevel.checkpoint()
        if not self.is_up:
            raise PeerError("cannot connect")
        ours, theirs = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self._serve, Visit(theirs))
        return ours

    async def _serve(self, visit: Visit) -> None:
        self.visits.append(visit)
        self.nursery.start_soon(visit.write_all)
        pending = b""
        try:
            while chunk := await visit.stream.receive_some():
                *lines, pending = (pending + bytes(chunk)).split(b"\r\n")
                for raw in lines:
                    self.received.append(raw)
                    line = parse_line(raw)
                    if line is not None:
                        await self._take(visit, line)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            self.visits.remove(visit)
            await trio.aclose_forcefully(visit.stream)

    async def _take(self, visit: Visit, line: IrcLine) -> None:
        handlers: dict[str, Callable[[Visit, IrcLine], Any]] = {
            "CAP": self._cap,
            "AUTHENTICATE": self._authenticate,
            "NICK": self._nick,
            "USER": self._user,
            "PING": self._ping,
            "PRIVMSG": self._message,
            "WHOIS": self._whois,
            "MODE": self._mode,
            "QUIT": self._quit,
        }
        handler = handlers.get(line.command)
        if handler is not None:
            await handler(visit, line)

    async def _cap(self, visit: Visit, line: IrcLine) -> None:
        match line.param(0):
            case "LS":
                visit.is_negotiating = True
                names = [*self.capabilities, *(["sasl=PLAIN"] if self.password else [])]
                half = len(names) // 2
                await visit.tell(f":s CAP * LS * :{' '.join(names[:half])}", f":s CAP * LS :{' '.join(names[half:])}")
            case "REQ":
                await visit.tell(f":s CAP * ACK :{line.param(-1)}")
            case "END":
                visit.is_negotiating = False
                await self._welcome(visit)

    async def _authenticate(self, visit: Visit, line: IrcLine) -> None:
        if line.param(0) == "PLAIN":
            await visit.tell("AUTHENTICATE +")
            return
        visit.coded += line.param(0).rstrip("+")
        if len(line.param(0)) == 400:
            return
        _, _, password = base64.b64decode(visit.coded).decode().split("\0")
        await visit.tell(":s 903 * :in" if password == self.password else ":s 904 * :wrong password")

    async def _nick(self, visit: Visit, line: IrcLine) -> None:
        if line.param(0) in self.taken_nicks:
            await visit.tell(f":s 433 * {line.param(0)} :taken")
            return
        visit.nick = line.param(0)
        await self._welcome(visit)

    async def _user(self, visit: Visit, line: IrcLine) -> None:
        visit.modes = "+"
        await self._welcome(visit)

    async def _welcome(self, visit: Visit) -> None:
        if visit.is_welcome or visit.is_negotiating or visit.nick == "*" or not visit.modes:
            return
        visit.is_welcome = True
        await visit.tell(
            f":s 001 {visit.nick} :welcome",
            f":s 004 {visit.nick} s v1 {self.modes} abc",
            f":s 005 {visit.nick} {self.support} :are supported",
            f":s 376 {visit.nick} :end",
        )

    async def _ping(self, visit: Visit, line: IrcLine) -> None:
        if self.answers_pings and self.most_answers > 0:
            self.most_answers -= 1
            await visit.tell(f":s PONG s :{line.param(-1)}")
            if self.most_answers == 0:
                await trio.sleep(1)
                self.cut()

    async def _message(self, visit: Visit, line: IrcLine) -> None:
        target, text = line.params
        if target.lower() not in {"#room", *self.hosts}:
            await visit.tell(f":s 401 {visit.nick} {target} :no such nick")
            return
        self.messages.append((target, text))
        self.times.append(trio.current_time())
        await visit.tell(f":{visit.nick}!~a@h {line.command} {target} :{text}")

    async def _whois(self, visit: Visit, line: IrcLine) -> None:
        nick, me = line.param(0), visit.nick
        mask = self.hosts.get(nick)
        if mask is None:
            await visit.tell(f":s 401 {me} {nick} :no such nick", f":s 318 {me} {nick} :end")
            return
        user, _, host = mask.partition("!")[2].partition("@")
        lines = [f":s 311 {me} {nick} {user} {host} * :x"]
        if nick in self.accounts:
            lines.append(f":s 330 {me} {nick} {self.accounts[nick]} :is logged in as")
        if nick in self.programs:
            lines.append(f":s 335 {me} {nick} :is a bot")
        await visit.tell(*lines, f":s 318 {me} {nick} :end")

    async def _mode(self, visit: Visit, line: IrcLine) -> None:
        visit.modes += line.param(1)

    async def _quit(self, visit: Visit, line: IrcLine) -> None:
        await trio.aclose_forcefully(visit.stream)


async def _plain(secret: Secret) -> str:
    await trio.lowlevel.checkpoint()
    return secret.reference[0]


@asynccontextmanager
async def open_scripted_irc(**settings: Any) -> AsyncIterator[ScriptedIrc]:
    async with trio.open_nursery() as nursery:
        yield ScriptedIrc(nursery, **settings)
        nursery.cancel_scope.cancel()

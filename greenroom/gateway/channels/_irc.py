"""An account of an IRC server.

Rule 1: people are known by their account where the server marks messages with it, else by `nick!user@host`; before a text goes to a
person's nick, the nick has spoken as that person just now, or the server is asked who has it. Rule 2: messages of programs, and notices,
are told as such: they begin no turn. Rule 3: messages that were read and are not stored yet outlive the connection.
"""

from __future__ import annotations

import ssl
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import Final, TypeAlias, final

import attrs
import trio

from greenroom.core import PeerError, UsageError
from greenroom.core.network import is_loopback_host
from greenroom.core.ports import Ports
from greenroom.gateway.announce._parts import utf8_bytes
from greenroom.gateway.channels._channel import ChannelHost, ChannelTraits, WasSent
from greenroom.gateway.channels._irc_lines import (
    IrcLine,
    fits_mask,
    format_line,
    is_word,
    mentions,
    room_for_text,
    shown_text,
    text_lines,
)
from greenroom.gateway.channels._irc_link import IrcLink, open_irc_link
from greenroom.gateway.channels._irc_registration import Registration
from greenroom.gateway.config._channels import IrcAccount
from greenroom.gateway.config._values import Secret
from greenroom.gateway.record._machines import SendResult
from greenroom.gateway.routing._chat_messages import (
    Assurance,
    ChatRoute,
    Inbound,
    Outbound,
    PeerKind,
    Sender,
    SendReceipt,
)

ReadSecret: TypeAlias = Callable[[Secret], Awaitable[str]]
"""Returns a secret, read anew; raises `PeerError` if it cannot be had."""
OpenStream: TypeAlias = Callable[[IrcAccount], Awaitable[trio.abc.Stream]]
PART_BYTES: Final = 2_000
"""Longest part: about five lines, which go at once."""
MAX_UNHEARD: Final = 1_000
"""Messages that were read and are not stored yet; beyond it nothing is read."""
FRESH_S: Final = 30.0
"""Seconds for which a nick counts as that of the person who spoke with it."""
CONNECT_S: Final = 30.0
_MAX_PEOPLE: Final = 1_000


async def connect_irc(settings: IrcAccount) -> trio.abc.Stream:
    """Connect to the server of an account.

    Raises:
        PeerError: It cannot be reached, or its certificate is not valid.
    """
    port = settings.port or (6697 if settings.tls else 6667)
    try:
        with trio.fail_after(CONNECT_S):
            plain = await trio.open_tcp_stream(settings.host, port)
            if not settings.tls:
                return plain
            try:
                stream = trio.SSLStream(
                    plain, ssl.create_default_context(), server_hostname=settings.host, https_compatible=True
                )
                await stream.do_handshake()
            except BaseException:
                await trio.aclose_forcefully(plain)
                raise
            return stream
    except (OSError, trio.TooSlowError, trio.BrokenResourceError, ssl.SSLError) as error:
        raise PeerError(f"cannot connect to {settings.host}:{port}: {error.__cause__ or error}") from error


@final
@attrs.frozen
class _Spoke:
    """The last time that a person spoke."""

    nick: str
    at_s: float


@final
class IrcClient:
    """A channel: an account of an IRC server.

    Args:
        account: Its name in the configuration.
        settings: Its settings.
        ports: Time and ids.
        read_secret: Reads the password at each connection.
        open_stream: Connects to the server.

    Raises:
        UsageError: A password would go to another machine without encryption.
    """

    traits = ChannelTraits(limit=PART_BYTES, measure=utf8_bytes)

    def __init__(
        self,
        account: str,
        settings: IrcAccount,
        *,
        ports: Ports,
        read_secret: ReadSecret,
        open_stream: OpenStream = connect_irc,
    ) -> None:
        if settings.password is not None and not settings.tls and not is_loopback_host(settings.host.lower()):
            raise UsageError("tls must be true where a password is sent to another machine")
        self._account = account
        self._settings = settings
        self._ports = ports
        self._read_secret = read_secret
        self._open_stream = open_stream
        self._link: IrcLink | None = None
        self._unheard: deque[Inbound] = deque()
        self._has_news = trio.Event()
        self._has_room = trio.Event()
        self._is_asking = False
        self._people: OrderedDict[str, _Spoke] = OrderedDict()
        self._programs: OrderedDict[str, bool] = OrderedDict()

    # --- reading ----------------------------------------------------------------------------------------------------

    async def run(self, host: ChannelHost) -> None:
        """Connect, log in, join the channels, and read messages until it is cancelled; see `Channel.run`."""
        settings = self._settings
        secret = settings.password
        registration = Registration(
            nick=settings.nick,
            username=settings.username or settings.nick,
            password=None if secret is None else await self._read_secret(secret),
        )
        stream = await self._open_stream(settings)
        try:
            async with open_irc_link(stream, registration) as link:
                await self._serve(link, host)
        finally:
            self._link = None

    async def _serve(self, link: IrcLink, host: ChannelHost) -> None:
        if link.registration.bot_mode:
            await link.write(format_line("MODE", link.nick, f"+{link.registration.bot_mode}"))
        for name in self._settings.channels:
            await link.write(format_line("JOIN", name))
        self._link = link
        self._is_asking = False
        self._people.clear()
        self._programs.clear()
        host.connected()
        error: PeerError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hand_in, link, host)
            try:
                while True:
                    await self._read(link, await link.next_line())
            except PeerError as lost:
                error = lost
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                error = PeerError("the connection broke while it was written to")
            self._link = None
            link.end()
            nursery.cancel_scope.cancel()
        if error is not None:
            raise error

    async def _read(self, link: IrcLink, line: IrcLine) -> None:
        is_ours = link.fold(line.nick) == link.fold(link.nick)
        if is_ours and "!" in line.source:
            link.own_prefix = line.source
        if is_ours and line.command == "NICK":
            link.registration.nick, link.own_prefix = line.param(0), ""
        inbound = None if is_ours else self._inbound(link, line)
        if inbound is None:
            return
        while len(self._unheard) >= MAX_UNHEARD and not self._is_asking:
            self._has_room = trio.Event()
            await self._has_room.wait()
        self._unheard.append(inbound)
        self._has_news.set()

    def _inbound(self, link: IrcLink, line: IrcLine) -> Inbound | None:
        """Return the message in a line; None if it holds none for the agent."""
        if line.command not in {"PRIVMSG", "NOTICE"} or "!" not in line.source or len(line.params) < 2:
            return None
        raw = line.param(1)
        if raw.startswith("\x01") and not raw.startswith("\x01ACTION"):
            return None
        text = shown_text(raw)
        sender = self._sender(link, line)
        target = line.param(0).lstrip("~&@%+") if line.param(0)[1:2] in link.registration.channel_signs else ""
        target = target or line.param(0)
        is_room = target[:1] in link.registration.channel_signs
        now = self._ports.clock.wall()
        if not is_room:
            self._people[sender.id] = _Spoke(line.nick, trio.current_time())
            self._people.move_to_end(sender.id)
            while len(self._people) > _MAX_PEOPLE:
                self._people.popitem(last=False)
        return Inbound(
            route=ChatRoute(
                channel="irc",
                account=self._account,
                kind=PeerKind.CHANNEL if is_room else PeerKind.DIRECT,
                peer=link.fold(target) if is_room else sender.id,
            ),
            sender=sender,
            id=line.tags.get("msgid") or f"{int(now.timestamp() * 1000):x}-{self._ports.ids.bits(64):016x}",
            text=text,
            sent_s=_time_of(line.tags.get("time", ""), now),
            mentions_us=mentions(text, link.nick),
        )

    def _sender(self, link: IrcLink, line: IrcLine) -> Sender:
        account = line.tags.get("account", "") if "account-tag" in link.registration.capabilities else ""
        is_sure = bool(account) and not set("!@*") & set(account)
        return Sender(
            id=account.lower() if is_sure else line.source.lower(),
            name=line.nick,
            assurance=Assurance.ACCOUNT if is_sure else Assurance.MASK,
            is_program=line.command == "NOTICE" or "bot" in line.tags,
        )

    async def _hand_in(self, link: IrcLink, host: ChannelHost) -> None:
        """Hand messages in, one after the other."""
        while True:
            while not self._unheard:
                self._has_news = trio.Event()
                await self._has_news.wait()
            inbound = self._unheard[0]
            if not inbound.sender.is_program and await self._is_program(link, inbound):
                inbound = attrs.evolve(inbound, sender=attrs.evolve(inbound.sender, is_program=True))
            await host.hear(inbound)
            self._unheard.popleft()
            self._has_room.set()

    async def _is_program(self, link: IrcLink, inbound: Inbound) -> bool:
        """True if the server says that the sender is a program."""
        if not link.registration.bot_mode or link.registration.has_bot_tag:
            return False
        person = inbound.sender.id
        if person not in self._programs:
            self._is_asking = True  # the answer is to be read, however much waits
            self._has_room.set()
            found = await link.whois(inbound.sender.name)
            self._is_asking = False
            self._programs[person] = found is not None and found.is_program
            while len(self._programs) > _MAX_PEOPLE:
                self._programs.popitem(last=False)
        return self._programs[person]

    # --- sending ----------------------------------------------------------------------------------------------------

    async def send(self, part: Outbound) -> SendReceipt:
        """Send a part; see `Channel.send`."""
        link = self._link
        if link is None:
            return SendReceipt(result=SendResult.FAILED, why="not connected")
        is_room = part.route.kind is not PeerKind.DIRECT
        target = part.route.peer if is_room else await self._nick_of(link, part.route.peer)
        if isinstance(target, SendReceipt):
            return target
        lines = text_lines(part.text, room_for_text(link.nick, link.own_prefix, target))
        if not lines:
            return SendReceipt(result=SendResult.REFUSED, why="the text is blank, and IRC has no blank messages")
        try:
            return await link.say(target, lines)
        except UsageError:
            return SendReceipt(result=SendResult.REFUSED, why=f"{target!r} cannot be the name of a chat")

    async def _nick_of(self, link: IrcLink, person: str) -> str | SendReceipt:
        """Return the nick that a person has now."""
        spoke = self._people.get(person)
        nick = spoke.nick if spoke is not None else person.partition("!")[0]
        if spoke is not None and trio.current_time() - spoke.at_s < FRESH_S:
            return nick
        if not is_word(nick):
            return SendReceipt(result=SendResult.REFUSED, why=f"{person!r} cannot be the name of a person")
        found = await link.whois(nick)
        if found is None:
            return SendReceipt(result=SendResult.FAILED, why=f"the server did not say who {nick} is")
        if not found.mask:
            return SendReceipt(result=SendResult.REFUSED, why=f"{nick} is not there")
        is_same = fits_mask(person, found.mask) if "!" in person else found.account.lower() == person
        if not is_same:
            return SendReceipt(result=SendResult.REFUSED, why=f"{nick} is somebody else now")
        self._people[person] = _Spoke(nick, trio.current_time())
        return nick

    async def was_sent(self, key: str) -> WasSent:
        """Return that it cannot be said: IRC keeps nothing."""
        return WasSent.CANNOT_SAY

    async def show_typing(self, route: ChatRoute, *, is_typing: bool) -> None:
        """Show nothing: IRC cannot."""


def _time_of(said: str, now: datetime) -> float:
    with suppress(ValueError):
        return datetime.fromisoformat(said).timestamp()
    return now.timestamp()

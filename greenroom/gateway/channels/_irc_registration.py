"""The beginning of a connection to an IRC server: capabilities, the login, and facts about the server. No input or output.

Rule 1: a password is sent only by SASL, and only where the server offers it; a server that does not is refused, so that nobody writes
under a name that was not checked. Must not know: connections, clock.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import ClassVar, Final, final

import attrs

from greenroom.core import PeerError
from greenroom.gateway.channels._irc_lines import IrcLine, format_line

WANTED: Final[tuple[str, ...]] = ("account-tag", "server-time", "message-tags")
_CHUNK: Final = 400
_MAX_NICKS: Final = 4


@final
@attrs.define(kw_only=True)
class Registration:
    """A login in progress. `begin`, then `take` for each line, until `is_done`.

    Args:
        nick: The wanted nick; when it is taken, `_` is added.
        username: Account for SASL.
        password: Its password; None for no login.
    """

    nick: str
    username: str
    password: str | None = attrs.field(default=None, repr=False)
    is_done: bool = False
    capabilities: set[str] = attrs.field(factory=set)
    """Those that the server has granted."""
    mapping: str = "rfc1459"
    """Its rule for comparing names."""
    channel_signs: str = "#&"
    bot_mode: str = ""
    """The mode that marks programs; empty for none."""
    has_bot_tag: bool = False
    """True if the server marks messages of programs."""
    _offered: set[str] = attrs.field(factory=set, init=False)
    _is_logged_in: bool = attrs.field(default=False, init=False)
    _tries: int = attrs.field(default=1, init=False)

    def begin(self) -> list[bytes]:
        """Return the first lines."""
        return [
            format_line("CAP", "LS", "302"),
            format_line("NICK", self.nick),
            format_line("USER", self.username, "0", "*", "greenroom"),
        ]

    def take(self, line: IrcLine) -> list[bytes]:
        """Return the lines that answer a line.

        Raises:
            PeerError: The server refuses the login, or has none although there is a password.
        """
        handler = self._HANDLERS.get(line.command)
        return handler(self, line) if handler is not None else []

    def _capability(self, line: IrcLine) -> list[bytes]:
        kind, names = line.param(1).upper(), line.param(-1).split()
        if kind == "LS":
            self._offered |= {name.partition("=")[0] for name in names}
            return [] if line.param(2) == "*" else self._request()
        if kind == "ACK":
            self.capabilities |= {name for name in names if not name.startswith("-")}
        if kind not in {"ACK", "NAK"}:
            return []
        if self.password is not None:
            if "sasl" not in self.capabilities:
                raise PeerError("the server has no SASL, and the account has a password; remove the password")
            return [format_line("AUTHENTICATE", "PLAIN")]
        return [format_line("CAP", "END")]

    def _request(self) -> list[bytes]:
        wanted = [name for name in WANTED if name in self._offered]
        if self.password is not None:
            if "sasl" not in self._offered:
                raise PeerError("the server has no SASL, and the account has a password; remove the password")
            wanted.append("sasl")
        return [format_line("CAP", "REQ", " ".join(wanted))] if wanted else [format_line("CAP", "END")]

    def _authenticate(self, line: IrcLine) -> list[bytes]:
        if line.param(0) != "+" or self.password is None:
            return []
        plain = f"{self.username}\0{self.username}\0{self.password}"
        coded = base64.b64encode(plain.encode()).decode()
        chunks = [coded[at : at + _CHUNK] for at in range(0, len(coded), _CHUNK)]
        if len(chunks[-1]) == _CHUNK:
            chunks.append("+")
        return [format_line("AUTHENTICATE", chunk) for chunk in chunks]

    def _logged_in(self, line: IrcLine) -> list[bytes]:
        self._is_logged_in = True
        return [format_line("CAP", "END")]

    def _refused(self, line: IrcLine) -> list[bytes]:
        raise PeerError(f"the server refused the login: {line.param(-1) or line.command}")

    def _nick_taken(self, line: IrcLine) -> list[bytes]:
        if self._tries >= _MAX_NICKS:
            return self._refused(line)
        self._tries += 1
        self.nick += "_"
        return [format_line("NICK", self.nick)]

    def _welcome(self, line: IrcLine) -> list[bytes]:
        if self.password is not None and not self._is_logged_in:
            raise PeerError("the server has no SASL, and the account has a password; remove the password")
        self.nick = line.param(0) or self.nick
        return []

    def _modes(self, line: IrcLine) -> list[bytes]:
        self.bot_mode = "B" if "B" in line.param(3) else ""
        return []

    def _facts(self, line: IrcLine) -> list[bytes]:
        for fact in line.params[1:-1]:
            name, _, value = fact.partition("=")
            if name == "CASEMAPPING":
                self.mapping = value
            elif name == "CHANTYPES":
                self.channel_signs = value
            elif name == "BOT" and value:
                self.bot_mode, self.has_bot_tag = value[0], "message-tags" in self.capabilities
        return []

    def _end(self, line: IrcLine) -> list[bytes]:
        self.is_done = True
        return []

    _HANDLERS: ClassVar[Mapping[str, Callable[[Registration, IrcLine], list[bytes]]]] = {
        "CAP": _capability,
        "AUTHENTICATE": _authenticate,
        "903": _logged_in,
        **dict.fromkeys(("902", "904", "905", "906", "907", "432", "464", "465", "ERROR"), _refused),
        "433": _nick_taken,
        "436": _nick_taken,
        "001": _welcome,
        "004": _modes,
        "005": _facts,
        "376": _end,
        "422": _end,
    }

"""Lines of IRC: parsed, written, and texts cut into them.

Rule 1: no line that is written holds CR, LF or NUL inside, whatever it was made of. Rule 2: a line is cut to the server's 512 bytes with
the prefix that the server puts in front, and never inside a character.
Must not know: connections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.gateway.announce._parts import cut_line, utf8_bytes

LINE_BYTES: Final = 512
"""Longest line with prefix and line end; message tags are not counted."""
_BREAKS: Final = re.compile(r"\r\n|\r|\n")
_REMOVED: Final = re.compile(r"[\x00\x01\r\n]")
_FORMATS: Final = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04[0-9A-Fa-f]{0,6}|[\x00-\x08\x0a-\x1f\x7f]")
_ESCAPES: Final[Mapping[str, str]] = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
_RFC1459: Final = str.maketrans("[]\\^", "{}|~")
_ASSUMED_USER_AND_HOST: Final = 20 + 1 + 63


@final
@attrs.frozen(kw_only=True)
class IrcLine:
    """A line from a server."""

    command: str
    """In upper case, or a numeric."""
    params: tuple[str, ...] = ()
    source: str = ""
    """Its prefix: `nick!user@host`, or the name of a server."""
    tags: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def nick(self) -> str:
        """The nick in the prefix."""
        return self.source.partition("!")[0]

    def param(self, at: int) -> str:
        """Return a parameter; empty if there is none."""
        return self.params[at] if -len(self.params) <= at < len(self.params) else ""


def parse_line(raw: bytes) -> IrcLine | None:
    """Return a line; None if it holds no command."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    text = text.strip("\r\n").replace("\0", "")
    tags, source = {}, ""
    if text.startswith("@"):
        said, _, text = text[1:].partition(" ")
        tags = {name: _unescaped(value) for name, _, value in (each.partition("=") for each in said.split(";"))}
        text = text.lstrip(" ")
    if text.startswith(":"):
        source, _, text = text[1:].partition(" ")
        text = text.lstrip(" ")
    words, colon, trailing = text.partition(" :") if not text.startswith(":") else ("", "", "")
    parts = [word for word in words.split(" ") if word]
    if not parts:
        return None
    if colon:
        parts.append(trailing)
    return IrcLine(command=parts[0].upper(), params=tuple(parts[1:]), source=source, tags=tags)


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.?)", lambda found: _ESCAPES.get(found[1], found[1]), value, flags=re.DOTALL)


def format_line(command: str, *params: str) -> bytes:
    """Return a line to send. CR, LF and NUL are taken out of its last parameter.

    Raises:
        UsageError: Another parameter is empty, begins with a colon, or holds a space or a control character.
    """
    *middle, last = params
    for word in middle:
        if not is_word(word):
            raise UsageError(f"a parameter of {command} must be one word, got {word!r}")
    return " ".join([command, *middle, ":" + _REMOVED.sub("", last)]).encode("utf-8", "replace") + b"\r\n"


def is_word(text: str) -> bool:
    """True if a text can be a parameter that others follow."""
    return bool(text) and not text.startswith(":") and re.search(r"[\x00-\x20\x7f]", text) is None


def text_lines(text: str, room: int) -> tuple[str, ...]:
    """Return a text in lines of a number of bytes at most; without blank ones, since IRC has none.

    What would end a line or hide it from readers (NUL, and the mark of client commands) is taken out.
    """
    whole = text.encode("utf-8", "replace").decode()
    lines = (_REMOVED.sub("", line) for line in _BREAKS.split(whole))
    return tuple(piece for line in lines if line.strip() for piece in cut_line(line, room, utf8_bytes))


def room_for_text(nick: str, own_prefix: str, target: str) -> int:
    """Return how many bytes of text a message may have, so that what the server relays is not cut.

    Args:
        nick: Our nick.
        own_prefix: Our `nick!user@host` as the server shows it; empty if it is not known, then a long one is assumed.
        target: To whom the message goes.
    """
    prefix = utf8_bytes(own_prefix) if own_prefix else utf8_bytes(nick) + 1 + _ASSUMED_USER_AND_HOST
    return LINE_BYTES - len(":") - prefix - len(" PRIVMSG ") - utf8_bytes(target) - len(" :\r\n")


def shown_text(text: str) -> str:
    """Return the text of a message as people read it: without colors, formats and controls, an action as `* text`."""
    if text.startswith("\x01ACTION ") or text == "\x01ACTION\x01":
        text = "* " + text[len("\x01ACTION") :].strip("\x01").strip()
    return _FORMATS.sub("", text)


def fold_name(name: str, mapping: str = "rfc1459") -> str:
    """Return a nick or a channel in the form in which the server compares it."""
    folded = name.lower()
    return folded if mapping == "ascii" else folded.translate(_RFC1459)


def fits_mask(mask: str, person: str) -> bool:
    """True if `nick!user@host` fits a mask, in which `*` and `?` stand for anything."""
    escaped = fold_name(mask).replace("[", "[[]")
    return fnmatchcase(fold_name(person), escaped)


def mentions(text: str, nick: str) -> bool:
    """True if a text holds a nick as a word."""
    return (
        re.search(rf"(?<![\w\-\[\]\\`^{{}}|]){re.escape(nick)}(?![\w\-\[\]\\`^{{}}|])", text, re.IGNORECASE) is not None
    )

"""Opening and reading of foreign files: of any kind, size and encoding."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Protocol, final

import attrs

BLOCK_BYTES: Final = 64 * 1024
"""Bytes that are read at once."""
BINARY_PROBE_BYTES: Final = 8 * 1024
"""A NUL byte in the first bytes, this many, makes a file binary; git inspects as many."""
LINE_BYTES: Final = 64 * 1024
"""Bytes kept of a line; the rest of it is skipped."""
DIGEST_BYTES: Final = 16
_CONTINUATION: Final = bytes(range(0x80, 0xC0))

_KINDS: Final = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Unreadable(Exception):
    """A file that cannot or must not be read; `reason` says why, in words that follow the file's name and a colon."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Missing(Unreadable):
    """There is nothing of that name."""


class Binary(Unreadable):
    """It holds no text."""


class TooLarge(Unreadable):
    """It is too large for what is to be done with it."""


@attrs.frozen
class Block:
    """The lines that end in one block of a file."""

    text: str
    """The lines, with a line feed between them; of a very long line the start."""
    count: int
    """The number of lines."""
    is_utf8: bool
    """True if all of it was UTF-8; invalid bytes are U+FFFD in the lines."""
    cut: int
    """Number of lines that were too long to keep."""

    @property
    def lines(self) -> list[str]:
        """The lines, one by one."""
        return self.text.split("\n") if self.count else []


FILE: Final = "a file"
FOLDER: Final = "a folder"


def kind_of(path: Path) -> str:
    """Return what is there: `FILE`, `FOLDER`, or other words for what is neither.

    Raises:
        Unreadable: Nothing is there (`Missing`), or the system does not tell.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise Missing("it does not exist") from None
    except OSError as error:
        raise Unreadable(reason_of(error)) from error
    return _kind(mode)


def _kind(mode: int) -> str:
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "no file")


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; `path` has its links resolved already.

    Raises:
        Unreadable: It is not a regular file, or the system refuses.
    """
    # NONBLOCK: opening a pipe would wait for its writer. NOFOLLOW: what became a link meanwhile is not followed.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
    try:
        # Before opening: opening a device may already do something.
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode):
            raise Unreadable(f"it is {_kind(mode)}")
        descriptor = os.open(path, flags)
    except OSError as error:
        raise Unreadable(reason_of(error)) from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is no longer a regular file")
        yield file


def reason_of(error: OSError) -> str:
    """Return why the system refused, in its words."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def refuse_binary(file: BinaryIO) -> None:
    """Look at the start of a file just opened.

    Raises:
        Binary: There is a NUL byte in it.
    """
    probe = file.read(BINARY_PROBE_BYTES)
    file.seek(0)
    if b"\0" in probe:
        raise Binary("it is a binary file")


class Readable(Protocol):
    """A source of bytes."""

    def read(self, most: int, /) -> bytes:
        """Return the next bytes, none at the end."""
        ...


@final
class Digesting:
    """A file on its way to a reader, and the digest of what went through."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES)

    def read(self, most: int, /) -> bytes:
        """Return the next bytes, none at the end."""
        content = self._file.read(most)
        self._hash.update(content)
        return content

    @property
    def digest(self) -> bytes:
        """Of all that was read so far."""
        return self._hash.digest()


def digest_of(content: bytes) -> bytes:
    """Return what tells one content from another."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


def blocks_of(file: Readable) -> Iterator[Block]:
    """Return the text of a file, block by block.

    Only a line feed ends a line, and a carriage return before it goes with it. A block in the middle of a very long line
    holds no lines.
    """
    carry = b""
    while content := file.read(BLOCK_BYTES):
        *ended, last = content.split(b"\n")
        if ended:
            ended[0] = carry + ended[0]
            carry = last
        elif len(carry) <= LINE_BYTES:
            carry += last
        yield _block(ended)
    if carry:
        yield _block([carry])


def _block(lines: list[bytes]) -> Block:
    cut = 0
    for at, line in enumerate(lines):
        if len(line) > LINE_BYTES:
            cut += 1
            start = line[:LINE_BYTES]
            # Half a character would look like bad encoding: drop it, its first byte too.
            lines[at] = start.rstrip(_CONTINUATION)[:-1] if line[LINE_BYTES] in _CONTINUATION else start
    content = b"\n".join(lines)
    try:
        text, is_utf8 = content.decode("utf-8"), True
    except UnicodeDecodeError:
        text, is_utf8 = content.decode("utf-8", errors="replace"), False
    # A NUL is legal in text, and poison for terminals and for some readers of JSON.
    text = text.replace("\0", "\ufffd").replace("\r\n", "\n").removesuffix("\r")
    return Block(text, len(lines), is_utf8, cut)


def shown_path(path: Path, cwd: Path) -> str:
    """Return a path as a tool's answer shows it: relative to `cwd` below it, else absolute, on one line."""
    return on_one_line(str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path))


def on_one_line(text: str) -> str:
    """Return text with line ends, control characters and what no encoding can hold written as escapes."""
    return text if text.isprintable() else repr(text)[1:-1]

"""Saving of files, shared by Write and Edit: a file is changed only by an agent that has seen its current state."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import attrs

from greenroom.tools import ToolContext, ToolError
from greenroom.tools._workspace import Seen, Stamp
from greenroom.tools.builtin._file_reader import (
    FILE,
    Missing,
    TooLarge,
    Unreadable,
    digest_of,
    kind_of,
    open_regular,
    reason_of,
)
from greenroom.tools.builtin._replace import replace_file
from greenroom.tools.builtin._texts import Text, decoded

T = TypeVar("T")

MAX_EDIT_BYTES: Final = 10 * 1024 * 1024
"""Size of the largest file that is changed; it is held whole."""


@attrs.frozen
class Current:
    """A file as it is at this moment."""

    status: os.stat_result
    content: bytes = attrs.field(repr=False)
    text: Text


@attrs.frozen
class Saved:
    """A file as it was just written."""

    stamp: Stamp
    digest: bytes


def current(path: Path, seen: Seen | None) -> Current:
    """Return the content of a file that the agent has seen.

    Raises:
        Unreadable: It is none that can be changed, was never read, or is not what was read. `Missing` for none.
    """
    kind = kind_of(path)
    if kind != FILE:
        raise Unreadable(f"it is {kind}, and only files are changed")
    if seen is None:
        raise Unreadable("it was not read yet; read it first")
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > MAX_EDIT_BYTES:
            raise TooLarge(f"it has {status.st_size} bytes, and at most {MAX_EDIT_BYTES} are changed at once")
        content = file.read(MAX_EDIT_BYTES + 1)
    if not seen.is_still(Stamp.of(status), digest_of(content)):
        raise Unreadable("it was changed since it was read; read it again")
    if b"\0" in content:
        raise Unreadable("it is a binary file")
    # A rename needs no right to the file itself: what is protected would be replaced all the same.
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise Unreadable("it is write-protected")
    return Current(status, content, decoded(content))


def save(ctx: ToolContext, path: Path, content: bytes, before: Current | None) -> Saved:
    """Replace or create a file, with its parent folders; it can be restored if the session keeps checkpoints."""
    old, status = (None, None) if before is None else (before.content, before.status)
    with ctx.keeping(path, old, 0 if status is None else stat.S_IMODE(status.st_mode), content):
        if before is None:
            path.parent.mkdir(parents=True, exist_ok=True)
        return Saved(replace_file(path, content, status), digest_of(content))


async def changing(ctx: ToolContext, name: str, function: Callable[[], T]) -> T:
    """Run what changes a file, and return its result; a reason why not becomes an error result.

    Cancellation waits for the end: the file is changed and known to be, or not changed.
    """
    try:
        return await ctx.blocking(function)
    except Missing:
        raise ToolError(f"{name} does not exist; to make a file use Write") from None
    except Unreadable as error:
        raise ToolError(f"{name} cannot be changed: {error.reason}") from error
    except OSError as error:
        raise ToolError(f"{name} cannot be changed: {reason_of(error)}; it is as it was") from error


def refuse_odd_text(tool: str, **texts: str) -> None:
    """Refuse text that no file can hold.

    Raises:
        ToolError: A text holds a NUL, or half a character.
    """
    for name, text in texts.items():
        if "\0" in text:
            raise ToolError(f"{name} holds a NUL character; {tool} is for text")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            place = f"at character {error.start}"
            raise ToolError(f"the text for {name} contains an unpaired surrogate ({place})") from None

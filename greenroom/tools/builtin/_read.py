"""The tool Read: a text file, or a part of one, with line numbers."""

from __future__ import annotations

import difflib
import os
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import attrs

from greenroom.tools import Arg, ToolContext, ToolError, tool
from greenroom.tools._workspace import Seen, Stamp
from greenroom.tools.builtin._file_reader import (
    FILE,
    FOLDER,
    Digesting,
    Missing,
    Unreadable,
    blocks_of,
    kind_of,
    on_one_line,
    open_regular,
    reason_of,
    refuse_binary,
    shown_path,
)
from greenroom.tools.builtin._search_answers import MAX_ANSWER_CHARACTERS, clipped
from greenroom.tools.builtin._steps import Work, in_steps

DEFAULT_LINES: Final = 2_000
LINE_CHARACTERS: Final = 2_000
_NEIGHBORS_LOOKED_AT: Final = 5_000


@tool(name="Read", read_only=True)
async def read_tool(
    file_path: str,
    offset: Annotated[int, Arg(minimum=1)] = 1,
    limit: Annotated[int, Arg(minimum=1)] = DEFAULT_LINES,
    *,
    ctx: ToolContext,
) -> str:
    """Read a text file and return its lines, numbered as by `cat -n`.
    Long files come in parts: the answer says with which offset to go on. Lines of more than 2000 characters are cut.
    Binary files are not shown. To see what a folder holds, use Glob.

    Args:
        file_path: The file, absolute or relative to the current directory.
        offset: The number of the first line to return, from 1.
        limit: How many lines to return.
    """
    path = ctx.resolve(file_path)
    name = shown_path(path, ctx.real_cwd)
    ctx.progress(f"Reading {name}")
    try:
        await ctx.blocking(_refuse_what_is_no_file, path, name)
        page = await in_steps(ctx, _read(path, offset, limit))
    except Unreadable as error:
        raise ToolError(f"{name} cannot be read: {error.reason}") from error
    except OSError as error:
        raise ToolError(f"{name} cannot be read: {reason_of(error)}") from error
    answer = _answer(page, name, offset)
    ctx.workspace.seen.note(path, page.as_seen(offset))
    ctx.respond(lambda: {"type": "text", "file": {"filePath": ctx.named(file_path), **page.told(offset)}})
    return answer


@attrs.define
class _Page:
    """The lines that were asked for, numbered."""

    stamp: Stamp
    lines: list[str] = attrs.field(factory=list)
    seen: int = 0
    """Lines of the file that were read, those before the page too."""
    has_more: bool = False
    is_utf8: bool = True
    digest: bytes | None = None
    """Of the whole file; None if its end was not reached."""

    def told(self, offset: int) -> dict[str, object]:
        """Return the values for hooks; without `totalLines` if the end of the file was not reached."""
        content = "\n".join([line.partition("\t")[2] for line in self.lines])
        values: dict[str, object] = {"content": content, "numLines": len(self.lines), "startLine": offset}
        return values if self.has_more else {**values, "totalLines": self.seen}

    def as_seen(self, offset: int) -> Seen:
        """Return what an agent that reads the page has seen of the file."""
        ranges = ((offset, offset + len(self.lines) - 1),) if self.lines else ()
        return Seen(stamp=self.stamp, digest=self.digest, ranges=ranges, lines=None if self.has_more else self.seen)


def _read(path: Path, offset: int, limit: int) -> Work[_Page]:
    room = MAX_ANSWER_CHARACTERS
    with open_regular(path) as file:
        # As it was before the first byte was read: what is written meanwhile then shows as a change.
        page = _Page(Stamp.of(os.fstat(file.fileno())))
        refuse_binary(file)
        content = Digesting(file)
        for block in blocks_of(content):
            first = page.seen + 1
            page.seen += block.count
            if page.seen >= offset:
                page.is_utf8 = page.is_utf8 and block.is_utf8
                for number, text in enumerate(block.lines, first):
                    if number < offset:
                        continue
                    line = f"{number:>6}\t{clipped(_start(text, number), LINE_CHARACTERS)}"
                    room -= len(line) + 1
                    # One line always fits, or reading could not continue.
                    if len(page.lines) == limit or (room < 0 and page.lines):
                        page.has_more = True
                        return page
                    page.lines.append(line)
            yield len(block.text) + 1
        page.digest = content.digest
    return page


def _start(text: str, number: int) -> str:
    return text.removeprefix("\ufeff") if number == 1 else text


def _answer(page: _Page, name: str, offset: int) -> str:
    if not page.seen:
        return f"({name} is empty)"
    if not page.lines:
        raise ToolError(f"offset {offset} is past the end of {name} ({page.seen} lines)")
    notes = []
    if not page.is_utf8:
        notes.append(f"({name} is not all UTF-8: bad bytes are shown as \ufffd)")
    if page.has_more:
        notes.append(f"({name} goes on: read the rest with offset={offset + len(page.lines)})")
    return "\n".join([*page.lines, *notes])


def _refuse_what_is_no_file(path: Path, name: str) -> None:
    try:
        kind = kind_of(path)
    except Missing:
        raise ToolError(_missing(path, name)) from None
    if kind == FOLDER:
        raise ToolError(f"{name} is a folder; list it with Glob, with '*' as pattern and '{name}' as path")
    if kind != FILE:
        raise ToolError(f"{name} is {kind}, and only files are read")


def _missing(path: Path, name: str) -> str:
    text = f"{name} does not exist"
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(entry.name for entry in islice(entries, _NEIGHBORS_LOOKED_AT))
    except OSError:
        return f"{text}, and neither does its folder"
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.7)
    if not near:
        return text
    return f"{text}; did you mean {' or '.join(on_one_line(str(Path(name).parent / candidate)) for candidate in near)}?"

"""The Edit tool, which replaces part of a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.tools import ToolContext, ToolError, tool
from greenroom.tools._workspace import Seen
from greenroom.tools.builtin._file_reader import Unreadable, shown_path
from greenroom.tools.builtin._patches import patch_of
from greenroom.tools.builtin._saving import changing, current, refuse_odd_text, save
from greenroom.tools.builtin._search_answers import clipped
from greenroom.tools.builtin._texts import Text, decoded, line_count, plain, printable

LINES_NAMED: Final = 10
CONTEXT_LINES: Final = 3
SNIPPET_LINES: Final = 60
_NUMBERED: Final = re.compile(r"\s*\d+\t")


@tool(name="Edit")
async def edit_tool(
    file_path: str, old_string: str, new_string: str, *, replace_all: bool = False, ctx: ToolContext
) -> str:
    """Replace a piece of text in a file by another.
    The file has to be read first. The old text has to stand there exactly once, indentation included and without the line
    numbers that Read shows; give enough of what is around it, or set replace_all. All else in the file stays as it is.

    Args:
        file_path: The file, absolute or relative to the current directory.
        old_string: The text to replace.
        new_string: The text to put in its place.
        replace_all: Whether to replace it wherever it stands.
    """
    path = ctx.resolve(file_path)
    name = shown_path(path, ctx.real_cwd)
    refuse_odd_text("Edit", old_string=old_string, new_string=new_string)
    old, new = plain(old_string), plain(new_string)
    if not old:
        raise ToolError("old_string is empty; to create a file or replace all of its content, use Write")
    if old == new:
        raise ToolError("old_string and new_string are the same: there is nothing to change")
    ctx.progress(f"Editing {name}")
    seen = ctx.workspace.seen
    edit = _Edit(old, new, replace_all)
    edited = await changing(ctx, name, lambda: edit.carry_out(ctx, path, seen.find(path)))
    seen.replace(path, edited.seen)
    ctx.respond(
        lambda: {
            "filePath": ctx.named(file_path),
            "oldString": old_string,
            "newString": new_string,
            "originalFile": edited.before,
            "structuredPatch": edited.patch,
            "userModified": False,
            "replaceAll": replace_all,
        }
    )
    return edited.answer(name, edit)


@attrs.frozen
class _Edited:
    seen: Seen
    text: Text
    """The new content."""
    spans: list[tuple[int, int]]
    """The replaced parts, in the old content."""
    first_line: int
    before: str = ""
    """The old content; empty unless hooks get it."""
    patch: list[dict[str, Any]] = attrs.field(factory=list)

    def answer(self, name: str, edit: _Edit) -> str:
        count = len(self.spans)
        if count > 1:
            return f"Replaced {count} occurrences in {name}"
        lines = self.text.plain.split("\n")
        first = max(1, self.first_line - CONTEXT_LINES)
        last = min(len(lines), self.first_line + edit.new.count("\n") + CONTEXT_LINES, first + SNIPPET_LINES)
        shown = [f"{number:>6}\t{clipped(lines[number - 1], 500)}" for number in range(first, last + 1)]
        return "\n".join([f"Replaced 1 occurrence in {name}, which now reads:", *shown])


@attrs.frozen
class _Edit:
    old: str
    new: str
    is_everywhere: bool

    def carry_out(self, ctx: ToolContext, path: Path, seen: Seen | None) -> _Edited:
        before = current(path, seen)
        text = before.text
        if not text.is_utf8 and not self.new.isascii():
            raise Unreadable(
                "it is not UTF-8, so non-ASCII characters of the new text might be written in a wrong encoding"
            )
        spans = self._places(text)
        content = text.replaced(spans, self.new)
        saved = save(ctx, path, content, before)
        after = decoded(content)
        if seen is not None and seen.is_whole:
            now_seen = Seen.all_of(saved.stamp, saved.digest, line_count(after.plain))
        else:
            now_seen = Seen(stamp=saved.stamp, digest=saved.digest, ranges=seen.ranges if seen is not None else ())
        edited = _Edited(now_seen, after, spans, text.line_of(spans[0][0]))
        if not ctx.is_heard:
            return edited
        was = printable(text.plain)
        return attrs.evolve(edited, before=was, patch=patch_of(was, printable(after.plain)))

    def _places(self, text: Text) -> list[tuple[int, int]]:
        spans = text.spans(self.old)
        if not spans:
            raise Unreadable(f"old_string was not found in it{_hint(self.old, text)}")
        if len(spans) > 1 and not self.is_everywhere:
            lines = [str(text.line_of(start)) for start, _ in spans[:LINES_NAMED]]
            more = ", ..." if len(spans) > LINES_NAMED else ""
            where = f"on lines {', '.join(lines)}{more}"
            wanted = "include more of the text around the intended place, or set replace_all"
            raise Unreadable(f"old_string occurs {len(spans)} times, {where}; {wanted}")
        apart: list[tuple[int, int]] = []
        for span in spans:
            if not apart or span[0] >= apart[-1][1]:
                apart.append(span)
        return apart


def _hint(old: str, text: Text) -> str:
    lines = old.split("\n")
    if all(_NUMBERED.match(line) for line in lines):
        return "; leave out the line numbers that Read puts before each line"
    squeezed = " ".join(old.split())
    if squeezed and squeezed in " ".join(text.plain.split()):
        return "; it occurs with other spaces or line breaks: copy it exactly as Read shows it"
    return "; read the file again"

"""The tool Write: a whole file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from greenroom.tools import ToolContext, tool
from greenroom.tools._workspace import Seen
from greenroom.tools.builtin._file_reader import Missing, Unreadable, shown_path
from greenroom.tools.builtin._patches import patch_of
from greenroom.tools.builtin._saving import Current, Saved, changing, current, refuse_odd_text, save
from greenroom.tools.builtin._texts import encoded, line_count, plain, printable


@tool(name="Write")
async def write_tool(file_path: str, content: str, *, ctx: ToolContext) -> str:
    """Write a file: make it, or replace all of its content.
    A file that exists has to be read first, all of it; to change a part of one, use Edit. Missing folders are made. The
    mode of a file, its byte order mark and its line ends stay as they are.

    Args:
        file_path: The file, absolute or relative to the current directory.
        content: All of the new content.
    """
    path = ctx.resolve(file_path)
    name = shown_path(path, ctx.real_cwd)
    refuse_odd_text("Write", content=content)
    ctx.progress(f"Writing {name}")
    seen = ctx.workspace.seen
    written = await changing(ctx, name, lambda: _write(ctx, path, content, seen.find(path)))
    lines = line_count(content)
    seen.replace(path, Seen.all_of(written.saved.stamp, written.saved.digest, lines))
    ctx.respond(
        lambda: {
            "type": "create" if written.is_new else "update",
            "filePath": ctx.named(file_path),
            "content": content,
            "structuredPatch": written.patch,
            "originalFile": written.before,
        }
    )
    done = "Made" if written.is_new else "Replaced the content of"
    return f"{done} {name}: {lines} {'line' if lines == 1 else 'lines'}"


@attrs.frozen
class _WrittenFile:
    saved: Saved
    is_new: bool
    before: str | None = None
    """The previous content, if the file existed and hooks receive it."""
    patch: list[dict[str, Any]] = attrs.field(factory=list)


def _write(ctx: ToolContext, path: Path, content: str, seen: Seen | None) -> _WrittenFile:
    try:
        before = current(path, seen)
    except Missing:
        return _WrittenFile(save(ctx, path, content.encode("utf-8"), None), is_new=True)
    if seen is not None and not seen.is_whole:
        shown = ", ".join(f"{first}-{last}" for first, last in seen.ranges)
        raise Unreadable(f"only lines {shown} of it were read; read the rest first, or use Edit")
    saved = save(ctx, path, _like(before, content), before)
    if not ctx.is_heard:
        return _WrittenFile(saved, is_new=False)
    was = printable(before.text.plain)
    return _WrittenFile(saved, is_new=False, before=was, patch=patch_of(was, plain(content)))


def _like(before: Current, content: str) -> bytes:
    """Return the content with the line ends and the byte order mark of the old one."""
    text = before.text
    if text.carriages:
        content = plain(content).replace("\n", text.line_end)
    return encoded(content, has_mark=text.has_mark and not content.startswith("\ufeff"))

"""The tool Glob: files by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import trio

from greenroom.tools import ToolContext, ToolError, tool
from greenroom.tools.builtin._file_reader import FOLDER, Missing, Unreadable, kind_of, on_one_line, shown_path
from greenroom.tools.builtin._globs import BadGlob, Glob, compile_glob, split_fixed
from greenroom.tools.builtin._search_answers import fitting, walk_notes
from greenroom.tools.builtin._steps import Work, in_steps
from greenroom.tools.builtin._walk import Walk

MAX_FILES: Final = 1_000


@tool(name="Glob", read_only=True)
async def glob_tool(pattern: str, path: str = ".", *, ctx: ToolContext) -> str:
    """Find files by name: return the paths of all files that match a glob, sorted by path.
    `*`, `?` and `[...]` match within one name, `**` any number of folders, `{a,b}` either; a pattern without a slash
    matches the name at any depth. Hidden files are found; what ignore files (.gitignore, .ignore) name, version control's
    own folders and links are not. At most 1000 files are listed.

    Args:
        pattern: The glob, such as `**/*.py` or `src/**/test_*.{js,ts}`, relative to the folder.
        path: The folder to look in; the current directory if left out.
    """
    began_s = trio.current_time()
    folder, rest = split_fixed(pattern)
    where = folder if folder.startswith("/") else f"{path}/{folder}" if folder else path
    try:
        glob = compile_glob(rest or "**" if folder else rest, is_anchored=bool(folder))
    except BadGlob as error:
        raise ToolError(f"'{on_one_line(pattern)}' cannot be used as a pattern: {error}") from error
    top = ctx.resolve(where)
    shown = on_one_line(pattern)
    nothing = f"(no file matches '{shown}' in {shown_path(ctx.resolve(path), ctx.real_cwd)})"
    try:
        kind = await ctx.blocking(kind_of, top)
    except Unreadable as error:
        if folder and isinstance(error, Missing):
            ctx.respond(lambda: _told([], began_s, is_cut=False))
            return nothing
        raise ToolError(f"{shown_path(top, ctx.real_cwd)} cannot be searched: {error.reason}") from error
    if kind != FOLDER:
        raise ToolError(f"{shown_path(top, ctx.real_cwd)} is {kind}, not a folder")
    ctx.progress(f"Looking for {shown}")
    walk = Walk(top, ctx.real_roots, ctx.hides)
    found = await in_steps(ctx, _matching(walk, glob), lambda: f"Looking for {shown}: {walk.seen} entries")
    names = [shown_path(path, ctx.real_cwd) for path in found]
    notes = walk_notes(walk, ctx.real_cwd)
    count = fitting(names, MAX_FILES)
    ctx.respond(lambda: _told(names[:count], began_s, is_cut=count < len(names) or walk.is_cut))
    if not names:
        return "\n".join([nothing, *notes])
    if count < len(names):
        notes.insert(0, f"(the first {count} of {len(names)} files; narrow the pattern or the path for the others)")
    return "\n".join([*names[:count], *notes])


def _told(names: list[str], began_s: float, *, is_cut: bool) -> dict[str, object]:
    took_ms = round((trio.current_time() - began_s) * 1_000)
    return {"durationMs": took_ms, "numFiles": len(names), "filenames": names, "truncated": is_cut}


def _matching(walk: Walk, glob: Glob) -> Work[list[Path]]:
    found = []
    for file in walk.files():
        if isinstance(file, int):
            yield file
        elif glob.matches(file.relative_to(walk.top).as_posix()):
            found.append(file)
    return found

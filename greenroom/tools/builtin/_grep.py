"""The tool Grep: files by content."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import attrs

from greenroom.tools import Arg, ToolContext, ToolError, tool
from greenroom.tools.builtin._excerpts import Excerpt, FoundLines, OutputMode, Shape
from greenroom.tools.builtin._file_reader import (
    FOLDER,
    Block,
    TooLarge,
    Unreadable,
    blocks_of,
    kind_of,
    on_one_line,
    open_regular,
    refuse_binary,
    shown_path,
)
from greenroom.tools.builtin._globs import BadGlob, compile_glob
from greenroom.tools.builtin._kinds import FILE_TYPES
from greenroom.tools.builtin._line_patterns import LinePattern, MultilinePattern
from greenroom.tools.builtin._programs import BadPattern, Parsed, parse
from greenroom.tools.builtin._search_answers import Skipped, walk_notes
from greenroom.tools.builtin._steps import ENTRY_UNITS, Work, in_steps
from greenroom.tools.builtin._walk import Walk

DEFAULT_LINES: Final = 250
MULTILINE_BYTES: Final = 2 * 1024 * 1024
"""The largest file that is searched across lines: it has to be held in memory."""
_MAX_CONTEXT: Final = 1_000

Filter: TypeAlias = Callable[[str], bool]


@tool(name="Grep", read_only=True)
async def grep_tool(
    pattern: str,
    path: str = ".",
    glob: str | None = None,
    file_type: Annotated[str | None, Arg(name="type")] = None,
    output_mode: OutputMode = "files_with_matches",
    ignore_case: Annotated[bool, Arg(name="-i")] = False,  # noqa: FBT002 - the model calls by name
    line_numbers: Annotated[bool, Arg(name="-n")] = True,  # noqa: FBT002
    after: Annotated[int | None, Arg(name="-A", minimum=0, maximum=_MAX_CONTEXT)] = None,
    before: Annotated[int | None, Arg(name="-B", minimum=0, maximum=_MAX_CONTEXT)] = None,
    context: Annotated[int, Arg(name="-C", minimum=0, maximum=_MAX_CONTEXT)] = 0,
    head_limit: Annotated[int, Arg(minimum=0)] = DEFAULT_LINES,
    offset: Annotated[int, Arg(minimum=0)] = 0,
    multiline: bool = False,  # noqa: FBT001, FBT002
    *,
    ctx: ToolContext,
) -> str:
    r"""Search the contents of files with a regular expression, line by line; files come sorted by path.
    The syntax is Python's, without look-around and backreferences. Binary files are skipped; so is what ignore files
    (.gitignore, .ignore) name, version control's own folders and links. Of a line, the first 64 KiB are searched.

    Args:
        pattern: The regular expression, such as `def \w+\(` or `TODO|FIXME`.
        path: The file or folder to search; the current directory if left out.
        glob: Only files that match this glob, such as `*.py` or `src/**/*.{ts,tsx}`; with `!` before it, only the others.
        file_type: Only files of this type, such as `py`, `js`, `rust`.
        output_mode: `files_with_matches` gives paths, `content` the matching lines as `path:number:text`, `count` the
            number of matching lines per file.
        ignore_case: Whether upper and lower case are the same.
        line_numbers: Whether `content` shows line numbers.
        after: Lines of context after each match, for `content`; if left out, as many as `-C` says.
        before: Lines of context before each match, for `content`; if left out, as many as `-C` says.
        context: Lines of context before and after each match, for `content`.
        head_limit: The most lines of output; 0 for as many as one answer holds.
        offset: Lines of output to leave out first, to go on where an answer was cut.
        multiline: Whether a match may run over several lines; then `.` matches line ends too, and a match ends at the
            first place where it can. Files up to 2 MiB.
    """
    shape = Shape(
        mode=output_mode,
        before=context if before is None else before,
        after=context if after is None else after,
        is_numbered=line_numbers,
    )
    walk = Walk(ctx.resolve(path), ctx.real_roots, ctx.hides)
    found = FoundLines(offset, head_limit or math.inf)
    search = _Search(walk, _filter(glob, file_type), shape, found, ctx.real_cwd)
    flags = (re.IGNORECASE if ignore_case else 0) | (re.MULTILINE | re.DOTALL if multiline else 0)
    await _run(search, pattern, re.RegexFlag(flags), ctx)
    ctx.respond(lambda: found.told(output_mode, offset))
    return _answer(search, f"'{on_one_line(pattern)}' in {shown_path(walk.top, ctx.real_cwd)}", offset)


Marker: TypeAlias = Callable[[Block], list[int]]
"""Returns the indices of the matching lines of a block, from 0."""


@attrs.define
class _Search:
    """One call of Grep."""

    walk: Walk
    is_wanted: Filter
    shape: Shape
    found: FoundLines
    cwd: Path
    skipped: Skipped = attrs.field(factory=Skipped)
    files: int = 0
    """Files searched so far."""

    def run(self, mark: Marker, *, is_folder: bool, is_whole: bool) -> Work[None]:
        """Search the folder, or the one file that was named."""
        if not is_folder:
            yield from self._file(self.walk.top, mark, is_whole=is_whole)
            return
        for file in self.walk.files():
            if isinstance(file, int):
                yield file
            elif self.is_wanted(file.relative_to(self.walk.top).as_posix()):
                yield from self._file(file, mark, is_whole=is_whole)
                if self.found.has_more:
                    return

    def _file(self, path: Path, mark: Marker, *, is_whole: bool) -> Work[None]:
        excerpt = Excerpt(shown_path(path, self.cwd), self.shape, self.found)
        is_utf8 = True
        try:
            with closing(_whole_file(path) if is_whole else _blocks(path)) as blocks:
                for block in blocks:
                    is_utf8 = is_utf8 and block.is_utf8
                    self.skipped.long_lines += block.cut
                    excerpt.feed(block, mark(block))
                    yield len(block.text) + ENTRY_UNITS
                    if excerpt.is_done:
                        break
            self.files += 1
        except (Unreadable, OSError) as error:
            self.skipped.add(path, error)
            yield ENTRY_UNITS
        if not is_utf8:
            self.skipped.bad_encoding.append(path)
        excerpt.close()


async def _run(search: _Search, pattern: str, flags: re.RegexFlag, ctx: ToolContext) -> None:
    shown = on_one_line(pattern)
    ctx.progress(f"Searching for {shown}")
    is_whole = bool(flags & re.MULTILINE)
    try:
        is_folder = await ctx.blocking(kind_of, search.walk.top) == FOLDER
        parsed = parse(pattern, flags)
        mark = await ctx.blocking(_marker_of_texts if is_whole else _marker_of_lines, parsed)
        work = search.run(mark, is_folder=is_folder, is_whole=is_whole)
        await in_steps(ctx, work, lambda: f"Searching for {shown}: {search.files} files")
    except Unreadable as error:
        name = shown_path(search.walk.top, ctx.real_cwd)
        raise ToolError(f"{name} cannot be searched: {error.reason}") from error
    except BadPattern as error:
        raise ToolError(f"'{shown}' cannot be searched for: {error}") from error


def _blocks(path: Path) -> Generator[Block, None, None]:
    with open_regular(path) as file:
        refuse_binary(file)
        yield from blocks_of(file)


def _whole_file(path: Path) -> Generator[Block, None, None]:
    """Yield a file as one block."""
    size = 0
    blocks = []
    with closing(_blocks(path)) as parts:
        for block in parts:
            blocks.append(block)
            size += len(block.text) + 1
            if size > MULTILINE_BYTES:
                raise TooLarge("it is too large to be searched across lines")
    text = "\n".join(block.text for block in blocks if block.count)
    is_utf8 = all(block.is_utf8 for block in blocks)
    yield Block(text, sum(block.count for block in blocks), is_utf8, sum(block.cut for block in blocks))


def _marker_of_lines(pattern: Parsed) -> Marker:
    return LinePattern(pattern).matching


def _marker_of_texts(pattern: Parsed) -> Marker:
    spans = MultilinePattern(pattern).spans

    def mark(block: Block) -> list[int]:
        matching: dict[int, None] = {}
        number = at = 0
        for start, end in spans(block.text) if block.count else ():
            number += block.text.count("\n", at, start)
            last = number + block.text.count("\n", start, max(start, end - 1))
            matching.update(dict.fromkeys(range(number, last + 1)))
            at = start
        return list(matching)

    return mark


def _filter(glob: str | None, file_type: str | None) -> Filter:
    if file_type is not None and file_type not in FILE_TYPES:
        raise ToolError(
            f"unknown file type '{on_one_line(file_type)}'; expected one of: {', '.join(sorted(FILE_TYPES))}"
        )
    globs = [pattern for pattern in (glob, FILE_TYPES.get(file_type or "")) if pattern is not None]
    wanted: list[tuple[Filter, bool]] = []
    for part in globs:
        is_negated = part.startswith("!")
        try:
            wanted.append((compile_glob(part.removeprefix("!")).matches, not is_negated))
        except BadGlob as error:
            raise ToolError(f"'{on_one_line(part)}' cannot be used as a glob: {error}") from error
    return lambda path: all(matches(path) is answer for matches, answer in wanted)


def _answer(search: _Search, what: str, offset: int) -> str:
    found = search.found
    notes = []
    if found.has_more:
        notes.append(f"(there is more: go on with offset={offset + len(found.lines)}, or narrow the search)")
    elif not found.is_any:
        notes.append(f"(no match for {what}; {search.files} files searched)")
    elif not found.lines:
        notes.append(f"(nothing more: the search for {what} has fewer than {offset + 1} lines of output)")
    return "\n".join([*found.lines, *notes, *search.skipped.notes(search.cwd), *walk_notes(search.walk, search.cwd)])

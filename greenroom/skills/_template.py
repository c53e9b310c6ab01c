"""Parsing of skill texts into words, commands and file references.

Only the author's text is parsed, before any substitution: no argument and no output ever becomes a command or a
reference. Every text can be parsed, and the joined pieces are the original text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, TypeAlias, final

import attrs


@final
@attrs.frozen
class Words:
    """Text in which arguments are substituted."""

    text: str


@final
@attrs.frozen
class Shell:
    """A command that is replaced by its output."""

    text: str
    """The literal text, for messages."""
    command: str


@final
@attrs.frozen
class Reference:
    """A file whose content is appended to the text, if it exists."""

    text: str
    path: str


Piece: TypeAlias = Words | Shell | Reference

_FENCE: Final = re.compile(r"[ \t]*(?P<ticks>`{3,}|~{3,})(?P<bang>!?)(?P<rest>.*)")
_MARKS: Final = re.compile(
    r"(?<![\w`!])!`(?P<command>[^`\n]+)`"  # a command
    r"|(?P<ticks>`+)"  # the end of a code span, or its beginning
    r"|(?<![^\s(\[\"'])@(?P<path>~?[\w./][\w./+~@%-]*)"  # a file
)


def parse_template(text: str) -> tuple[Piece, ...]:
    """Return the pieces of a text, in order. Code contains neither commands nor references."""
    pieces: list[Piece] = []
    plain: list[str] = []
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            plain.append(lines[at])
            at += 1
            continue
        end = _end_of_fence(lines, at + 1, fence["ticks"])
        is_command = fence["bang"] and not fence["rest"].strip() and end < len(lines)
        pieces += _inline("".join(plain))
        plain.clear()
        if is_command:
            whole = "".join(lines[at : end + 1])
            line_end = whole[len(whole.rstrip("\r\n")) :]
            pieces.append(Shell(whole.removesuffix(line_end), "".join(lines[at + 1 : end]).rstrip("\r\n")))
            plain.append(line_end)
        else:
            pieces.append(Words("".join(lines[at : end + 1])))
        at = end + 1
    pieces += _inline("".join(plain))
    return tuple(pieces)


def _end_of_fence(lines: list[str], start: int, ticks: str) -> int:
    """Return the index of the line that ends a fenced block; an unclosed one extends to the end."""
    for at in range(start, len(lines)):
        line = lines[at].strip()
        if len(line) >= len(ticks) and not line.strip(ticks[0]):
            return at
    return len(lines)


def _inline(text: str) -> list[Piece]:
    pieces: list[Piece] = []
    marks = list(_MARKS.finditer(text))
    runs: dict[int, list[int]] = {}
    for number, mark in enumerate(marks):
        if mark["ticks"]:
            runs.setdefault(len(mark["ticks"]), []).append(number)
    at = number = 0
    while number < len(marks):
        mark = marks[number]
        number += 1
        if mark["ticks"]:
            same = runs[len(mark["ticks"])]
            after = bisect_right(same, number - 1)
            if after < len(same) and "\n" not in text[mark.end() : marks[same[after]].start()]:
                number = same[after] + 1
            continue
        if mark["command"] is not None:
            piece: Piece = Shell(mark[0], mark["command"].strip())
        else:
            path = mark["path"].rstrip(".") or "."
            piece = Reference(f"@{path}", path)
        if mark.start() > at:
            pieces.append(Words(text[at : mark.start()]))
        pieces.append(piece)
        at = mark.start() + len(piece.text)
    if at < len(text):
        pieces.append(Words(text[at:]))
    return pieces

"""Facts about one Python file, from its text: its size, functions, missing documentation, markers, patterns, imports.

The file is parsed, never run. What cannot be parsed is counted and named with the reason.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from greenroom.containment import mask_forms
from greenroom.swarm.survey._around import Spot
from greenroom.swarm.survey._facts import FileFacts, Marker, Spotted
from greenroom.swarm.survey._kinds import KINDS
from greenroom.swarm.survey._reader import Reader, Span

LONG_FUNCTION_LINES: Final = 60
MAX_MEASURED: Final = 10
MAX_LISTED: Final = 40
"""Markers, patterns or names of one file that a report lists; the rest is counted."""
MARKER_WORDS: Final = ("TODO", "FIXME", "XXX", "HACK", "BUG")

_WORDS: Final = "|".join(MARKER_WORDS)
# The first word of a comment, or followed by a colon or a name in parentheses: else it is a word of a sentence.
_MARKER: Final = re.compile(rf"(?:^[#\s!*-]*({_WORDS})\b|\b({_WORDS})(?= ?:|\())[:\s]*(.*)")
_ACCEPTED: Final = re.compile(r"#.*\b(noqa|nosec)\b", re.IGNORECASE)
_TEXT_CHARACTERS: Final = 160


def survey_python(path: str, lines: Sequence[str], problem: str = "") -> FileFacts:
    """Return the facts of a Python file.

    Args:
        path: As the report shows it; decides what is a test, a package or a script.
        lines: The text, as far as it was read.
        problem: Why `lines` is not the whole file, if it is not.
    """
    facts = FileFacts(path=path, lines=len(lines), code_lines=sum(map(_is_code, lines)), problem=problem)
    tree = _parse(lines)
    if isinstance(tree, str):
        return _unparsed(facts, tree, lines)
    try:
        return _facts_of(facts, tree, lines)
    except RecursionError:
        return _unparsed(facts, "it is nested too deeply", lines)


def _unparsed(facts: FileFacts, why: str, lines: Sequence[str]) -> FileFacts:
    markers = tuple(_plain_markers(lines))
    problem = facts.problem or f"not parsed: {why}"
    return attrs.evolve(facts, markers=markers[:MAX_LISTED], marker_count=len(markers), problem=problem)


def _facts_of(facts: FileFacts, tree: ast.Module, lines: Sequence[str]) -> FileFacts:
    reader = Reader(facts.path, lines, tree)
    reader.visit(tree)
    markers = tuple(_markers(lines, reader.spans))
    longest = sorted(reader.measured, key=lambda one: (-one.lines, one.line))
    spotted = list(dict.fromkeys(_spotted(spot, lines) for spot in reader.spots()))
    open_ones = [spot for spot in spotted if not _ACCEPTED.search(_line(lines, spot.line))]
    heaviest = sorted(open_ones, key=lambda one: (-KINDS[one.kind].weight, one.line, one.kind))[:MAX_LISTED]
    return attrs.evolve(
        facts,
        functions=len(reader.measured),
        classes=reader.classes,
        public=reader.public,
        undocumented=tuple(reader.undocumented[:MAX_LISTED]),
        undocumented_count=len(reader.undocumented),
        measured=tuple(longest[:MAX_MEASURED]),
        long_count=sum(function.lines > LONG_FUNCTION_LINES for function in longest),
        markers=markers[:MAX_LISTED],
        marker_count=len(markers),
        spotted=tuple(sorted(heaviest, key=lambda one: (one.line, one.kind))),
        spotted_count=len(open_ones),
        accepted_count=len(spotted) - len(open_ones),
        imports=tuple(sorted(reader.imports | reader.strings)),
    )


def _spotted(spot: Spot, lines: Sequence[str]) -> Spotted:
    return Spotted(spot.line, spot.kind, shortened(spot.text or _line(lines, spot.line)))


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1] if number <= len(lines) else ""


def _is_code(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#")


def _parse(lines: Sequence[str]) -> ast.Module | str:
    """Return the syntax tree, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape in somebody else's file does not concern this program
            return ast.parse("\n".join(lines) + "\n")
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    except (RecursionError, MemoryError):
        return "it is nested too deeply"
    except ValueError as error:
        return str(error)


def _markers(lines: Sequence[str], spans: Sequence[Span]) -> Iterator[Marker]:
    """Yield the markers in comments, each with the innermost function or class around it."""
    if not any(re.search(_WORDS, line) for line in lines):
        return  # the tokenizer is slow, and most files have none
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline))
    except (tokenize.TokenError, SyntaxError):  # what the parser took, the tokenizer may refuse
        yield from _plain_markers(lines)
        return
    for token in tokens:
        found = _MARKER.search(token.string) if token.type == tokenize.COMMENT else None
        if found:
            line = token.start[0]
            around = [span for span in spans if span.first <= line <= span.last]
            within = max(around, key=lambda span: span.first).name if around else ""
            yield Marker(line, found[1] or found[2], shortened(_with_next(lines, line, found[3])), within)


def _with_next(lines: Sequence[str], line: int, text: str) -> str:
    """Return a marker's text with the comment line that goes on with its sentence, if there is one."""
    following = lines[line].strip() if line < len(lines) else ""
    is_comment = following.startswith("#") and lines[line - 1].strip().startswith("#")
    if not is_comment or text.rstrip().endswith((".", "!", "?")) or re.search(rf"\b({_WORDS})\b", following):
        return text
    return f"{text.rstrip()} {following.lstrip('# ')}"


def _plain_markers(lines: Sequence[str]) -> Iterator[Marker]:
    for number, line in enumerate(lines, 1):
        found = _MARKER.search(line[line.index("#") :]) if "#" in line else None
        if found:
            yield Marker(number, found[1] or found[2], shortened(found[3]), "")


def shortened(text: str, most: int = _TEXT_CHARACTERS) -> str:
    """Return a line of text without space around it and without secrets, cut where it is long."""
    text = " ".join(mask_forms(text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"

"""Tolerant reading of definition headers: as YAML first, and line by line where YAML fails or loses text.

A header that is valid YAML and loses nothing reads as YAML does; every deviation is noted with its line. In a header
that is not valid YAML, only fields of the table begin a field; other lines belong to the text before them. Only prose
is guessed: if any other value cannot be read, or is repeated, the header is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import attrs

from greenroom.core.sources._diagnostics import Diagnostic, Kind
from greenroom.core.sources._field_table import Field
from greenroom.core.sources._frontmatter import BadFrontmatter, Document, FieldEntry, parse_fields, split_frontmatter

_KEY: Final = re.compile(r"(?P<key>[A-Za-z_][\w-]*)[ \t]*:(?=[ \t]|$)[ \t]*(?P<rest>.*)")
_WORD: Final = re.compile(r"[a-z][\w-]*")
_BLOCK: Final = re.compile(r"[|>][-+0-9]*")
_OPENS: Final = ("[", "{", '"', "'", "|", ">", "&", "!")
_SPEAKERS: Final = frozenset({"user", "assistant", "context", "commentary", "example", "note", "system", "human"})
"""Words before a colon that belong to a dialog in a description, not to a field."""

_Notes: TypeAlias = list[tuple[int, str]]


@attrs.frozen
class _Chunk:
    """A field in a header: its key, its line in the file, and its lines, the one with the key first."""

    key: str
    line: int
    lines: tuple[str, ...]

    @property
    def rest(self) -> str:
        """The text behind the colon of the first line."""
        found = _KEY.fullmatch(self.lines[0])
        return "" if found is None else found["rest"].strip()


def read_header(
    content: str, table: Mapping[str, Field], *, source: str, known: Iterable[str] = ()
) -> tuple[Document, list[Diagnostic]]:
    """Return the fields and the body of a Markdown file, and notes on fields that were not read as YAML.

    Args:
        content: The text of the file.
        table: The fields that it may have, by key.
        source: Its origin, for the notes.
        known: Further keys that begin a field.

    Raises:
        BadFrontmatter: The header has no end, or cannot be read line by line either.
    """
    head, document = split_frontmatter(content)
    if head is None:
        return document, []
    keys = frozenset((*table, *known))
    notes: _Notes = []
    try:
        fields = dict(parse_fields(head))
        if "\n" in head or fields:
            _restore(fields, _chunks(head, frozenset(fields)), table, notes)
    except BadFrontmatter as problem:
        chunks = _chunks(head, keys)
        if not any(chunk.key in table for chunk in chunks):
            raise
        notes.append((problem.line, f"{problem.what}; it was read line by line"))
        fields = _by_lines(chunks, table, notes)
    document = attrs.evolve(document, fields=fields)
    return document, [Diagnostic(kind=Kind.NOTE, source=source, line=line, text=text) for line, text in notes]


# --- YAML that loses text ---------------------------------------------------------------------------------------------


def _restore(fields: dict[str, FieldEntry], chunks: list[_Chunk], table: Mapping[str, Field], notes: _Notes) -> None:
    """Restore prose that YAML took for a comment or a list."""
    for chunk in chunks:
        field, entry = table.get(chunk.key), fields.get(chunk.key)
        if (
            field is None
            or entry is None
            or not field.is_prose
            or not chunk.rest
            or chunk.rest.startswith(('"', "'", "|", ">"))
        ):
            continue
        if chunk.rest.startswith("#"):
            continue  # there is only a comment
        if entry.text is None:
            if chunk.rest.startswith(("[", "{")) and not isinstance(entry.value, str):
                fields[chunk.key] = _prose(chunk)
            continue
        if " ".join(entry.text.split()) != " ".join(_joined(chunk).split()):
            fields[chunk.key] = _prose(chunk)
            notes.append((chunk.line, f"{chunk.key}: YAML takes what follows ' #' for a comment; it was read as text"))
        elif "\\n" in entry.text:
            fields[chunk.key] = _prose(chunk)


def _joined(chunk: _Chunk) -> str:
    """Return the lines of a plain value as one text, without comment lines."""
    inner = [line.strip() for line in chunk.lines[1:] if not line.lstrip().startswith("#")]
    return "\n".join([chunk.rest, *inner]).rstrip()


def _prose(chunk: _Chunk) -> FieldEntry:
    text = _joined(chunk)
    for quote in ('"', "'"):
        if len(text) > 1 and text[0] == text[-1] == quote:
            text = text[1:-1]
    if text.count("\\n") > 1 or "<example>" in text:  # written by programs that escape line breaks
        text = text.replace("\\n", "\n").replace('\\"', '"')
    return FieldEntry(text.strip(), text.strip(), chunk.line)


# --- line by line -----------------------------------------------------------------------------------------------------


def _chunks(head: str, keys: frozenset[str]) -> list[_Chunk]:
    """Return the fields of a header by its lines; text before the first field is dropped."""
    found: list[_Chunk] = []
    for number, written in enumerate(head.split("\n"), 2):
        line = written
        match = _KEY.fullmatch(line)
        if match is None and line.startswith("\t"):  # YAML rejects tabs, which are invisible to people
            inner = _KEY.fullmatch(line.lstrip("\t"))
            match = inner if inner is not None and inner["key"] in keys else None
            line = line.lstrip("\t") if match is not None else line
        if match is not None and (match["key"] in keys or (_is_field(match["key"]) and not _is_within_prose(found))):
            found.append(_Chunk(match["key"], number, (line,)))
        elif found:
            found[-1] = attrs.evolve(found[-1], lines=(*found[-1].lines, line))
    return found


def _is_field(key: str) -> bool:
    return _WORD.fullmatch(key) is not None and key not in _SPEAKERS


def _is_within_prose(found: list[_Chunk]) -> bool:
    """True if an example that the last field has opened is still open."""
    if not found:
        return False
    text = "\n".join(found[-1].lines)
    return text.count("<example>") > text.count("</example>")


def _by_lines(chunks: list[_Chunk], table: Mapping[str, Field], notes: _Notes) -> dict[str, FieldEntry]:
    fields: dict[str, FieldEntry] = {}
    for chunk in chunks:
        entry = _entry(chunk, table.get(chunk.key))
        before, field = fields.get(chunk.key), table.get(chunk.key)
        if before is not None:
            if field is not None and not field.is_prose and before.value != entry.value:
                raise BadFrontmatter(chunk.line, f"{chunk.key!r} is repeated; it first appears in line {before.line}")
            notes.append(
                (chunk.line, f"{chunk.key!r} is repeated; this value counts, not the one in line {before.line}")
            )
        fields[chunk.key] = entry
    return fields


def _entry(chunk: _Chunk, field: Field | None) -> FieldEntry:
    """Return the value of one field: as YAML if it is valid by itself, else as its literal text.

    Raises:
        BadFrontmatter: Neither is possible.
    """
    is_prose = field is not None and field.is_prose
    problem: BadFrontmatter | None = None
    for text in _spellings(chunk):
        try:
            found = parse_fields(text)
        except BadFrontmatter as error:
            problem = problem or error
            continue
        entry = found.get(chunk.key)
        if entry is not None and len(found) == 1:
            fields = {chunk.key: attrs.evolve(entry, line=chunk.line)}
            if is_prose and field is not None:
                _restore(fields, [chunk], {chunk.key: field}, [])
            return fields[chunk.key]
    is_line = not any(line.strip() for line in chunk.lines[1:])
    if is_prose and not _BLOCK.fullmatch(chunk.rest):
        return _prose(chunk)
    if is_prose:  # a block whose lines are not valid YAML, such as lines indented with tabs
        text = "\n".join(line.strip() for line in chunk.lines[1:]).strip()
        return FieldEntry(text, text, chunk.line)
    if is_line and not chunk.rest.startswith(_OPENS):
        return FieldEntry(chunk.rest, chunk.rest, chunk.line)
    what = problem.what if problem is not None else "the value cannot be read"
    raise BadFrontmatter(chunk.line, f"{chunk.key}: {what}")


def _spellings(chunk: _Chunk) -> Iterator[str]:
    text = "\n".join(chunk.lines)
    yield text
    if "\t" in text:
        yield text.replace("\t", "  ")

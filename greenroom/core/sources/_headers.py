"""Headers of definitions as their authors meant them: first as YAML, and where that fails or loses text, line by line.

Rule 1: a header that is good YAML and loses nothing reads as YAML does. Rule 2: what is read otherwise is noted, with its line.
Rule 3: only fields that the table knows begin in a header that is no YAML; all else between them belongs to the text before it.
Rule 4: only prose is guessed: where any other value
cannot be read, or stands there twice, the header cannot be read. Must not know: which fields there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import attrs

from greenroom.core.sources._diagnostics import Diagnostic, Kind
from greenroom.core.sources._fields import Field
from greenroom.core.sources._frontmatter import BadFrontmatter, Document, Entry, parse_fields, split_frontmatter

_KEY: Final = re.compile(r"(?P<key>[A-Za-z_][\w-]*)[ \t]*:(?=[ \t]|$)[ \t]*(?P<rest>.*)")
_WORD: Final = re.compile(r"[a-z][\w-]*")
_BLOCK: Final = re.compile(r"[|>][-+0-9]*")
_OPENS: Final = ("[", "{", '"', "'", "|", ">", "&", "!")
_SPEAKERS: Final = frozenset({"user", "assistant", "context", "commentary", "example", "note", "system", "human"})
"""Words before a colon that are part of a dialog in a description, not fields."""

_Notes: TypeAlias = list[tuple[int, str]]


@attrs.frozen
class _Chunk:
    """A field as it stands in a header: its key, its line in the file, and its lines, the one with the key first."""

    key: str
    line: int
    lines: tuple[str, ...]

    @property
    def rest(self) -> str:
        """What stands behind the colon of its first line."""
        found = _KEY.fullmatch(self.lines[0])
        return "" if found is None else found["rest"].strip()


def read_header(
    content: str, table: Mapping[str, Field], *, source: str, known: Iterable[str] = ()
) -> tuple[Document, list[Diagnostic]]:
    """Return the fields and the body of a Markdown file, and notes on what was not read as YAML.

    Args:
        content: The text of the file.
        table: The fields that it may have, by key.
        source: Where it lies, for the notes.
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
        if not any(one.key in table for one in chunks):
            raise
        notes.append((problem.line, f"{problem.what}; it was read line by line"))
        fields = _by_lines(chunks, table, notes)
    document = attrs.evolve(document, fields=fields)
    return document, [Diagnostic(kind=Kind.NOTE, source=source, line=line, text=text) for line, text in notes]


# --- YAML that loses text ---------------------------------------------------------------------------------------------


def _restore(fields: dict[str, Entry], chunks: list[_Chunk], table: Mapping[str, Field], notes: _Notes) -> None:
    """Put back what YAML took for a comment or a list in a field of prose."""
    for one in chunks:
        field, entry = table.get(one.key), fields.get(one.key)
        if (
            field is None
            or entry is None
            or not field.is_prose
            or not one.rest
            or one.rest.startswith(('"', "'", "|", ">"))
        ):
            continue
        if one.rest.startswith("#"):
            continue  # nothing but a comment stands there
        if entry.text is None:
            if one.rest.startswith(("[", "{")) and not isinstance(entry.value, str):
                fields[one.key] = _prose(one)
            continue
        if " ".join(entry.text.split()) != " ".join(_joined(one).split()):
            fields[one.key] = _prose(one)
            notes.append((one.line, f"{one.key}: YAML takes what follows ' #' for a comment; it was read as text"))
        elif "\\n" in entry.text:
            fields[one.key] = _prose(one)


def _joined(chunk: _Chunk) -> str:
    """Return the lines of a plain value as one text; lines that are comments as a whole are left out."""
    inner = [line.strip() for line in chunk.lines[1:] if not line.lstrip().startswith("#")]
    return "\n".join([chunk.rest, *inner]).rstrip()


def _prose(chunk: _Chunk) -> Entry:
    text = _joined(chunk)
    for quote in ('"', "'"):
        if len(text) > 1 and text[0] == text[-1] == quote:
            text = text[1:-1]
    if text.count("\\n") > 1 or "<example>" in text:  # written by programs that escape line breaks
        text = text.replace("\\n", "\n").replace('\\"', '"')
    return Entry(text.strip(), text.strip(), chunk.line)


# --- line by line -----------------------------------------------------------------------------------------------------


def _chunks(head: str, keys: frozenset[str]) -> list[_Chunk]:
    """Return the fields of a header by its lines; what stands before the first one is left out."""
    found: list[_Chunk] = []
    for number, written in enumerate(head.split("\n"), 2):
        line = written
        match = _KEY.fullmatch(line)
        if match is None and line.startswith("\t"):  # YAML takes no tabs, and nobody sees them
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
    """True if an example, or a quotation, that the last field has opened is still open."""
    if not found:
        return False
    text = "\n".join(found[-1].lines)
    return text.count("<example>") > text.count("</example>")


def _by_lines(chunks: list[_Chunk], table: Mapping[str, Field], notes: _Notes) -> dict[str, Entry]:
    fields: dict[str, Entry] = {}
    for one in chunks:
        entry = _entry(one, table.get(one.key))
        before, field = fields.get(one.key), table.get(one.key)
        if before is not None:
            if field is not None and not field.is_prose and before.value != entry.value:
                raise BadFrontmatter(one.line, f"{one.key!r} stands here again; the first one is in line {before.line}")
            notes.append(
                (one.line, f"{one.key!r} stands here again; this one counts, not the one in line {before.line}")
            )
        fields[one.key] = entry
    return fields


def _entry(chunk: _Chunk, field: Field | None) -> Entry:
    """Return the value of one field: as YAML where it is that by itself, else as the text that stands there.

    Raises:
        BadFrontmatter: It is neither.
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
    if is_prose:  # a block whose lines YAML does not take, such as those indented with tabs
        text = "\n".join(line.strip() for line in chunk.lines[1:]).strip()
        return Entry(text, text, chunk.line)
    if is_line and not chunk.rest.startswith(_OPENS):
        return Entry(chunk.rest, chunk.rest, chunk.line)
    what = problem.what if problem is not None else "the value cannot be read"
    raise BadFrontmatter(chunk.line, f"{chunk.key}: {what}")


def _spellings(chunk: _Chunk) -> Iterator[str]:
    text = "\n".join(chunk.lines)
    yield text
    if "\t" in text:
        yield text.replace("\t", "  ")

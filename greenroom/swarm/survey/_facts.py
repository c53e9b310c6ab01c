"""The facts that teammates find, and their report format: a line for people, then one JSON line per fact.

A report that was cut or wrapped gives the facts that are whole. Every list is capped, and the count of all is there beside
it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import attrs

from greenroom.core.texts import printable_json

# At the start of a line, save for what a wrapper writes before it: the same words within a fact are a quotation.
_HEAD: Final = re.compile(r"^[^{\n]*?Findings on item (\w+):", re.MULTILINE)


@attrs.frozen
class Named:
    """Something with a name and a line."""

    line: int
    name: str


@attrs.frozen
class Measured:
    """A function and its size."""

    line: int
    name: str
    lines: int
    branches: int
    """Ways through it, roughly: one, and one for each decision."""


@attrs.frozen
class Marker:
    """A note to do something later."""

    line: int
    word: str
    text: str
    within: str
    """The function or class that it stands in; empty at the top of the file."""


@attrs.frozen
class Spotted:
    """A pattern that often means trouble."""

    line: int
    kind: str
    text: str


@attrs.frozen(kw_only=True)
class FileFacts:
    """The facts about one file."""

    path: str
    lines: int = 0
    code_lines: int = 0
    """Lines that are neither blank nor only a comment."""
    functions: int = 0
    classes: int = 0
    public: int = 0
    """Public functions, methods and classes."""
    undocumented: tuple[Named, ...] = ()
    undocumented_count: int = 0
    measured: tuple[Measured, ...] = ()
    """The longest functions."""
    long_count: int = 0
    """Functions above the length that is worth a remark."""
    markers: tuple[Marker, ...] = ()
    marker_count: int = 0
    spotted: tuple[Spotted, ...] = ()
    spotted_count: int = 0
    accepted_count: int = 0
    """Patterns on lines that carry a `noqa` or `nosec`: somebody has looked at them."""
    imports: tuple[str, ...] = ()
    """The modules that it imports, or names in a text as if to import them."""
    problem: str = ""
    """Why it was not analysed, or not wholly."""


@attrs.frozen(kw_only=True)
class TextFacts:
    """The facts about a document: Markdown, or `pyproject.toml`."""

    path: str
    lines: int = 0
    links: tuple[Spotted, ...] = ()
    """Links to files beside it: the kind is the file that is meant, from the top; the text is as written."""
    spotted: tuple[Spotted, ...] = ()
    requires_python: str = ""
    problem: str = ""
    """Why it was not read, or not wholly."""


@attrs.frozen
class Hit:
    """A line that a search found."""

    path: str
    line: int
    text: str


@attrs.frozen(kw_only=True)
class SearchFacts:
    """The result of one search."""

    label: str
    hits: tuple[Hit, ...] = ()
    files: int = 0
    """Files with a hit."""
    is_cut: bool = False
    """There was more than was looked at."""
    problem: str = ""


@attrs.frozen
class Placed:
    """A kind of finding, where it is, and the text to show."""

    kind: str
    path: str
    line: int
    text: str = ""


@attrs.frozen(kw_only=True)
class TreeFacts:
    """The facts that no file tells alone."""

    found: tuple[Placed, ...] = ()
    found_count: int = 0
    linter: str = ""
    """The linter that looked too, with its version; empty if none is installed."""
    notes: tuple[str, ...] = ()
    """Things that were not looked at, a line each."""


Facts: TypeAlias = FileFacts | TextFacts | SearchFacts | TreeFacts
_CLASSES: Final[Mapping[str, type[Facts]]] = {
    "file": FileFacts,
    "text": TextFacts,
    "search": SearchFacts,
    "tree": TreeFacts,
}
_TAGS: Final = {kind: tag for tag, kind in _CLASSES.items()}


@attrs.frozen
class ItemFindings:
    """The findings of a teammate on one item."""

    item: str
    facts: tuple[Facts, ...]


def write_fact(fact: Facts) -> str:
    """Return a fact as one line of JSON."""
    return printable_json(json.dumps(_plain(fact), ensure_ascii=False, separators=(",", ":")))


def parse_facts(text: str) -> tuple[Facts, ...]:
    """Return the facts that lines of a text hold; other lines give none."""
    return tuple(fact for fact in map(_fact, text.split("\n")) if fact is not None)


def write_findings(item: str, subject: str, facts: Iterable[Facts]) -> str:
    """Return the findings of a teammate."""
    return "\n".join([f"Findings on item {item}: {subject}", *map(write_fact, facts)])


# A lead reads the same messages at every turn; the cache keeps only what the conversation holds anyway.
@lru_cache(maxsize=1024)
def parse_findings(text: str) -> tuple[ItemFindings, ...]:
    """Return the reports that a text holds; other text gives none."""
    return tuple(_parse_findings(text))


def _parse_findings(text: str) -> Iterator[ItemFindings]:
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    for head, end in zip(heads, ends, strict=False):
        yield ItemFindings(head[1], parse_facts(text[head.end() : end]))


def _plain(fact: Facts) -> dict[str, Any]:
    plain: dict[str, Any] = _converter().unstructure(fact)
    return {"facts": _TAGS[type(fact)], **plain}


def _fact(line: str) -> Facts | None:
    line = line.strip()
    start = line.find("{")
    if start < 0:
        return None
    for text in (line[start:], html.unescape(line[start:])):
        try:
            # The end of the object is where JSON says: a closing tag may follow on the same line.
            plain, _ = json.JSONDecoder().raw_decode(text)
            kind = plain.pop("facts")
            return _structure(kind, plain)
        except (ValueError, KeyError, AttributeError, TypeError):
            continue
    return None


def _structure(kind: str, plain: dict[str, Any]) -> Facts | None:
    from cattrs.errors import BaseValidationError

    if kind not in _CLASSES:
        return None
    try:
        fact: Facts = _converter().structure(plain, _CLASSES[kind])
        return fact
    except BaseValidationError:
        return None


@cache
def _converter() -> Any:
    from cattrs import Converter

    return Converter(omit_if_default=True)

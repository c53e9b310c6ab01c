"""Items of the board: which files to read, what to search for; written for people and models, and read back.

What `describe` writes, `parse_item` reads, whatever stands around it.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from greenroom.swarm.survey._documents import is_document

_FILE: Final = re.compile(r"^- (.+) \((?:(\d[\d,]*) lines?|size unknown)\)$", re.MULTILINE)
_CALL: Final = re.compile(r"^- (.+): call (TreeFacts)$", re.MULTILINE)
_SEARCH: Final = re.compile(r"^- (.+): search for `(.+)` in `(.+?)`( \(upper or lower case\))?$", re.MULTILINE)
_PYTHON: Final = (
    "Look at these files and report on each: its size, its longest functions, TODO and FIXME comments, public functions "
    "without documentation, likely mistakes and risks, and what it imports."
)
_DOCUMENTS: Final = (
    "Look at these documents and report links to files that are not in the folder; of pyproject.toml, whether it names a "
    "licence, a README that is there and the Pythons that it is for."
)
_NUMBER: Final = re.compile(r"\b(?:item|task)\b\W{0,3}(\d+)\b", re.IGNORECASE)


@attrs.frozen
class FileToRead:
    """A file, and how long it is if that is known."""

    path: str
    lines: int | None = None


@attrs.frozen
class SurveySearch:
    """A search with Grep."""

    label: str
    pattern: str
    glob: str = "*"
    ignores_case: bool = False
    tool: str = "Grep"
    """Another tool is called as it is, without a pattern."""


@attrs.frozen(kw_only=True)
class SurveyItem:
    """The work of one teammate in one turn."""

    subject: str
    files: tuple[FileToRead, ...] = ()
    searches: tuple[SurveySearch, ...] = ()
    head: str = ""
    """The request, if it is not the one that the files suggest. It is not parsed."""


def describe(item: SurveyItem) -> str:
    """Return the description of an item for the board."""
    if item.searches:
        is_grep = all(search.tool == "Grep" for search in item.searches)
        head = f"{'Search with Grep' if is_grep else 'Search'}, and report each place as path and line:"
        lines = [
            f"- {search.label}: call {search.tool}"
            if search.tool != "Grep"
            else f"- {search.label}: search for `{search.pattern}` in `{search.glob}`"
            + (" (upper or lower case)" if search.ignores_case else "")
            for search in item.searches
        ]
    else:
        head = item.head or (_DOCUMENTS if any(is_document(file.path) for file in item.files) else _PYTHON)
        lines = [f"- {file.path} ({_size(file.lines)})" for file in item.files]
    return "\n".join([head, "", *lines])


def parse_item(text: str) -> SurveyItem | None:
    """Return the item that a text describes, None if it describes none."""
    searches = tuple(
        SurveySearch(label, pattern, glob, bool(case)) for label, pattern, glob, case in _SEARCH.findall(text)
    ) + tuple(SurveySearch(label, "", tool=tool) for label, tool in _CALL.findall(text))
    files: tuple[FileToRead, ...] = ()
    if not searches:
        files = tuple(
            FileToRead(path, int(lines.replace(",", "")) if lines else None) for path, lines in _FILE.findall(text)
        )
    if not searches and not files:
        return None
    return SurveyItem(subject="", files=files, searches=searches)


def item_number(text: str) -> str | None:
    """Return the board's number of the item that a text is about."""
    found = _NUMBER.search(text)
    return found[1] if found else None


def _size(lines: int | None) -> str:
    if lines is None:
        return "size unknown"
    return "1 line" if lines == 1 else f"{lines} lines"

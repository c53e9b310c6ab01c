"""The lead's first look at a folder: which calls it takes, and what they show.

A tree of any size takes a handful of calls. What the look does not reach is counted or named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import attrs

from greenroom.models import Call
from greenroom.swarm.survey._paths import DATA_SUFFIXES, PYTHON, language_of
from greenroom.swarm.survey._survey_conversation import SurveyConversation, ToolCall
from greenroom.swarm.survey._tool_answers import GrepAnswer, SkippedFiles, parse_counts, parse_names

MAX_FILES: Final = 2_000
"""Python files that are read; in a larger tree the first ones by path."""
_MAX_PAGES: Final = 4

_ALL_FILES: Final[Mapping[str, Any]] = {"pattern": "**/*"}
_ALL_PYTHON: Final[Mapping[str, Any]] = {"pattern": "**/*.{py,pyi}"}
# Counting the matches of `^` counts lines, and unlike Glob, Grep can go on where an answer was cut.
_LINES: Final[Mapping[str, Any]] = {"pattern": "^", "output_mode": "count", "head_limit": 0}
_PYTHON_LINES: Final[Mapping[str, Any]] = {**_LINES, "type": "py"}
_OTHER_LINES: Final[Mapping[str, Any]] = {**_LINES, "glob": f"!*.{{py,pyi,{DATA_SUFFIXES}}}"}


@attrs.frozen(kw_only=True)
class Listing:
    """The content of a folder."""

    total: int
    """Files, as far as they can be seen: what ignore files name is not counted."""
    paths: tuple[str, ...]
    """The files by name; not all of them in a large tree."""
    python: Mapping[str, int | None]
    """Lines of each Python file; None where the search showed none: it is empty or cannot be read."""
    others: Mapping[str, int]
    """Lines of each other text file."""
    is_python_cut: bool = False
    """There are more Python files than these."""
    python_total: int = 0
    """All Python files, where there are more than these; 0 where that is not known."""
    is_others_cut: bool = False
    skipped: Mapping[str, SkippedFiles] = attrs.field(factory=dict)
    """Files that the tools could not read, or not as they are, by reason."""
    notes: tuple[str, ...] = ()
    """Other things that could not be read, in the tools' words."""
    problem: str = ""
    """Why the folder could not be listed, if it could not."""

    @property
    def uncounted(self) -> Mapping[str, int]:
        """Data files by suffix, as far as files are known by name: their lines were not counted."""
        endings = frozenset(DATA_SUFFIXES.split(","))
        found = Counter(PurePosixPath(path).suffix.removeprefix(".") for path in self.paths if path not in self.others)
        return {suffix: found[suffix] for suffix in sorted(found) if suffix in endings}

    @property
    def skip_lines(self) -> list[str]:
        """The skipped files in words: one line per reason."""
        lines = []
        for what, files in self.skipped.items():
            reason = what.removeprefix("skipped, ")
            amount = f"{files.count} {'file' if files.count == 1 else 'files'} ({files.text})"
            lines.append(f"{reason[0].upper()}{reason[1:]}: {amount if reason != what else files.text}")
        return lines + [note if note.startswith("(") else note[0].upper() + note[1:] for note in self.notes]

    @property
    def is_cut(self) -> bool:
        """True if `paths` lacks files."""
        return self.total > len(self.paths)


def next_looks(conversation: SurveyConversation) -> list[Call]:
    """Return the calls that the listing still lacks."""
    if not conversation.calls_of("Glob"):
        return [Call("Glob", _ALL_FILES), Call("Grep", _PYTHON_LINES), Call("Grep", _OTHER_LINES)]
    pages = _greps(conversation, _PYTHON_LINES)
    counts = [parse_counts(page.result or "") for page in pages]
    offset = counts[-1].next_offset if counts else None
    if offset is None:
        return []
    if len(pages) >= _MAX_PAGES or sum(len(count.counts) for count in counts) >= MAX_FILES:
        return [] if _globs(conversation, _ALL_PYTHON) else [Call("Glob", _ALL_PYTHON)]
    return [Call("Grep", {**_PYTHON_LINES, "offset": offset})]


def read_listing(conversation: SurveyConversation) -> Listing:
    """Return what the calls have shown."""
    globbed = conversation.calls_of("Glob")[0]
    if globbed.is_error:
        return Listing(total=0, paths=(), python={}, others={}, problem=globbed.result or "")
    names = parse_names(globbed.result or "")
    python_pages = [parse_counts(page.result or "") for page in _greps(conversation, _PYTHON_LINES)]
    other_pages = [parse_counts(page.result or "") for page in _greps(conversation, _OTHER_LINES)]
    python: dict[str, int | None] = {path: None for path in names.paths if language_of(path) == PYTHON}
    for page in python_pages:
        python |= page.counts
    kept = sorted(python)[:MAX_FILES]
    others = {path: lines for page in other_pages for path, lines in page.counts.items()}
    return Listing(
        total=max(names.total, len(python) + len(others)),
        paths=tuple(sorted({*names.paths, *python, *others})),
        python={path: python[path] for path in kept},
        others=others,
        python_total=_python_total(conversation, python_pages, len(python)),
        is_python_cut=len(kept) < len(python) or (bool(python_pages) and python_pages[-1].next_offset is not None),
        is_others_cut=bool(other_pages) and other_pages[-1].next_offset is not None,
        skipped=_skipped(python_pages, other_pages),
        notes=names.notes,
    )


def _python_total(conversation: SurveyConversation, pages: Sequence[GrepAnswer], seen: int) -> int:
    if pages and pages[-1].next_offset is None:
        return seen
    return max((parse_names(call.result or "").total for call in _globs(conversation, _ALL_PYTHON)), default=0)


def _globs(conversation: SurveyConversation, wanted: Mapping[str, Any]) -> list[ToolCall]:
    return [call for call in conversation.calls_of("Glob") if wanted.items() <= dict(call.input).items()]


def _greps(conversation: SurveyConversation, wanted: Mapping[str, Any]) -> list[ToolCall]:
    return [call for call in conversation.calls_of("Grep") if wanted.items() <= dict(call.input).items()]


def _skipped(*searches: Sequence[GrepAnswer]) -> dict[str, SkippedFiles]:
    """Add up what searches over different files skipped; each page of one names all that the pages before it did."""
    skipped: dict[str, SkippedFiles] = {}
    for pages in searches:
        of_search: dict[str, SkippedFiles] = {}
        for page in pages:
            for what, files in page.skipped.items():
                of_search[what] = max(of_search.get(what, files), files, key=lambda one: one.count)
        for what, files in of_search.items():
            skipped[what] = skipped[what] + files if what in skipped else files
    return skipped

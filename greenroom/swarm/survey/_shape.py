"""The sections of a report on the size and the shape of a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from greenroom.swarm.survey._facts import FileFacts
from greenroom.swarm.survey._listing import Listing
from greenroom.swarm.survey._markdown import code, more, table
from greenroom.swarm.survey._paths import language_of

_MAX_FOLDERS: Final = 40
_MAX_FILES: Final = 10
_DEEPEST: Final = 3


def shape_sections(listing: Listing, files: Mapping[str, FileFacts]) -> list[str]:
    """Return the tables of folders, languages and long files."""
    lines = _lines_by_path(listing, files)
    parts = ["", "## Size and shape", "", *_folders(listing.paths, lines, files), "", *_languages(listing.paths, lines)]
    longest = sorted(lines, key=lambda path: (-lines[path], path))
    if longest:
        rows = [(code(path), lines[path]) for path in longest[:_MAX_FILES]]
        parts += ["", "The longest of the files whose lines were counted:", "", *table(("File", "Lines"), rows)]
    return parts


def _lines_by_path(listing: Listing, files: Mapping[str, FileFacts]) -> dict[str, int]:
    lines = {path: count or 0 for path, count in listing.python.items()}
    return {**lines, **listing.others, **{path: one.lines for path, one in files.items()}}


def _folders(paths: Iterable[str], lines: Mapping[str, int], files: Mapping[str, FileFacts]) -> list[str]:
    paths = tuple(paths)
    depths = [len({folder_at(path, depth) for path in paths}) for depth in range(1, _DEEPEST + 1)]
    # As deep as a table that one can take in allows.
    depth = max((at for at, number in enumerate(depths, 1) if number <= _MAX_FOLDERS), default=1)
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for path in paths:
        facts = files.get(path)
        row = rows[folder_at(path, depth)]
        row[0] += 1
        row[1] += lines.get(path, 0)
        if facts:
            row[2] += 1
            row[3] += facts.functions
            row[4] += facts.classes
    columns = ("Folder", "Files", "Lines of text", "Python files", "Functions", "Classes")
    shown = sorted(rows)
    if len(shown) > _MAX_FOLDERS:
        shown = sorted(sorted(rows, key=lambda folder: (-rows[folder][1], folder))[:_MAX_FOLDERS])
    return [
        *table(columns, [(code(folder), *rows[folder]) for folder in shown]),
        *more(len(shown), len(rows), "folders, smaller ones"),
    ]


def folder_at(path: str, depth: int) -> str:
    """Return the folder of a path, cut to a number of levels."""
    parts = PurePosixPath(path).parts[:-1][:depth]
    return "/".join(parts) + "/" if parts else "."


def _languages(paths: Iterable[str], lines: Mapping[str, int]) -> list[str]:
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in paths:
        row = rows[language_of(path)]
        row[0] += 1
        row[1] += lines.get(path, 0)
    order = sorted(rows, key=lambda language: (-rows[language][1], -rows[language][0], language))
    return table(("Language", "Files", "Lines"), [(language, *rows[language]) for language in order])

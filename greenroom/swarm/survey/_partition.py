"""Cutting a tree of files into items of about the same size, along its folders.

Every file is in exactly one item, and the same files give the same items. What lies together stays together as far as the
size allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from greenroom.swarm.survey._items import FileToRead, SurveyItem

LEAST_LINES: Final = 300
MAX_LINES: Final = 4_000
MAX_FILES: Final = 25
WANTED_ITEMS: Final = 12
"""Items per teammate in a large tree: several, so that nobody waits long for the last one."""


def plan_reading(sizes: Mapping[str, int | None], *, wanted_items: int = WANTED_ITEMS) -> tuple[SurveyItem, ...]:
    """Return the items that read all files.

    Args:
        sizes: Lines of each file, by path; None where that is not known.
        wanted_items: Into how many a large tree is cut, or more where one would get too long.
    """
    total = sum(size or 0 for size in sizes.values())
    budget = min(max(total // wanted_items, LEAST_LINES), MAX_LINES)
    files = [FileToRead(path, sizes[path]) for path in sorted(sizes)]
    return tuple(
        SurveyItem(subject=_subject(chunk), files=tuple(chunk)) for chunk in _chunks(files, depth=0, budget=budget)
    )


def _chunks(files: Sequence[FileToRead], *, depth: int, budget: int) -> list[list[FileToRead]]:
    """Cut the files of one folder: whole if they fit, else each folder below by itself, small neighbors joined."""
    if _fits(files, budget):
        return [list(files)] if files else []
    here = [file for file in files if len(PurePosixPath(file.path).parts) == depth + 1]
    below: dict[str, list[FileToRead]] = {}
    for file in files:
        parts = PurePosixPath(file.path).parts
        if len(parts) > depth + 1:
            below.setdefault(parts[depth], []).append(file)
    groups = [[file] for file in here]
    for folder in below.values():
        groups += _chunks(folder, depth=depth + 1, budget=budget)
    return _joined(groups, budget)


def _joined(groups: Iterable[list[FileToRead]], budget: int) -> list[list[FileToRead]]:
    joined: list[list[FileToRead]] = []
    for group in groups:
        if joined and _fits([*joined[-1], *group], budget):
            joined[-1] = [*joined[-1], *group]
        else:
            joined.append(group)
    return joined


def _fits(files: Sequence[FileToRead], budget: int) -> bool:
    return len(files) <= MAX_FILES and sum(file.lines or 0 for file in files) <= budget


def _subject(files: Sequence[FileToRead]) -> str:
    lines = sum(file.lines or 0 for file in files)
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return f"Read {_place(files)} ({count}, {lines:,} lines)"


def _place(files: Sequence[FileToRead]) -> str:
    if len(files) == 1:
        return files[0].path
    folders = sorted({str(PurePosixPath(file.path).parent) for file in files})
    names = ["the top folder" if folder == "." else folder for folder in folders]
    if len(names) <= 2:
        place = " and ".join(names)
    else:
        place = f"{names[0]} and {len(names) - 1} more folders"
    if len(folders) == 1:
        first, last = (PurePosixPath(file.path).name for file in (files[0], files[-1]))
        place = f"{place}: {first} to {last}"
    return place

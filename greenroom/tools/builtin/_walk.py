"""Walking a folder in a fixed order, without following links.

Rule 1: files come sorted by their path as text, whatever order the disk gives. Rule 2: links are neither followed nor
listed, so no walk leaves its folder or runs in circles; a linked file is met where it really is. Rule 3: a folder that
cannot be listed is noted and passed over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs

from greenroom.tools.builtin._file_reader import reason_of
from greenroom.tools.builtin._ignores import ALWAYS_SKIPPED, Ignores, extended, ignores_of
from greenroom.tools.builtin._steps import ENTRY_UNITS

MAX_ENTRIES: Final = 500_000
"""Entries that one walk looks at."""
MAX_DEPTH: Final = 100
"""Folders within folders that it goes down."""


@attrs.define
class Walk:
    """The side results of a walk."""

    top: Path
    roots: tuple[Path, ...]
    hides: Callable[[str], bool] | None = None
    """Returns True for a file's path that is left out."""
    hidden: int = 0
    """Files that were left out because of that."""
    seen: int = 0
    """Entries looked at so far."""
    is_cut: bool = False
    """True if there was more than it inspects."""
    unreadable: list[tuple[Path, str]] = attrs.field(factory=list)
    """Folders that could not be listed, and why."""
    special: list[Path] = attrs.field(factory=list)
    """Pipes, sockets and devices: they are not listed, because reading one may never end."""

    def files(self) -> Iterator[Path | int]:
        """Yield the files below `top` as absolute paths, and between them the cost of looking (see `in_steps`).

        What ignore files name and what belongs to version control is left out; `top` itself is walked in any case.
        """
        yield from self._folder(self.top, ignores_of(self.top, self.roots), 0)

    def _folder(self, folder: Path, above: Ignores | None, depth: int) -> Iterator[Path | int]:
        rules = extended(above, folder)
        names = self._sorted_names(folder)
        yield ENTRY_UNITS * (len(names) + 1)
        for name, is_folder in names:
            if self.seen >= MAX_ENTRIES:
                self.is_cut = True
                return
            self.seen += 1
            if name in ALWAYS_SKIPPED or rules.names(f"{folder}/{name}", is_folder=is_folder):
                continue
            if not is_folder:
                if self.hides is not None and self.hides(f"{folder}/{name}"):
                    self.hidden += 1
                else:
                    yield folder / name
            elif depth < MAX_DEPTH:
                yield from self._folder(folder / name, rules, depth + 1)
            else:
                self.is_cut = True

    def _sorted_names(self, folder: Path) -> list[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder or entry.is_file(follow_symlinks=False):
                        found.append((entry.name, is_folder))
                    elif not entry.is_symlink():
                        self.special.append(folder / entry.name)
        except OSError as error:
            self.unreadable.append((folder, reason_of(error)))
        # A folder sorts as if its slash were part of its name: so the whole walk is in the order of the path texts.
        return sorted(found, key=lambda entry: entry[0] + "/" if entry[1] else entry[0])

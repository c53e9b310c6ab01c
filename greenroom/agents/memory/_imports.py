"""Imports of instruction files: `@path` brings in another file, up to four hops away.

Not in code. No file twice. A file outside the allowed folders is not read, because what is read goes
to the provider of the model: it becomes a diagnostic.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core.sources import Diagnostic, Kind, shown_path
from greenroom.skills import Reference, parse_template

HOPS: Final = 4
"""So far an import may be from the file that one began with."""
MAX_FILES: Final = 100


@final
@attrs.frozen(kw_only=True)
class ImportedText:
    """The state of following imports."""

    read: Callable[[Path], str | None]
    """Returns the text of a file, None where there is none."""
    roots: tuple[Path, ...]
    """The folders that may be read, with links resolved."""
    user: Path
    """The folder that `~` stands for."""
    seen: set[Path] = attrs.field(factory=set)
    found: list[Diagnostic] = attrs.field(factory=list)


def imports_of(text: str) -> list[str]:
    """Return the paths that a text imports, in order."""
    return list(dict.fromkeys(piece.path for piece in parse_template(text) if isinstance(piece, Reference)))


def follow(path: Path, reading: ImportedText, *, hops: int = HOPS) -> list[tuple[Path, str]]:
    """Return a file and what it imports, each before those that it brings in; empty where there is none.

    Args:
        path: Absolute.
        reading: What was read so far; it takes note of this.
        hops: How many more imports may follow each other.
    """
    real = Path(os.path.realpath(path))
    if real in reading.seen or len(reading.seen) >= MAX_FILES:
        return []
    if not any(real.is_relative_to(root) for root in reading.roots):
        text = "it lies outside the project and the user's folders, so it is not imported"
        reading.found.append(Diagnostic(kind=Kind.IGNORED, source=shown_path(path), text=text))
        return []
    content = reading.read(real)
    if content is None:
        return []
    reading.seen.add(real)
    files = [(path, content)]
    if hops:
        for target in imports_of(content):
            start = reading.user / target[2:] if target.startswith("~/") else path.parent / target
            files += follow(Path(os.path.normpath(start)), reading, hops=hops - 1)
    return files

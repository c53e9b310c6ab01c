"""Diagnostics for the authors of files: the place, the problem, and the remedy."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import final

import attrs


class Kind(StrEnum):
    """Outcome for the thing that a diagnostic is about."""

    BROKEN = "broken"
    """Skipped because it cannot be used."""
    DUPLICATE = "duplicate"
    """Skipped because another one in the same folder has its name; which of them is used is undefined."""
    IGNORED = "ignored"
    """Loaded, but a part of it has no effect."""
    SHADOWED = "shadowed"
    """Skipped because one of the same name takes precedence; this is how things are overridden."""
    NOTE = "note"
    """Skipped, as intended."""


@final
@attrs.frozen(kw_only=True)
class Diagnostic:
    """One sentence about one place."""

    kind: Kind
    source: str
    """The file, or another origin such as `--agents`."""
    line: int = 0
    """Line number from 1; 0 if the diagnostic is about the whole file."""
    text: str
    """The problem and the remedy, on one line."""

    @property
    def is_problem(self) -> bool:
        """True if somebody should change something."""
        return self.kind not in {Kind.SHADOWED, Kind.NOTE}

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        return f"{place}: {self.kind.value}: {self.text}"


def too_deep(folder: Path) -> Diagnostic:
    """Return the diagnostic for a folder below the maximum depth."""
    text = "this folder is nested too deeply and is not read; move it up"
    return Diagnostic(kind=Kind.IGNORED, source=os.fsencode(folder).decode("utf-8", "replace"), text=text)

"""What reading found that its author should know: where it is, what it means, what to do."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import final

import attrs


class Kind(StrEnum):
    """What became of the thing that a diagnostic is about."""

    BROKEN = "broken"
    """It was skipped, because it cannot be used as it stands."""
    DUPLICATE = "duplicate"
    """It was skipped, because another one in the same folder has its name; which one counts is chance."""
    IGNORED = "ignored"
    """It was loaded, and a part of it has no effect."""
    SHADOWED = "shadowed"
    """It was skipped, because one of the same name comes first; that is how things are replaced."""
    NOTE = "note"
    """It was passed over, as it should be."""


@final
@attrs.frozen(kw_only=True)
class Diagnostic:
    """One sentence about one place."""

    kind: Kind
    source: str
    """The file, or what else it came from, such as `--agents`."""
    line: int = 0
    """Counted from 1; 0 where it is about the whole."""
    text: str
    """What is wrong and what to do, on one line."""

    @property
    def is_problem(self) -> bool:
        """Whether somebody should change something."""
        return self.kind not in {Kind.SHADOWED, Kind.NOTE}

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        return f"{place}: {self.kind.value}: {self.text}"


def too_deep(folder: Path) -> Diagnostic:
    """Return the diagnostic about a folder that lies too deep to be looked at."""
    text = "this folder lies too deep and is not read; move it up"
    return Diagnostic(kind=Kind.IGNORED, source=os.fsencode(folder).decode("utf-8", "replace"), text=text)

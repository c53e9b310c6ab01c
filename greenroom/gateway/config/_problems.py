"""Problems of a configuration: the file, the path of the value, and what is wrong with it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs

FILE: Final = "gateway.json5"
"""The usual name of the file."""


class Severity(StrEnum):
    """What a problem means for the configuration."""

    PROBLEM = "problem"
    """It cannot be used."""
    WARNING = "warning"
    """It is used, and somebody should look at it."""
    NOTE = "note"
    """It is used with another value than the one that is written."""


@final
@attrs.frozen
class Problem:
    """One sentence about one value."""

    path: str
    """The path of the value, such as `agents.list[2].id`; empty for the whole file."""
    text: str
    """What is wrong, and what to do."""
    source: str = FILE
    """The name of the file."""
    severity: Severity = Severity.PROBLEM

    def __str__(self) -> str:
        said = "" if self.severity is Severity.PROBLEM else f"{self.severity}: "
        return ": ".join(part for part in (self.source, self.path, said + self.text) if part)

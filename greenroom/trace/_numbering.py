"""Numbers for names: the columns of an index hold the numbers."""

from __future__ import annotations

from typing import final


@final
class Numbering(dict[str, int]):
    """Numbers of names, given as they are first asked for, from 0 on.

    Attributes:
        names: The names in the order of their numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        self.names.append(name)
        return number

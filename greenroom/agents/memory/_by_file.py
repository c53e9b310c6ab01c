"""Instructions that come when a file is worked on: those of folders below, and rules for files that fit.

Each is told once per conversation; if a conversation starts over, so does this.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import final

import attrs

from greenroom.agents.memory._instructions import InstructionFile, Instructions, instructions_below
from greenroom.core.sources import Diagnostic, Places


@final
class InstructionsByFile:
    """The instructions that an agent has still to be told when it works on files.

    Args:
        places: Of the session.
        told: What is in its prompt already, and the rules that there are.
    """

    def __init__(self, places: Places, told: Instructions) -> None:
        self._places = places
        self._seen = [*told.files, *(rule.file for rule in told.rules)]
        self._rules = list(told.rules)
        self._told: set[Path] = set()
        self._known: set[Path] = set()

    def is_new(self, path: Path) -> bool:
        """Return whether a file was not worked on before."""
        return path not in self._known

    def globs_of(self, file: InstructionFile) -> tuple[str, ...]:
        """Return the patterns of the files that a file of instructions holds for; none for one that holds for a whole folder."""
        return next((rule.patterns for rule in self._rules if rule.file == file), ())

    def take(self, paths: Iterable[Path]) -> tuple[tuple[InstructionFile, ...], tuple[Diagnostic, ...]]:
        """Return what is to be told now that these files are worked on, and what could not be read. It blocks.

        Args:
            paths: Absolute, without `..`.
        """
        found: list[InstructionFile] = []
        notes: list[Diagnostic] = []
        for path in filter(self.is_new, paths):
            self._known.add(path)
            below = instructions_below(self._places, path, self._seen)
            self._seen += [*below.files, *(rule.file for rule in below.rules)]
            self._rules += below.rules
            fitting = attrs.evolve(below, rules=tuple(self._rules)).rules_for(path)
            found += [*below.files, *(each for each in fitting if each.path not in self._told)]
            self._told.update(each.path for each in fitting)
            notes += below.diagnostics
        return tuple(found), tuple(notes)

"""The directory of a runtime: names of living actors, and dead letters.

A name belongs to one living actor and is free again when that actor has terminated. A dead letter is counted and can be
inspected; it is never sent again.
"""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, Generic, TypeVar, final

import attrs

from greenroom.core import NameTaken
from greenroom.mailbox import DeadReason, Lane

T = TypeVar("T")

DEAD_LETTERS_KEPT: Final = 1_000


@final
@attrs.frozen(kw_only=True)
class DeadLetter:
    """A message that was never fully processed."""

    actor: str
    """Id of its receiver."""
    message: Any
    lane: Lane
    reason: DeadReason


@final
@attrs.define(eq=False, repr=False)
class DeadLetters:
    """The latest dead letters, and their number by reason."""

    _latest: deque[DeadLetter] = attrs.Factory(functools.partial(deque, maxlen=DEAD_LETTERS_KEPT))
    _counts: Counter[DeadReason] = attrs.Factory(Counter)

    def __repr__(self) -> str:
        return f"<DeadLetters {dict(self._counts)!r}>"

    def add(self, letter: DeadLetter) -> None:
        """Count a dead letter and keep it."""
        self._counts[letter.reason] += 1
        self._latest.append(letter)

    def latest(self) -> list[DeadLetter]:
        """Return the last 1,000 dead letters, oldest first."""
        return list(self._latest)

    @property
    def counts(self) -> Mapping[DeadReason, int]:
        """The number of dead letters by reason, since the start."""
        return dict(self._counts)


@final
@attrs.define(eq=False, repr=False)
class Directory(Generic[T]):
    """Living actors by path, and the dead letters of a runtime."""

    _by_path: dict[str, T] = attrs.Factory(dict)
    dead_letters: DeadLetters = attrs.Factory(DeadLetters)

    def register(self, path: str, actor: T) -> None:
        """Register an actor under its path.

        Raises:
            NameTaken: A living actor already has that path.
        """
        if path in self._by_path:
            raise NameTaken(path)
        self._by_path[path] = actor

    def release(self, path: str) -> bool:
        """Free a path; return False if no actor has it."""
        return self._by_path.pop(path, None) is not None

    def find(self, path: str) -> T | None:
        """Return the living actor at a path."""
        return self._by_path.get(path)

    def living(self) -> Iterable[T]:
        """Return all living actors."""
        return self._by_path.values()

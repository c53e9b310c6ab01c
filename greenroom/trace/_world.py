"""The state of a run at any moment, folded from its events by functions of the folders.

A folder exports `FOLDS`, a tuple of `(section, event class, key, function)`:

    FOLDS: Final = (
        ("actors", ActorCreated, "actor", created),
        ("actors", TurnBegan, "actor", turn_began),
        ("items", ItemClaimed, ("actor", "item"), claimed),
    )

    def claimed(before: Item | None, event: ItemClaimed) -> Item | None: ...

The state is a mapping of sections; a section maps subjects to frozen values. `key` names the field or fields of the
event that identify the subject. The function is pure: from the subject's value before (None if it does not exist) to
its value after (None if it is removed).

Rule 1: values are frozen, so a copy of the state is a copy of its mappings; they hold no times, which belong to the
entries. Rule 2: a fold moves machines by the same `step` that moves them live; an illegal move or an invalid value in
the journal is recorded as a fault and leaves the subject unchanged. Rule 3: a value with a method `lost()` uses it to
return what is left after its process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias, final

import attrs

from greenroom.core import Event, IllegalTransition
from greenroom.trace._entries import Entry

Fold: TypeAlias = tuple[str, type[Event], str | tuple[str, ...], Callable[..., Any]]
"""`(section, event class, key field or fields, function(before, event) -> after)`."""

_Step: TypeAlias = tuple[str, dict[Any, Any], dict[Any, None], Callable[[Any], Any], Callable[..., Any]]
"""A fold of an event class in a state: section, its subjects, those of them that live, key, and function."""

_SENSELESS: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""Errors that a fold, which is pure, raises for an invalid value."""
_SUBJECT_BYTES: Final = 64
"""What a mapping takes for a subject, about."""
BEGINS: Final = frozenset({"session.begin", "gateway.begin"})
"""Kinds of the events with which a process begins to write a journal.

After the first, it marks where another process resumed the journal: everything that lived in the previous one is lost.
"""
ENDS: Final = frozenset({"session.end", "gateway.end"})
"""Kinds of those with which one ends in order."""


@final
@attrs.frozen
class Fault:
    """An event that could not be folded."""

    seq: int
    why: str


class SubjectChange(NamedTuple):
    """A subject that an event has given another value."""

    section: str
    subject: Any
    before: Any
    """None if it did not exist."""
    after: Any
    """None if it was removed."""


@final
class World:
    """The state after the events applied so far.

    Attributes:
        seq: Number of the last applied event.
        t: Its time in seconds.
        faults: The events that could not be folded.
    """

    __slots__ = ("_alive", "_folds", "_has_session", "_sections", "_steps", "faults", "seq", "t")

    def __init__(self, folds: Iterable[Fold]) -> None:
        self._folds: dict[type[Event], list[tuple[str, Callable[[Any], Any], Callable[..., Any]]]] = {}
        self._sections: dict[str, dict[Any, Any]] = {}
        for section, event_class, key, function in folds:
            reader = attrgetter(*((key,) if isinstance(key, str) else key))
            self._folds.setdefault(event_class, []).append((section, reader, function))
            self._sections.setdefault(section, {})
        # by section: what the process has changed and may not outlive it
        self._alive: dict[str, dict[Any, None]] = {name: {} for name in self._sections}
        self._steps: dict[type[Event], list[_Step]] = {}
        self._has_session = False
        self.seq = 0
        self.t = 0.0
        self.faults: list[Fault] = []

    def __repr__(self) -> str:
        return f"<World seq={self.seq} {', '.join(f'{name}: {len(subjects)}' for name, subjects in self._sections.items())}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, World) and (self.seq, self.t, self._sections, self.faults) == (
            other.seq,
            other.t,
            other._sections,
            other.faults,
        )

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def sections(self) -> Mapping[str, Mapping[Any, Any]]:
        """Every section with its subjects, in order of appearance."""
        return self._sections

    def section(self, name: str) -> Mapping[Any, Any]:
        """Return the subjects of one section; empty if no fold makes it."""
        return self._sections.get(name, {})

    def copy(self) -> World:
        """Return an independent copy of the state."""
        twin = World(())
        twin._folds = self._folds
        twin._sections = {name: dict(subjects) for name, subjects in self._sections.items()}
        twin._alive = {name: dict(subjects) for name, subjects in self._alive.items()}
        twin._has_session = self._has_session
        twin.seq, twin.t, twin.faults = self.seq, self.t, list(self.faults)
        return twin

    def copied_bytes(self) -> int:
        """Return about how many bytes a copy takes; its values are shared."""
        return _SUBJECT_BYTES * sum(map(len, self._sections.values()))

    def apply(self, entry: Entry, changed: list[SubjectChange] | None = None) -> None:
        """Apply the next event.

        Args:
            entry: The event.
            changed: Receives each subject that has another value afterwards, if given.
        """
        if entry.kind in BEGINS:
            if self._has_session:
                self._lose(changed)
            self._has_session = True
        self.seq, self.t = entry.seq, entry.t
        event = entry.event
        kind: Any = event.__class__
        steps = self._steps.get(kind)
        if steps is None:
            steps = self._steps[kind] = self._read_steps(kind)
        for section, subjects, alive, key, function in steps:
            subject = key(event)
            before = subjects.get(subject)
            try:
                after = function(before, event)
            except IllegalTransition as error:
                self.faults.append(Fault(entry.seq, f"{entry.kind} of {subject!r}: {error}"))
                continue
            except _SENSELESS as error:
                why = f"invalid value ({type(error).__name__}: {error})"
                self.faults.append(Fault(entry.seq, f"{entry.kind} of {subject!r}: {why}"))
                continue
            if after is None:
                subjects.pop(subject, None)
            else:
                subjects[subject] = after
                if subject not in alive and hasattr(after, "lost"):
                    alive[subject] = None
            if changed is not None and before is not after:
                changed.append(SubjectChange(section, subject, before, after))

    def apply_noting(self, entry: Entry) -> list[SubjectChange]:
        """Apply the next event; return what it has changed."""
        changed: list[SubjectChange] = []
        self.apply(entry, changed)
        return changed

    def _lose(self, changed: list[SubjectChange] | None) -> None:
        """Replace what does not outlive its process by what its `lost()` returns, or remove it where that is None.

        Only what the process that ended has changed: the rest was lost with an earlier one.
        """
        for section, alive in self._alive.items():
            subjects = self._sections[section]
            for subject in alive:
                if subject not in subjects:
                    continue
                value = subjects[subject]
                after = value.lost()
                if changed is not None:
                    changed.append(SubjectChange(section, subject, value, after))
                if after is None:
                    del subjects[subject]
                else:
                    subjects[subject] = after
            alive.clear()

    def _read_steps(self, kind: type[Event]) -> list[_Step]:
        return [
            (section, self._sections[section], self._alive[section], key, function)
            for section, key, function in self._folds.get(kind, ())
        ]


def fold(entries: Iterable[Entry], folds: Iterable[Fold], *, at: int | None = None) -> World:
    """Return the state after all entries, or after the last one whose number is not above `at`."""
    world = World(folds)
    for entry in entries:
        if at is not None and entry.seq > at:
            break
        world.apply(entry)
    return world

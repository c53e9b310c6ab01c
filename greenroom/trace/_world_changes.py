"""The state of a run as changes: what each event gave another value, field by field.

    sections = {}
    for change in changes(entries, FOLDS):
        for patch in change.patches():
            apply_patch(sections, patch)      # now `sections` is the folded state, as JSON values

Rule 1: changes come from the one fold, `World`. Rule 2: a patch holds the fields that changed and nothing else; the patches of any events
in order, applied to nothing, give the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, final

import attrs

from greenroom.trace._entries import Entry, plain, value_fields
from greenroom.trace._world import Fold, SubjectChange, World

WHOLE: Final = ""
"""Name of the field of a value that has none, such as a count."""

Sections: TypeAlias = dict[str, dict[str, Any]]
"""Section, subject, value; all of it JSON values."""


class Patch(NamedTuple):
    """The changed fields of one subject."""

    section: str
    subject: str
    """Its key; several parts are separated by a blank."""
    fields: Mapping[str, Any] | None
    """Values by name, as JSON values; None if the subject was removed."""


@final
@attrs.frozen
class WorldChange:
    """An event, and the subjects that it has given another value."""

    entry: Entry
    subjects: Sequence[SubjectChange]

    def patches(self) -> Iterator[Patch]:
        """Yield the changes field by field."""
        return map(patch_of, self.subjects)


def changes(entries: Iterable[Entry], folds: Iterable[Fold]) -> Iterator[WorldChange]:
    """Yield for each event what it has changed.

    Args:
        entries: The events in order, from the first one on.
        folds: Functions of the folders, as for `fold`.
    """
    world = World(folds)
    for entry in entries:
        changed: list[SubjectChange] = []
        world.apply(entry, changed)
        yield WorldChange(entry, changed)


def patch_of(change: SubjectChange) -> Patch:
    """Return a change field by field."""
    before, after = change.before, change.after
    key = subject_key(change.subject)
    if after is None:
        return Patch(change.section, key, None)
    kind: Any = type(after)
    names = value_fields(kind)
    if names is None:
        return Patch(change.section, key, {WHOLE: plain(after)})
    is_new = type(before) is not type(after)
    fields = {}
    for name in names:
        value = getattr(after, name)
        if is_new or getattr(before, name) != value:
            fields[name] = plain(value)
    return Patch(change.section, key, fields)


def apply_patch(sections: Sections, patch: Patch) -> None:
    """Change the state as a patch says."""
    subjects = sections.setdefault(patch.section, {})
    if patch.fields is None:
        subjects.pop(patch.subject, None)
    elif WHOLE in patch.fields:
        subjects[patch.subject] = patch.fields[WHOLE]
    else:
        subjects[patch.subject] = {**subjects.get(patch.subject, {}), **patch.fields}


def subject_key(subject: Any) -> str:
    """Return the key of a subject as text, as `greenroom replay --at N --json` has it."""
    return " ".join(map(str, subject)) if isinstance(subject, tuple) else str(subject)

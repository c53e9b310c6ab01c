"""States of files at the arrival of the user's messages, and their lookup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar, final

import attrs

T = TypeVar("T")

ABSENT_DIGEST: Final = ""
"""Stands for the content of a file that is not there."""


@final
@attrs.frozen(kw_only=True)
class FileState:
    """A file at one moment."""

    digest: str = ABSENT_DIGEST
    """Of its content, in hexadecimal digits; empty if there was no file."""
    mode: int = 0
    """Its permission bits."""
    lost: str = ""
    """The reason why there is no copy, in words that follow a colon; empty if there is one, or no file."""

    def to_json(self) -> list[Any]:
        """Return it as a snapshot on disk has it."""
        return [self.digest, self.mode, self.lost]

    @classmethod
    def from_json(cls, values: Any) -> FileState:
        """Return what a snapshot on disk has; raises `ValueError` or `TypeError` for something else."""
        digest, mode, lost = values
        if not (isinstance(digest, str) and isinstance(mode, int) and isinstance(lost, str)):
            raise TypeError(f"no state of a file: {values!r}")
        return cls(digest=digest, mode=mode, lost=lost)


ABSENT: Final = FileState()


@final
@attrs.define(kw_only=True)
class Snapshot:
    """The states of files at a message of the user, and the changes after it."""

    number: int
    """Of the message."""
    was: dict[str, FileState] = attrs.field(factory=dict)
    """Files as they were when it arrived, by path: those that are not as in the snapshot before, and those first changed after it."""
    left: dict[str, str] = attrs.field(factory=dict)
    """Digests of the contents that this session left in files after it."""
    roots: dict[str, str] = attrs.field(factory=dict)
    """The folders that agents worked in, of the files first changed after it."""
    others: dict[str, int] = attrs.field(factory=dict)
    """Files that others changed: the number of the latest message before that."""
    floor: int = -1
    """Messages up to this one cannot be gone back to: what was known of them has been given up."""

    def to_json(self) -> dict[str, Any]:
        """Return it as it is kept on disk."""
        return {
            "prompt": self.number,
            "floor": self.floor,
            "was": {path: state.to_json() for path, state in self.was.items()},
            "left": self.left,
            "roots": self.roots,
            "others": self.others,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Snapshot:
        """Return what is on disk; raises `ValueError`, `TypeError` or `KeyError` for something else."""
        return cls(
            number=int(values["prompt"]),
            floor=int(values["floor"]),
            was={path: FileState.from_json(state) for path, state in dict(values["was"]).items()},
            left=dict(values["left"]),
            roots=dict(values["roots"]),
            others={path: int(number) for path, number in dict(values["others"]).items()},
        )

    def change_of(self, path: str) -> dict[str, Any]:
        """Return all that it says of one file, as it is kept on disk behind the snapshot."""
        was = self.was.get(path)
        return {
            "path": path,
            "was": None if was is None else was.to_json(),
            "left": self.left.get(path),
            "root": self.roots.get(path),
            "others": self.others.get(path),
        }

    def take(self, change: Mapping[str, Any]) -> None:
        """Apply a result of `change_of`; raises like `from_json`."""
        path, was, left, root, others = (change[key] for key in ("path", "was", "left", "root", "others"))
        if not all(isinstance(field, str) for field in (path, left or "", root or "")):
            raise TypeError(f"no change of a file: {change!r}")
        _put(self.was, path, None if was is None else FileState.from_json(was))
        _put(self.left, path, left)
        _put(self.roots, path, root)
        _put(self.others, path, None if others is None else int(others))


def _put(mapping: dict[str, T], path: str, value: T | None) -> None:
    if value is None:
        mapping.pop(path, None)
    else:
        mapping[path] = value


@final
class History:
    """All snapshots of a run, and what follows from them.

    Args:
        snapshots: In the order of their numbers.
    """

    def __init__(self, snapshots: Iterable[Snapshot] = ()) -> None:
        self.snapshots: dict[int, Snapshot] = {}
        self.left: dict[str, str] = {}
        """The last known content of files, by path."""
        self.roots: dict[str, str] = {}
        """Every file that is known, with the folder that its agent worked in."""
        self.others: dict[str, int] = {}
        self.newest: dict[str, FileState] = {}
        """The state of each file that was noted last."""
        self.floor = -1
        for snapshot in snapshots:
            self.snapshots[snapshot.number] = snapshot
            self.left |= snapshot.left
            self.roots |= snapshot.roots
            self.others |= snapshot.others
            self.newest |= snapshot.was
            self.floor = max(self.floor, snapshot.floor)
            for path in (*snapshot.was, *snapshot.left):  # where what was noted first could not be read
                self.roots.setdefault(path, "/")
                if path not in self.newest:
                    self.newest[path] = snapshot.was[path] = FileState(lost="what was kept of it cannot be read")

    def begin(self, number: int) -> Snapshot:
        """Return a new snapshot, behind all there are."""
        made = self.snapshots[number] = Snapshot(number=number, floor=self.floor)
        return made

    # --- what happens ----------------------------------------------------------------------------------------------

    def first(self, snapshot: Snapshot, path: str, state: FileState, root: str) -> None:
        """Note a file that a tool is about to change for the first time."""
        self.note(snapshot, path, state)
        snapshot.roots[path] = self.roots[path] = root

    def note(self, snapshot: Snapshot, path: str, state: FileState) -> None:
        """Note how the message of a snapshot has found a file."""
        snapshot.was[path] = self.newest[path] = state

    def leave(self, snapshot: Snapshot, path: str, digest: str) -> None:
        """Note what a file is left with."""
        snapshot.left[path] = self.left[path] = digest

    def note_others(self, snapshot: Snapshot, path: str, since: int) -> None:
        """Record that another process changed a file after the message of that number."""
        snapshot.others[path] = self.others[path] = max(since, self.others.get(path, since))

    def forget(self, snapshot: Snapshot, path: str) -> None:
        """Undo `first`: the file was not changed after all."""
        for mapping in (snapshot.was, snapshot.roots, snapshot.left, self.roots, self.left, self.newest):
            mapping.pop(path, None)

    # --- what is known ---------------------------------------------------------------------------------------------

    def states_at(self, number: int) -> dict[str, FileState]:
        """Return how all files were when a message arrived, by path; nothing where none was changed since.

        Args:
            number: Above `floor`.
        """
        if not any(later >= number for later in self.snapshots):
            return {}
        states: dict[str, FileState] = {}
        is_there = False
        for snapshot in self.snapshots.values():
            for path, state in snapshot.was.items():
                if not is_there or path not in states:  # behind it, only what was not known by then
                    states[path] = state
            is_there = is_there or snapshot.number >= number
        return states

    @property
    def digests(self) -> set[str]:
        """The copies that are needed."""
        return {
            state.digest for snapshot in self.snapshots.values() for state in snapshot.was.values() if not state.lost
        }

    def give_up_oldest(self) -> tuple[Snapshot, Snapshot] | None:
        """Give up the oldest snapshot; return it, and the next one, which has what still counts. None: there is one at most."""
        if len(self.snapshots) < 2:
            return None
        oldest, following, *_ = self.snapshots.values()
        del self.snapshots[oldest.number]
        following.was = {**oldest.was, **following.was}
        following.left = {**oldest.left, **following.left}
        following.roots = {**oldest.roots, **following.roots}
        following.others = {**oldest.others, **following.others}
        self.floor = oldest.number
        for snapshot in self.snapshots.values():
            snapshot.floor = self.floor
        return oldest, following

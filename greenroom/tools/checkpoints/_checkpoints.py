"""Keeping files as they were before tools changed them, message by message of the user's, and setting them back.

Rule 1: what is kept is kept before the change; a change never fails because that could not be done. Rule 2: before anything is
changed after a message, all files that are known are looked at: what commands did to them since the last look is in the next
snapshot. Rule 3: setting back is a change like any other: afterwards one can go back to every message, also to later ones.
Rule 4: whose change it is makes no difference: it counts to the message that had arrived last.
Must not know: sessions, Trio; all but `begin` and `call` is called in worker threads.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import JournalError, UsageError
from greenroom.core.ports import Disk
from greenroom.tools._file_changes import FileChange
from greenroom.tools.builtin._file_reader import Unreadable, digest_of, on_one_line, reason_of
from greenroom.tools.builtin._replace import replace_file
from greenroom.tools.checkpoints._folder import CheckpointFolder
from greenroom.tools.checkpoints._history import ABSENT_DIGEST, FileState, Snapshot
from greenroom.tools.checkpoints._inspection import Found, is_gone, key_of, line_changes, look_at, path_of

MAX_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of all copies of a run."""
NAMED: Final = 5
"""Files that an error names."""


@final
@attrs.frozen(kw_only=True)
class FileRewind:
    """The result, or the prospect, of restoring files."""

    restored: tuple[Path, ...] = ()
    """Files that have again the content and the mode that they had; those that were gone are back."""
    removed: tuple[Path, ...] = ()
    """Files that were made since, and are gone."""
    insertions: int = 0
    """Lines that are there again."""
    deletions: int = 0
    """Lines that are gone again."""
    changed_elsewhere: tuple[Path, ...] = ()
    """Those of all these that not only tools had changed since, but a command, a person or another program."""
    not_restored: tuple[tuple[Path, str], ...] = ()
    """Files that stay as they are, and why, in words that follow the name and a colon."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All that changed, in order."""
        return tuple(sorted((*self.restored, *self.removed)))

    @property
    def error(self) -> str:
        """The files that could not be restored, on one line; empty if all could."""
        count = len(self.not_restored)
        if not count:
            return ""
        named = "; ".join(f"{on_one_line(str(path))}: {why}" for path, why in self.not_restored[:NAMED])
        more = "" if count <= NAMED else f"; and {count - NAMED} more"
        return f"{count} {'file' if count == 1 else 'files'} could not be set back: {named}{more}"


@final
class FileCheckpoints:
    """The checkpoints of one run. Those of an earlier process are continued."""

    def __init__(
        self, folder: Path, *, disk: Disk, write: Callable[[Path, bytes], None], most_bytes: int = MAX_BYTES
    ) -> None:
        self._folder = CheckpointFolder(folder, disk)
        self._write = write
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._history, self._numbers, self._is_torn = self._folder.load()
        self._number = max([0, *self._numbers.values(), *self._history.snapshots])
        self._looked_at = -1
        """Number of the message since which all files have been looked at."""
        self._names: dict[str, str] = {}
        """The host's names of messages that have not arrived yet, by our ids."""

    def __repr__(self) -> str:
        return f"<FileCheckpoints of {self._number} messages and {len(self._history.roots)} files>"

    # --- messages of the user's --------------------------------------------------------------------------------------

    def call(self, uuid: str, name: str) -> None:
        """Set the host's name of a message that has not arrived yet, as another name for its checkpoint."""
        if name:
            self._names[uuid] = name

    def begin(self, uuid: str) -> None:
        """Note that a message of the user's has arrived; never waits."""
        ids = [uuid, *filter(None, [self._names.pop(uuid, "")])]
        self._number += 1
        self._numbers |= dict.fromkeys(ids, self._number)
        line = json.dumps({"prompt": self._number, "ids": ids}).encode() + b"\n"
        with suppress(JournalError):  # a run whose disk refuses ends by itself
            self._write(self._folder.prompts, b"\n" + line if self._is_torn else line)
            self._is_torn = False

    # --- changes -------------------------------------------------------------------------------------------------------

    @property
    def must_look(self) -> bool:
        """True until all files have been inspected since the last message arrived."""
        return self._looked_at != self._number

    def look(self) -> None:
        """Look at all files that are known, unless that was done since the last message; before anything that may change some."""
        with self._lock:
            self._snapshot()

    @contextmanager
    def keeping(self, change: FileChange) -> Iterator[None]:
        """Keep a file as it is while the block changes it; what the block raises goes through, and nothing else is raised."""
        key, history = key_of(change.path, change.root), self._history
        before = ABSENT_DIGEST if change.before is None else digest_of(change.before).hex()
        with self._lock:
            snapshot = self._snapshot()
            is_new, left = key not in history.roots, history.left.get(key)
            if is_new:
                state = self._kept(FileState(digest=before, mode=change.mode), change.before or b"")
                history.first(snapshot, key, state, str(change.root))
            elif left != before:
                history.note_others(snapshot, key, snapshot.number)
            history.leave(snapshot, key, digest_of(change.after).hex())
            self._save(snapshot, key)
            try:
                yield
            except BaseException:
                if is_new:
                    history.forget(snapshot, key)
                else:
                    history.leave(snapshot, key, before)
                self._save(snapshot, key)
                raise

    def _snapshot(self) -> Snapshot:
        """Return the snapshot of the message that arrived last, made now if need be."""
        number = self._number
        snapshot = self._history.snapshots.get(number) or self._look_for(number)
        self._looked_at = number
        return snapshot

    def _look_for(self, number: int) -> Snapshot:
        history = self._history
        snapshot = history.begin(number)
        for key, root in history.roots.items():
            if is_gone(key, root):
                continue
            now = self._state_now(path_of(key))
            if now != history.newest.get(key):
                history.note(snapshot, key, now)
            if now.digest != history.left.get(key):
                history.note_others(snapshot, key, number - 1)
                history.leave(snapshot, key, now.digest)
        if history.roots:
            self._save(snapshot)
        return snapshot

    def _state_now(self, path: Path) -> FileState:
        """Return how a file is now, of which a copy is kept."""
        # It is read: what is written twice within a tick of the system's clock has the same time, and may have the same size.
        found = look_at(path)
        return found.state if found.odd else self._kept(found.state, found.content)

    def _kept(self, state: FileState, content: bytes) -> FileState:
        """Keep a copy of a file; what is returned says why there is none, where that is so."""
        if state.digest == ABSENT_DIGEST or self._folder.has(state.digest):
            return state
        while self._folder.size_bytes + len(content) > self._most_bytes:
            if len(content) > self._most_bytes or not self._give_up_oldest():
                return attrs.evolve(
                    state, lost=f"no copy of it was kept: those of a run take up {self._most_bytes:,} bytes at most"
                )
        try:
            self._folder.keep(state.digest, content)
        except OSError as error:
            return attrs.evolve(state, lost=f"no copy of it could be kept: {reason_of(error)}")
        return state

    def _give_up_oldest(self) -> bool:
        given_up = self._history.give_up_oldest()
        if given_up is None:
            return False
        oldest, following = given_up
        if self._save(following):
            self._folder.drop(oldest)
        self._folder.drop_copies(self._history.digests)
        return True

    def _save(self, snapshot: Snapshot, key: str = "") -> bool:
        """Write a snapshot, or what it says of one file; a disk that refuses gets all of it with the next change again."""
        try:
            self._folder.save(snapshot, key)
        except OSError:
            return False
        return True

    # --- going back ------------------------------------------------------------------------------------------------------

    def rewind(self, message: str, *, is_dry_run: bool = False) -> FileRewind:
        """Set the files back to how they were when a message arrived.

        Args:
            message: The id of its line in the transcript, or what the host called it.
            is_dry_run: Change nothing, and only say what would be.

        Raises:
            UsageError: There is no such message, or what was kept of it had to go.
        """
        with self._lock:
            self._find(message)
            snapshot = None if is_dry_run else self._snapshot()
            number = self._find(message)  # the copies that were made now may have been too many
            rewind = _Rewind(self._history.others, number)
            for key, state in self._history.states_at(number).items():
                root = self._history.roots[key]
                if not Path(root).is_dir() or is_gone(key, root):
                    continue  # a checkout that is gone with all that was in it
                left = self._history.left.get(key, "")
                has_changed = rewind.set_back(key, state, self._folder, is_dry_run=is_dry_run, left=left)
                if has_changed and snapshot is not None:
                    self._history.leave(snapshot, key, state.digest)
            if snapshot is not None:
                self._save(snapshot)
            return rewind.done()

    def _find(self, message: str) -> int:
        number = self._numbers.get(message)
        if number is None:
            raise UsageError(
                f"No file checkpoint found for message {message!r}; give the id of a message of the user's to the main agent"
            )
        if number <= self._history.floor:
            raise UsageError(
                f"the files cannot be set back to message {message!r}: what was kept of them then had to go, or cannot be read; "
                f"all copies of a run take up {self._most_bytes:,} bytes at most"
            )
        return number


@final
class _Rewind:
    """Sets files back, one by one, and counts.

    Args:
        others: Files that somebody else changed, each with the number of the latest message since which.
        number: Of the message that is gone back to.
    """

    def __init__(self, others: dict[str, int], number: int) -> None:
        self._others = others
        self._number = number
        self._restored: list[Path] = []
        self._removed: list[Path] = []
        self._elsewhere: list[Path] = []
        self._failed: list[tuple[Path, str]] = []
        self._insertions = 0
        self._deletions = 0

    def set_back(self, key: str, state: FileState, folder: CheckpointFolder, *, is_dry_run: bool, left: str) -> bool:
        """Set one file back; says whether it changed, or would."""
        path = path_of(key)
        found = look_at(path)
        is_known = not state.lost or state.digest != ABSENT_DIGEST
        if is_known and found.state == attrs.evolve(state, lost=""):
            return False
        why = found.odd or state.lost
        content = b""
        if not why:
            try:
                content = b"" if state.digest == ABSENT_DIGEST else folder.content(state.digest)
                if not is_dry_run:
                    _put(path, state, content, found)
            except Unreadable as error:
                why = error.reason
            except OSError as error:
                why = reason_of(error)
        if why:
            self._failed.append((path, why))
            return False
        if found.state.digest != left or self._others.get(key, -1) >= self._number:
            self._elsewhere.append(path)
        insertions, deletions = line_changes(found.content, content)
        self._insertions += insertions
        self._deletions += deletions
        (self._removed if state.digest == ABSENT_DIGEST else self._restored).append(path)
        return True

    def done(self) -> FileRewind:
        """Return what became of all of them."""
        return FileRewind(
            restored=tuple(sorted(self._restored)),
            removed=tuple(sorted(self._removed)),
            insertions=self._insertions,
            deletions=self._deletions,
            changed_elsewhere=tuple(sorted(self._elsewhere)),
            not_restored=tuple(sorted(self._failed)),
        )


def _put(path: Path, state: FileState, content: bytes, found: Found) -> None:
    if state.digest == ABSENT_DIGEST:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content, found.status, mode=state.mode)

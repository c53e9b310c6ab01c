"""The folder of a run in which copies of files lie, each once, and the snapshots that name them.

Rule 1: a copy is named after its content, and written whole or not at all. Rule 2: what cannot be read counts for nothing, and
neither does what is older. Rule 3: a change costs as much as one file, however many there are: what it says is kept in a file of its
own, until there are as many as the snapshot has files. It blocks: it is called in worker threads, one at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from greenroom.core.ports import Disk
from greenroom.tools.builtin._file_reader import digest_of
from greenroom.tools.checkpoints._history import History, Snapshot

FILES: Final = "files"
"""Its name in the run folder."""
PROMPTS: Final = "prompts.jsonl"
COPIES: Final = "copies"
_SUFFIX: Final = ".json"
_CHANGE: Final = ".change"
_MERGED: Final = "changes"
"""In a snapshot: the number of the latest change that is in it."""
_LEAST_CHANGES: Final = 16
"""Minimum number of changes that may follow a snapshot of few files."""


@final
class CheckpointFolder:
    """The side of the checkpoints of a run that touches its run folder.

    Args:
        folder: Where all of it lies; it need not be there.
        disk: Where that is.
    """

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.folder = folder
        self.prompts = folder / PROMPTS
        self._copies = folder / COPIES
        self._disk = disk
        self._sizes: dict[str, int] = {}
        """Of the copies, by their digests."""
        self.size_bytes = 0
        """The size of all copies."""
        self._has_folder = False
        self._changes: dict[int, int] = {}
        """The number of the latest change behind each snapshot on disk."""
        self._merged: dict[int, int] = {}
        """The number of the latest change merged into each snapshot; absent if it has to be rewritten."""

    # --- copies ----------------------------------------------------------------------------------------------------

    def has(self, digest: str) -> bool:
        """True if a copy exists."""
        return digest in self._sizes

    def keep(self, digest: str, content: bytes) -> None:
        """Keep a copy of a content.

        Raises:
            OSError: The system refused; there is none then.
        """
        if digest in self._sizes:
            return
        self._make_folder()
        self._disk.write(self._copies / digest, content)
        self._sizes[digest] = len(content)
        self.size_bytes += len(content)

    def content(self, digest: str) -> bytes:
        """Return a content that was kept.

        Raises:
            OSError: It cannot be read, or is not what was kept.
        """
        content = self._disk.read(self._copies / digest)
        if digest_of(content).hex() != digest:
            raise OSError("its copy is damaged")
        return content

    def drop_copies(self, needed: Collection[str]) -> None:
        """Remove the copies that are not needed."""
        for digest in [digest for digest in self._sizes if digest not in needed]:
            with suppress(OSError):
                (self._copies / digest).unlink(missing_ok=True)
                self.size_bytes -= self._sizes.pop(digest)

    # --- snapshots -------------------------------------------------------------------------------------------------

    def save(self, snapshot: Snapshot, path: str = "") -> None:
        """Write a snapshot, or append one file's state to it, if the last written state of all others is unchanged."""
        self._make_folder()
        number = snapshot.number
        last, merged = self._changes.get(number, 0), self._merged.pop(number, None)
        if path and merged is not None and last - merged < max(_LEAST_CHANGES, len(snapshot.left)):
            content = json.dumps(snapshot.change_of(path)).encode()
            self._disk.write(self._path(number, last + 1), content)
            self._changes[number], self._merged[number] = last + 1, merged
            return
        values = {**snapshot.to_json(), _MERGED: last}
        self._disk.write(self._path(number), json.dumps(values).encode())
        self._merged[number] = last
        self._drop_changes(number)

    def drop(self, snapshot: Snapshot) -> None:
        """Remove a snapshot."""
        with suppress(OSError):
            self._path(snapshot.number).unlink(missing_ok=True)
        self._merged.pop(snapshot.number, None)
        self._drop_changes(snapshot.number)

    def _drop_changes(self, number: int) -> None:
        with suppress(OSError):
            for path in self.folder.glob(f"{number:06}.*{_CHANGE}"):
                path.unlink(missing_ok=True)

    def _path(self, number: int, change: int = 0) -> Path:
        return self.folder / (f"{number:06}.{change:06}{_CHANGE}" if change else f"{number:06}{_SUFFIX}")

    def _make_folder(self) -> None:
        if not self._has_folder:
            self._disk.make_folder(self._copies)
            self._has_folder = True

    # --- what an earlier process left --------------------------------------------------------------------------------

    def load(self) -> tuple[History, dict[str, int], bool]:
        """Return what is known of files, the messages' numbers by their ids, and whether the last line of these is torn."""
        with suppress(FileNotFoundError), os.scandir(self._copies) as entries:
            self._sizes = {entry.name: entry.stat().st_size for entry in entries if not entry.name.startswith(".")}
        self.size_bytes = sum(self._sizes.values())
        snapshots: list[Snapshot] = []
        floor = -1
        for path in sorted(self.folder.glob(f"[0-9]*{_SUFFIX}")):
            try:
                snapshots.append(self._load_snapshot(path))
            except (OSError, ValueError, TypeError, KeyError, AttributeError):
                # What a later one says counts on all before it.
                snapshots, floor = [], int(path.stem) if path.stem.isdecimal() else floor
        for snapshot in snapshots:
            snapshot.floor = max(snapshot.floor, floor)
        history = History(snapshots)
        history.floor = max(history.floor, floor)
        return history, *self._load_prompts()

    def _load_snapshot(self, path: Path) -> Snapshot:
        values = json.loads(self._disk.read(path))
        snapshot = Snapshot.from_json(values)
        number, merged = snapshot.number, int(values.get(_MERGED, 0))
        found = sorted(int(path.suffixes[0][1:]) for path in self.folder.glob(f"{number:06}.[0-9]*{_CHANGE}"))
        changes = [version for version in found if version > merged]
        if changes != list(range(merged + 1, merged + 1 + len(changes))):
            raise ValueError(f"a change of {path} is missing")
        for change in changes:
            snapshot.take(json.loads(self._disk.read(self._path(number, change))))
        self._merged[number], self._changes[number] = merged, max([merged, *found])
        return snapshot

    def _load_prompts(self) -> tuple[dict[str, int], bool]:
        numbers: dict[str, int] = {}
        try:
            content = self._disk.read(self.prompts)
        except FileNotFoundError:
            return {}, False
        for line in content.splitlines():
            with suppress(ValueError, TypeError, KeyError):
                values = json.loads(line)
                for id_ in values["ids"]:
                    numbers[str(id_)] = int(values["prompt"])
        return numbers, not content.endswith(b"\n") and bool(content)

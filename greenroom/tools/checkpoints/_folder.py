"""The folder of a run in which copies of files lie, each once, and the snapshots that name them.

Rule 1: a copy is named after its content, and written whole or not at all. Rule 2: what cannot be read counts for nothing, and
neither does what is older. It blocks: it is called in worker threads, one at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from greenroom.core import Disk
from greenroom.tools.builtin._files import digest_of
from greenroom.tools.checkpoints._history import History, Snapshot

FILES: Final = "files"
"""Its name in the run folder."""
PROMPTS: Final = "prompts.jsonl"
COPIES: Final = "copies"
_SUFFIX: Final = ".json"


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
        self._has_folder = False

    @property
    def size_bytes(self) -> int:
        """What all copies take up."""
        return sum(self._sizes.values())

    # --- copies ----------------------------------------------------------------------------------------------------

    def has(self, digest: str) -> bool:
        """Whether there is a copy."""
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
        for digest in [one for one in self._sizes if one not in needed]:
            with suppress(OSError):
                (self._copies / digest).unlink(missing_ok=True)
                del self._sizes[digest]

    # --- snapshots -------------------------------------------------------------------------------------------------

    def save(self, snapshot: Snapshot) -> None:
        """Write a snapshot.

        Raises:
            OSError: The system refused; what was written before is there still.
        """
        self._make_folder()
        self._disk.write(self._path(snapshot), json.dumps(snapshot.to_json()).encode())

    def drop(self, snapshot: Snapshot) -> None:
        """Remove a snapshot."""
        with suppress(OSError):
            self._path(snapshot).unlink(missing_ok=True)

    def _path(self, snapshot: Snapshot) -> Path:
        return self.folder / f"{snapshot.number:06}{_SUFFIX}"

    def _make_folder(self) -> None:
        if not self._has_folder:
            self._disk.make_folder(self._copies)
            self._has_folder = True

    # --- what an earlier process left --------------------------------------------------------------------------------

    def load(self) -> tuple[History, dict[str, int], bool]:
        """Return what is known of files, the messages' numbers by their ids, and whether the last line of these is torn."""
        with suppress(FileNotFoundError), os.scandir(self._copies) as entries:
            self._sizes = {one.name: one.stat().st_size for one in entries if not one.name.startswith(".")}
        snapshots: list[Snapshot] = []
        floor = -1
        for path in sorted(self.folder.glob(f"[0-9]*{_SUFFIX}")):
            try:
                snapshots.append(Snapshot.from_json(json.loads(self._disk.read(path))))
            except (OSError, ValueError, TypeError, KeyError, AttributeError):
                # What a later one says counts on all before it.
                snapshots, floor = [], int(path.stem) if path.stem.isdecimal() else floor
        for one in snapshots:
            one.floor = max(one.floor, floor)
        history = History(snapshots)
        history.floor = max(history.floor, floor)
        return history, *self._load_prompts()

    def _load_prompts(self) -> tuple[dict[str, int], bool]:
        numbers: dict[str, int] = {}
        try:
            content = self._disk.read(self.prompts)
        except FileNotFoundError:
            return {}, False
        for line in content.splitlines():
            with suppress(ValueError, TypeError, KeyError):
                values = json.loads(line)
                for one in values["ids"]:
                    numbers[str(one)] = int(values["prompt"])
        return numbers, not content.endswith(b"\n") and bool(content)

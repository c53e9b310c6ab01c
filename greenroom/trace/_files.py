"""The side of the journal that touches the disk: batches in, appended bytes out. It blocks; one call at a time, save `sync`.

Rule 1: within a batch, what the journal points into is written before the journal's lines. Rule 2: what the disk did not
take stays queued, in order; after a refusal the next try goes on at the byte where the last one stopped. Rule 3: a file
is never synced before what it points into. Rule 4: what is kept of files that are synced is bounded: a run has very many.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, final

from greenroom.core import Disk, UsageError, whole_path
from greenroom.trace._codec import Codec

MAX_LENGTHS: Final = 4_096
"""Files whose length is remembered."""
MAX_PLACES: Final = 4_096
"""Files that are known to be in the run folder."""


@final
class Places:
    """Which files a run may append to: those of its folder, but not one of its own, the journal.

    Args:
        folder: The run folder.
        own: Name of the file that is the writer's own.
    """

    def __init__(self, folder: Path, own: str) -> None:
        self._run = folder.name
        self._inside = f"{whole_path(folder)}{os.sep}"
        self._own = self._inside + own
        self._known: set[str] = set()

    def find(self, path: Path) -> Path:
        """Return the whole path of a file, given whole or from the run folder on.

        Paths are looked at as text: else they cost more than all else of a line.

        Raises:
            UsageError: It is not in the run folder, or the writer's own.
        """
        text = str(path)
        if text in self._known:
            return path
        whole = text if text.startswith(self._inside) else self._inside + text
        if whole == self._own or os.path.normpath(whole) != whole:  # of one outside of the folder, that is shorter
            raise UsageError(f"not a file that the run {self._run!r} may append to: {text!r}")
        if len(self._known) >= MAX_PLACES:
            self._known.clear()
        self._known.add(whole)
        return path if whole is text else Path(whole)


@final
class JournalFiles:
    """A run folder as its writer sees it.

    Attributes:
        queued: Batches of bytes that are not on disk yet, each with its file.
        lines_bytes: Bytes of journal lines that were queued so far.
        encode: Returns the line of a record; in any thread. It never fails.
    """

    def __init__(self, disk: Disk, journal: Path, codec: Codec, *, base_t: float) -> None:
        self._disk = disk
        self._journal = journal
        self.encode = codec.encoder(base_t)
        self._folders = {journal.parent}
        """Those that are known to be there."""
        self._dirty: dict[str, None] = {}
        """By their texts, a quarter of what a path holds: many seconds of a crowd may wait here for the next sync."""
        self._lengths: dict[Path, int] = {}
        """Of the files that were appended to last: nobody else writes them, and asking costs as much as writing a line."""
        self._length_before: int | None = None
        """Of the file whose append was refused, before it; None where none was."""
        self._sync_error: OSError | None = None
        self.queued: deque[tuple[Path, bytes]] = deque()
        self.lines_bytes = 0

    @property
    def is_dirty(self) -> bool:
        """Whether something was written and not synced."""
        return bool(self._dirty)

    @property
    def queued_bytes(self) -> int:
        """Bytes that are not on disk yet."""
        return sum(len(content) for _, content in self.queued)

    def enqueue(self, before: Mapping[Path, Sequence[bytes]], lines: Sequence[bytes]) -> None:
        """Queue a batch: what goes to each file, and the journal's own lines; never fails."""
        for path, parts in before.items():
            self.queued.append((path, b"".join(parts)))
        if lines:
            joined = b"".join(lines)
            self.lines_bytes += len(joined)
            self.queued.append((self._journal, joined))

    def write(self) -> None:
        """Append what is queued, oldest first.

        Raises:
            OSError: The disk refused; what it did not take is still queued.
        """
        if self._length_before is not None:
            self._resume(self._length_before)
        while self.queued:
            path, content = self.queued[0]
            length = self._lengths.pop(path, None)  # should the disk refuse, nobody knows
            if length is None:
                length = self._measure(path)
            if not length:
                self._make_folder_of(path)
            self._length_before = length
            self._disk.append(path, content)
            self._length_before = None
            self._lengths[path] = length + len(content)
            if len(self._lengths) > MAX_LENGTHS:
                del self._lengths[next(iter(self._lengths))]
            self._dirty[str(path)] = None
            self.queued.popleft()

    def take_dirty(self) -> list[str]:
        """Take the paths of the files that were written and not synced: whoever takes them syncs them."""
        dirty, self._dirty = self._dirty, {}
        own = str(self._journal)
        return sorted(dirty, key=lambda path: path == own)  # what the journal points into comes first

    def sync(self, paths: Sequence[str]) -> None:
        """Return when what was written to these files survives a power cut; in any thread, also beside `write`.

        Raises:
            OSError: The disk refused, now or earlier: a system may forget what it could not sync, and then say yes.
        """
        if self._sync_error is not None:
            raise self._sync_error
        try:
            for path in paths:
                self._disk.sync(Path(path))
        except OSError as error:
            self._sync_error = error
            raise

    def close(self) -> None:
        """Close the files."""
        self._disk.close()

    def _make_folder_of(self, path: Path) -> None:
        folder = path.parent
        if folder not in self._folders:
            self._disk.make_folder(folder)
            self._folders.add(folder)

    def _measure(self, path: Path) -> int:
        try:
            return self._disk.size(path)
        except FileNotFoundError:
            return 0

    def _resume(self, length: int) -> None:
        """After a refused append to a file of that length: leave out what had arrived all the same."""
        path, content = self.queued[0]
        arrived = min(max(0, self._measure(path) - length), len(content))
        self.queued[0] = (path, content[arrived:])
        self._length_before = None

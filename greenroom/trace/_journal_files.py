"""The disk side of the journal: batches in, appended bytes out. Calls block; one at a time, except `sync`.

Rule 1: everything is written in the order in which it was handed in, within a batch, too: a process that is killed
leaves no line of a transcript without the events before it, and no event without the lines before it. Rule 2: bytes that
the disk did not take stay queued, in order; after a refusal the next try continues at the byte where the last one stopped.
Rule 3: a file is never synced before the files that it refers to. Rule 4: the memory of synced files is bounded,
because a run has very many.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, final

from greenroom.core import UsageError, whole_path
from greenroom.core.ports import Disk
from greenroom.trace._codec import Codec

Placed: TypeAlias = tuple[int, Path, bytes]
"""Content for a file, and the number of the batch's journal lines that go before it."""

MAX_LENGTHS: Final = 4_096
"""Maximum number of remembered file lengths."""
MAX_PLACES: Final = 4_096
"""Maximum number of paths known to be in the run folder."""


@final
class RunPaths:
    """Paths that a run may append to: files of its folder, except the journal itself.

    Args:
        folder: The run folder.
        own: Name of the writer's own file.
    """

    def __init__(self, folder: Path, own: str) -> None:
        self._run = folder.name
        self._inside = f"{whole_path(folder)}{os.sep}"
        self._own = self._inside + own
        self._known: set[str] = set()

    def find(self, path: Path) -> Path:
        """Return the absolute path of a file, given absolute or relative to the run folder.

        Paths are compared as text: anything else would cost more than the rest of writing a line.

        Raises:
            UsageError: The file is outside the run folder, or is the writer's own.
        """
        text = str(path)
        if text in self._known:
            return path
        whole = text if text.startswith(self._inside) else self._inside + text
        if whole == self._own or os.path.normpath(whole) != whole:  # normalizing shortens a path that leaves the folder
            raise UsageError(
                f"path must be a file in the folder of run {self._run!r} other than its journal, got {text!r}"
            )
        if len(self._known) >= MAX_PLACES:
            self._known.clear()
        self._known.add(whole)
        return path if whole is text else Path(whole)


@final
class JournalFiles:
    """A run folder, as seen by its writer.

    Attributes:
        queued: Batches of bytes that are not on disk yet, each with its file.
        lines_bytes: Bytes of journal lines queued so far.
        encode: Returns the line of a record; callable from any thread. It never fails.
        retries: True if what the disk refused is tried again.
    """

    def __init__(self, disk: Disk, journal: Path, codec: Codec, *, base_t: float) -> None:
        self._disk = disk
        self._journal = journal
        self.encode = codec.encoder(base_t)
        self._folders = {journal.parent}
        """Folders known to exist."""
        self._dirty: dict[str, None] = {}
        """Paths as text, which takes a quarter of the memory: many seconds of a crowd may wait here for the next sync.
        """
        self._lengths: dict[Path, int] = {}
        """Lengths of the most recently used files: nobody else writes them, and asking costs as much as writing a line.
        """
        self._length_before: int | None = None
        """Length of the file whose append was refused, before it; None if none was."""
        self._sync_error: OSError | None = None
        self.queued: deque[tuple[Path, bytes]] = deque()
        self.lines_bytes = 0
        self.retries = False

    @property
    def is_dirty(self) -> bool:
        """True if something was written but not synced."""
        return bool(self._dirty)

    @property
    def may_retry(self) -> bool:
        """True if what the disk refused is tried again: never behind a refused sync, when what it holds is unknown."""
        return self.retries and self._sync_error is None

    @property
    def queued_bytes(self) -> int:
        """Bytes that are not on disk yet."""
        return sum(len(content) for _, content in self.queued)

    def enqueue(self, contents: Sequence[Placed], lines: Sequence[bytes]) -> None:
        """Queue a batch: content for files between the journal's own lines; never fails."""
        at = 0
        parts: dict[Path, list[bytes]] = {}
        """What stands between two journal lines, by file: there no order can be seen."""
        for place, path, content in contents:
            if place > at:
                self._enqueue_parts(parts)
                self._enqueue_lines(lines[at:place])
                at, parts = place, {}
            parts.setdefault(path, []).append(content)
        self._enqueue_parts(parts)
        self._enqueue_lines(lines[at:])

    def write(self) -> None:
        """Append the queued bytes, oldest first.

        Raises:
            OSError: The disk refused; the bytes that it did not take are still queued.
        """
        if self._length_before is not None:
            self._resume(self._length_before)
        while self.queued:
            path, content = self.queued[0]
            length = self._lengths.pop(path, None)  # if the disk refuses, the length is unknown
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
        """Take the paths of files that were written but not synced; the caller syncs them."""
        dirty, self._dirty = self._dirty, {}
        own = str(self._journal)
        return sorted(dirty, key=lambda path: path == own)  # files that the journal refers to come first

    def sync(self, paths: Sequence[str]) -> None:
        """Return when the bytes written to these files would survive a power cut; callable from any thread, also beside
        `write`.

        Raises:
            OSError: The disk refused, now or earlier: a system may forget a failed sync and report success afterwards.
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

    def _enqueue_parts(self, parts: Mapping[Path, Sequence[bytes]]) -> None:
        self.queued += [(path, b"".join(content)) for path, content in parts.items()]

    def _enqueue_lines(self, lines: Sequence[bytes]) -> None:
        if lines:
            joined = b"".join(lines)
            self.lines_bytes += len(joined)
            self.queued.append((self._journal, joined))

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
        """Drop the bytes of a refused append that arrived anyway, in a file of that length."""
        path, content = self.queued[0]
        arrived = min(max(0, self._measure(path) - length), len(content))
        self.queued[0] = (path, content[arrived:])
        self._length_before = None

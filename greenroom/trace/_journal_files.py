"""The disk side of the journal: batches in, appended bytes out. Calls block; one at a time, except `sync`.

Rule 1: everything is written in the order in which it was handed in, within a batch, too: a process that is killed
leaves no line of a transcript without the events before it, and no event without the lines before it. Rule 2: bytes that
the disk did not take stay queued, in order; after a refusal the next try continues at the byte where the last one stopped.
Rule 3: a file is never synced before the files that it refers to. Rule 4: the memory of synced files is bounded,
because a run has very many.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, TypeAlias, final

from greenroom.core import UsageError, whole_path
from greenroom.core.ports import Disk
from greenroom.trace._codec import Codec

MAX_FILES: Final = 4_096
"""Maximum number of files that are remembered: that they are in the run folder, and that their folders exist."""
Placed: TypeAlias = tuple[int, str, bytes]
"""Content for a file, by its path, and the number of the batch's journal lines that go before it."""


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
        self._known: dict[str, str] = {}
        """Absolute paths, by what was given."""

    def find(self, path: Path) -> str:
        """Return the absolute path, as text, of one that is absolute or relative to the run folder.

        Paths are compared as text: anything else would cost more than the rest of writing a line.

        Raises:
            UsageError: The file is outside the run folder, or is the writer's own.
        """
        text = str(path)
        return self._known.get(text) or self._add(text)

    def _add(self, text: str) -> str:
        whole = text if text.startswith(self._inside) else self._inside + text
        if whole == self._own or os.path.normpath(whole) != whole:  # normalizing shortens a path that leaves the folder
            raise UsageError(
                f"path must be a file in the folder of run {self._run!r} other than its journal, got {text!r}"
            )
        if len(self._known) >= MAX_FILES:
            self._known.clear()
        return self._known.setdefault(text, whole)


@final
class JournalFiles:
    """A run folder, as seen by its writer.

    Attributes:
        queued: Bytes that are not on disk yet, in order, each with the path of its file.
        lines_bytes: Bytes of journal lines queued so far.
        encode: Returns the line of a record; callable from any thread. It never fails.
    """

    def __init__(self, disk: Disk, journal: Path, codec: Codec, *, base_t: float) -> None:
        self._disk = disk
        self._journal = str(journal)
        self.base_t = base_t
        self.encode = codec.encoder(base_t)
        self._folders = {str(journal.parent)}
        """Folders known to exist."""
        self._begun: dict[str, None] = {}
        """Paths of files whose folders are known to exist."""
        self._dirty: dict[str, None] = {}
        """Paths as text, which takes a quarter of the memory: many seconds of a crowd may wait here for the next sync.
        """
        self._sync_error: OSError | None = None
        self.queued: list[tuple[str, bytes]] = []
        self.lines_bytes = 0

    @property
    def is_dirty(self) -> bool:
        """True if something was written but not synced."""
        return bool(self._dirty)

    @property
    def queued_bytes(self) -> int:
        """Bytes that are not on disk yet."""
        return sum(len(content) for _, content in self.queued)

    def enqueue(self, contents: Sequence[Placed], lines: Sequence[bytes]) -> None:
        """Queue a batch: content for files between the journal's own lines; never fails."""
        queue, journal, at = self.queued.append, self._journal, 0
        for place, path, content in contents:
            if place > at:
                queue((journal, b"".join(lines[at:place])))
                at = place
            queue((path, content))
        if at < len(lines):
            queue((journal, b"".join(lines[at:])))
        self.lines_bytes += sum(map(len, lines))

    def write(self) -> None:
        """Append the queued bytes, oldest first.

        Raises:
            OSError: The disk refused; the bytes that it did not take are still queued.
        """
        paths = dict.fromkeys(dict(self.queued))
        if not paths.keys() <= self._begun.keys():
            self._begin(paths)
        self._dirty.update(paths)
        self._disk.append_all(self.queued)

    def take_dirty(self) -> list[str]:
        """Take the paths of files that were written but not synced; the caller syncs them."""
        dirty, self._dirty = self._dirty, {}
        own = self._journal
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

    def _begin(self, paths: Collection[str]) -> None:
        """Make the folders of files."""
        if len(self._begun) >= MAX_FILES:
            self._begun.clear()
        for folder in {os.path.dirname(path) for path in paths} - self._folders:  # noqa: PTH120 - text, as all here
            self._disk.make_folder(Path(folder))
            self._folders.add(folder)
        self._begun.update(dict.fromkeys(paths))

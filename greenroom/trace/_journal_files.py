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
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs

from greenroom.core import UsageError, whole_path
from greenroom.core.ports import Disk
from greenroom.trace._codec import Codec

MAX_FILES: Final = 4_096
"""Maximum number of files that are remembered: that they are in the run folder, and how long they are."""


@final
@attrs.define(eq=False)
class AppendedFile:
    """A file that nobody else writes."""

    path: Path
    text: str
    """The path as text."""
    length: int | None = None
    """Its length on disk, which to ask for costs as much as writing a line; None if it is not known."""


Placed: TypeAlias = tuple[int, AppendedFile, bytes]
"""Content for a file, and the number of the batch's journal lines that go before it."""


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
        self._known: dict[str, AppendedFile] = {}

    def find(self, path: Path) -> AppendedFile:
        """Return the file of a path that is absolute or relative to the run folder.

        Paths are compared as text: anything else would cost more than the rest of writing a line.

        Raises:
            UsageError: The file is outside the run folder, or is the writer's own.
        """
        text = str(path)
        file = self._known.get(text)
        return self._add(path, text) if file is None else file

    def _add(self, path: Path, text: str) -> AppendedFile:
        whole = text if text.startswith(self._inside) else self._inside + text
        if whole == self._own or os.path.normpath(whole) != whole:  # normalizing shortens a path that leaves the folder
            raise UsageError(
                f"path must be a file in the folder of run {self._run!r} other than its journal, got {text!r}"
            )
        if len(self._known) >= MAX_FILES:
            self._known.clear()  # one that comes again is measured again, when all before has been written
        return self._known.setdefault(whole, AppendedFile(path if whole is text else Path(whole), whole))


@final
class JournalFiles:
    """A run folder, as seen by its writer.

    Attributes:
        queued: Bytes that are not on disk yet, in order, each with its file.
        lines_bytes: Bytes of journal lines queued so far.
        encode: Returns the line of a record; callable from any thread. It never fails.
    """

    def __init__(self, disk: Disk, journal: Path, codec: Codec, *, base_t: float) -> None:
        self._disk = disk
        self._journal = AppendedFile(journal, str(journal))
        self.base_t = base_t
        self.encode = codec.encoder(base_t)
        self._folders = {journal.parent}
        """Folders known to exist."""
        self._dirty: dict[str, None] = {}
        """Paths as text, which takes a quarter of the memory: many seconds of a crowd may wait here for the next sync.
        """
        self._is_refused = False
        """True if the disk has not taken the first queued bytes, or not all of them."""
        self._sync_error: OSError | None = None
        self.queued: deque[tuple[AppendedFile, bytes]] = deque()
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
        queue, journal = self.queued.append, self._journal
        at = 0
        file, parts = journal, list[bytes]()
        """What comes next, all of it for one file."""
        for place, other, content in contents:
            if place > at:
                if file is not journal:
                    queue((file, b"".join(parts)))
                    file, parts = journal, []
                parts += lines[at:place]
                at = place
            if other is not file:
                if parts:
                    queue((file, b"".join(parts)))
                file, parts = other, [content]
            else:
                parts.append(content)
        if file is not journal:
            queue((file, b"".join(parts)))
            parts = []
        parts += lines[at:]
        if parts:
            queue((journal, b"".join(parts)))
        self.lines_bytes += sum(map(len, lines))

    def write(self) -> None:
        """Append the queued bytes, oldest first.

        Raises:
            OSError: The disk refused; the bytes that it did not take are still queued.
        """
        if self._is_refused:
            self._resume()
        queued, dirty, append = self.queued, self._dirty, self._disk.append
        try:
            while queued:
                file, content = queued[0]
                length = file.length or self._begin(file)
                append(file.path, content)
                file.length = length + len(content)
                dirty[file.text] = None
                queued.popleft()
        except BaseException:
            self._is_refused = True
            raise

    def take_dirty(self) -> list[str]:
        """Take the paths of files that were written but not synced; the caller syncs them."""
        dirty, self._dirty = self._dirty, {}
        own = self._journal.text
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

    def _begin(self, file: AppendedFile) -> int:
        """Return the length of a file, and make the folder of one that is empty."""
        try:
            file.length = self._disk.size(file.path)
        except FileNotFoundError:
            file.length = 0
        folder = file.path.parent
        if not file.length and folder not in self._folders:
            self._disk.make_folder(folder)
            self._folders.add(folder)
        return file.length

    def _resume(self) -> None:
        """Drop the bytes of a refused append that arrived anyway."""
        file, content = self.queued[0]
        before = file.length
        if before is not None:  # else it was not even begun
            arrived = min(max(0, self._begin(file) - before), len(content))
            self.queued[0] = (file, content[arrived:])
        self._is_refused = False

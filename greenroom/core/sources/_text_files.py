"""Search and reading of small text files; a file is parsed again only when it has changed.

Only regular files of bounded size are read, and opening never blocks. Folders behind links are followed, each once. A
file that cannot be read yields a reason in words. Everything here blocks: call it through `Blocking`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Generic, TypeVar, final

import attrs

T = TypeVar("T")

FILE_BYTES: Final = 1_000_000
"""Maximum size of a file that is read."""
NO_STAMP: Final = (0, 0, 0, 0)
"""Stamp of a path that is not a regular file: a pipe, a dangling link."""
_MAX_FILES: Final = 10_000
_MAX_FOLDERS: Final = 10_000


class Unusable(Exception):
    """A file that cannot be used; the text gives the reason and follows the file's name."""


@final
class MissingFile(Unusable):
    """The file does not exist."""


@final
@attrs.frozen
class FoundFile:
    """A file that was found, with a stamp that changes whenever the file does."""

    path: Path
    stamp: tuple[int, int, int, int]


def find_files(
    folder: Path, is_wanted: Callable[[str], bool], *, depth: int = 16, too_deep: list[Path] | None = None
) -> list[FoundFile]:
    """Return the wanted files below a folder in a fixed order; none if the folder cannot be read.

    Unreadable paths with a wanted name are included, except hidden ones: editors leave dangling links.

    Args:
        folder: The folder to search; links are followed, and no folder is visited twice.
        is_wanted: Returns True for the name of a wanted file.
        depth: Maximum depth in folders; 1 for this folder alone.
        too_deep: Receives the folders that are skipped because they lie deeper.
    """
    found: list[FoundFile] = []
    seen: set[tuple[int, int]] = set()
    for path in _walk(folder, depth, seen, [] if too_deep is None else too_deep):
        if is_wanted(path.name):
            # An unreadable path was still put there by somebody: reading it reports why it fails.
            stamp = stamp_of(path) or (None if path.name.startswith(".") else NO_STAMP)
            if stamp is not None:
                found.append(FoundFile(path, stamp))
        if len(found) >= _MAX_FILES:
            break
    return found


def _walk(folder: Path, depth: int, seen: set[tuple[int, int]], too_deep: list[Path]) -> Iterator[Path]:
    try:
        status = folder.stat()
        identity = (status.st_dev, status.st_ino)
        if identity in seen or len(seen) >= _MAX_FOLDERS:
            return
        if not depth:
            too_deep.append(folder)
            return
        seen.add(identity)
        with os.scandir(folder) as entries:
            listed = sorted((entry.name, _leads_to_folder(entry)) for entry in entries)
    except OSError:
        return
    yield from (folder / name for name, is_folder in listed if not is_folder)
    for name, is_folder in listed:
        if is_folder:
            yield from _walk(folder / name, depth - 1, seen, too_deep)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    """True if an entry is a folder; a circular link is not, and hides nothing beside it."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def stamp_of(path: Path) -> tuple[int, int, int, int] | None:
    """Return a value that changes whenever a file does; None if there is no regular file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def is_file(path: Path) -> bool:
    """True if there is a readable regular file, or a link to one."""
    return stamp_of(path) is not None


def shown_path(path: Path) -> str:
    """Return a path as text that any encoding can represent."""
    try:
        return os.fsencode(path).decode("utf-8", "replace")
    except UnicodeEncodeError:  # no file can have that name, but it was written down
        return str(path).encode("utf-8", "replace").decode()


def read_text(path: Path, *, most: int = FILE_BYTES) -> str:
    """Return the text of a file.

    Raises:
        Unusable: The file is not regular, too large, not UTF-8, or the system refuses.
    """
    content = _read_bytes(path, most + 1)
    if len(content) > most:
        raise Unusable(f"it has more than {most:,} bytes; shorten it")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unusable(f"line {line} is not UTF-8; save it as UTF-8") from None


def read_start(path: Path, most: int) -> str:
    """Return the start of a file, at most `most` bytes; invalid UTF-8 becomes U+FFFD.

    Raises:
        Unusable: The file is not regular, or the system refuses.
    """
    return _read_bytes(path, most).decode("utf-8", "replace")


def _read_bytes(path: Path, most: int) -> bytes:
    try:
        # NONBLOCK: opening a pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unusable("it is not a regular file")
            return file.read(most)
    except FileNotFoundError as error:
        raise MissingFile(f"it cannot be read: {(error.strerror or str(error)).lower()}") from None
    except OSError as error:
        raise Unusable(f"it cannot be read: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise Unusable("it is not a valid path") from None


@final
class FileCache(Generic[T]):
    """Cache of parsed files; a file is parsed again when its stamp has changed, and dropped when it is gone."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int, int, int], T]] = {}
        self.parsed = 0
        """Number of files parsed so far."""

    def parse(self, found: list[FoundFile], parse: Callable[[Path], T]) -> dict[Path, T]:
        """Return the parsed value of each of these files; entries of other files are dropped.

        Args:
            found: The current files.
            parse: Called with the path of each new or changed file; must not raise.
        """
        known: dict[Path, tuple[tuple[int, int, int, int], T]] = {}
        for file in found:
            before = self._known.get(file.path)
            if before is None or before[0] != file.stamp:
                before = (file.stamp, parse(file.path))
                self.parsed += 1
            known[file.path] = before
        self._known = known
        return {path: parsed for path, (_, parsed) in known.items()}

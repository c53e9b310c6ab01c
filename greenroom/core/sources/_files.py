"""Finding and reading small text files that somebody else made; each is parsed again only when it has changed.

Rule 1: only regular files of bounded size are read, and opening never blocks. Rule 2: folders behind links are followed, each
once. Rule 3: what cannot be read is a reason in words. Everything here blocks: call it through `Blocking`.
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
"""A file with more is not read."""
NO_STAMP: Final = (0, 0, 0, 0)
"""Of what has the name of a file and is none: a pipe, a link that leads nowhere."""
_MAX_FILES: Final = 10_000
_MAX_FOLDERS: Final = 10_000


class Unusable(Exception):
    """A file that cannot be used; the text says why, and follows the file's name."""


@final
class Missing(Unusable):
    """There is no such file."""


@final
@attrs.frozen
class Found:
    """A file that was found, and what tells one state of it from another."""

    path: Path
    stamp: tuple[int, int, int, int]


def find_files(
    folder: Path, is_wanted: Callable[[str], bool], *, depth: int = 16, too_deep: list[Path] | None = None
) -> list[Found]:
    """Return the wanted files below a folder, in a fixed order; none where the folder cannot be read.

    What has a wanted name and cannot be read is among them, save hidden ones: editors leave links that lead nowhere.

    Args:
        folder: Where to look; links are followed, and no folder is looked at twice.
        is_wanted: Says by its name whether a file is wanted.
        depth: How many folders deep to look; 1 for this one alone.
        too_deep: Gets the folders that are not looked at because they lie deeper.
    """
    found: list[Found] = []
    seen: set[tuple[int, int]] = set()
    for path in _walk(folder, depth, seen, [] if too_deep is None else too_deep):
        if is_wanted(path.name):
            # What is there and cannot be read is no less a file that somebody put there: reading it says why not.
            stamp = stamp_of(path) or (None if path.name.startswith(".") else NO_STAMP)
            if stamp is not None:
                found.append(Found(path, stamp))
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
    """Whether an entry is a folder; a link that leads round in a circle is none, and hides nothing beside it."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def stamp_of(path: Path) -> tuple[int, int, int, int] | None:
    """Return what changes whenever a file does; None where there is no regular file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def is_file(path: Path) -> bool:
    """Whether there is a regular file, or a link to one, that can be looked at."""
    return stamp_of(path) is not None


def shown_path(path: Path) -> str:
    """Return a path as text that any encoding can hold."""
    try:
        return os.fsencode(path).decode("utf-8", "replace")
    except UnicodeEncodeError:  # no file can have that name; somebody wrote it down all the same
        return str(path).encode("utf-8", "replace").decode()


def read_text(path: Path, *, most: int = FILE_BYTES) -> str:
    """Return the text of a file.

    Raises:
        Unusable: It is no regular file, too large, no UTF-8, or the system refuses.
    """
    content = _read_bytes(path, most + 1)
    if len(content) > most:
        raise Unusable(f"it has more than {most:,} bytes; shorten it")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unusable(f"line {line} is no UTF-8; save it as UTF-8") from None


def read_start(path: Path, most: int) -> str:
    """Return the start of a file, of at most so many bytes; what is no UTF-8 is U+FFFD.

    Raises:
        Unusable: It is no regular file, or the system refuses.
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
        raise Missing(f"it cannot be read: {(error.strerror or str(error)).lower()}") from None
    except OSError as error:
        raise Unusable(f"it cannot be read: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise Unusable("that is no path") from None


@final
class FileCache(Generic[T]):
    """What files were parsed to; a file is read again when its stamp has changed, and forgotten when it is gone."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int, int, int], T]] = {}
        self.parsed = 0
        """How many files were parsed so far."""

    def parse(self, found: list[Found], parse: Callable[[Path], T]) -> dict[Path, T]:
        """Return what each of these files is parsed to; others are forgotten.

        Args:
            found: The files that there are.
            parse: Called with the path of each new or changed one; must not raise.
        """
        known: dict[Path, tuple[tuple[int, int, int, int], T]] = {}
        for one in found:
            before = self._known.get(one.path)
            if before is None or before[0] != one.stamp:
                before = (one.stamp, parse(one.path))
                self.parsed += 1
            known[one.path] = before
        self._known = known
        return {path: parsed for path, (_, parsed) in known.items()}

"""Looking at files as they are now, setting them back, and counting what that changes.

Rule 1: no link is followed: what became one, or lies below one now, is left alone. Rule 2: a file is replaced in one step. Rule 3: a file of
a worktree that was removed is not that of another one in its place.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.tools.builtin._file_reader import Unreadable, digest_of, open_regular, reason_of
from greenroom.tools.builtin._saving import MAX_EDIT_BYTES
from greenroom.tools.checkpoints._history import ABSENT, FileState

_MAX_PAIRS: Final = 1_000_000
"""Of two texts with more pairs of lines, lines that only moved are not counted."""


@final
@attrs.frozen(kw_only=True)
class Found:
    """A file as it is now."""

    state: FileState
    content: bytes = attrs.field(default=b"", repr=False)
    status: os.stat_result | None = None
    """None if there is no file."""
    odd: str = ""
    """The reason why it cannot be restored, in words that follow its name and a colon; empty for a file, or none."""


def look_at(path: Path) -> Found:
    """Return what is there."""
    if os.path.realpath(path.parent) != str(path.parent):
        return _odd("a folder above it is a link")
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return Found(state=ABSENT)
    except OSError as error:
        return _odd(reason_of(error))
    if stat.S_ISREG(status.st_mode) and status.st_size > MAX_EDIT_BYTES:
        return _odd(f"it has {status.st_size} bytes, and at most {MAX_EDIT_BYTES} are kept of a file")
    try:
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            content = file.read(MAX_EDIT_BYTES)
    except Unreadable as error:
        return _odd(error.reason)
    except OSError as error:  # it could be opened, and not be read
        return _odd(reason_of(error))
    state = FileState(digest=digest_of(content).hex(), mode=stat.S_IMODE(status.st_mode))
    return Found(state=state, content=content, status=status)


def _odd(why: str) -> Found:
    return Found(state=FileState(lost=f"no copy of it could be kept: {why}"), odd=why)


# --- worktrees, which come and go under the same name ----------------------------------------------------------------------


def key_of(path: Path, root: Path) -> str:
    """Return what a file is known by: its path, and in a git worktree the mark of that, behind a NUL."""
    mark = _mark_of(root)
    return f"{path}\0{mark}" if mark else str(path)


def path_of(key: str) -> Path:
    """Return the path of a file that is known by a key."""
    return Path(key.partition("\0")[0])


def is_gone(key: str, root: str) -> bool:
    """True if the worktree of a file no longer exists, even if another one has taken its place."""
    mark = key.partition("\0")[2]
    return bool(mark) and _mark_of(Path(root)) != mark


def _mark_of(root: Path) -> str:
    """Return a mark of the worktree that contains a folder; empty for a main checkout, and without git."""
    for folder in (root, *root.parents):
        try:
            status = (folder / ".git").lstat()
        except OSError:
            continue
        # Git writes this file when it makes the worktree, and then no more.
        return f"{status.st_ino:x}-{status.st_mtime_ns:x}" if stat.S_ISREG(status.st_mode) else ""
    return ""


# --- what a change comes to -------------------------------------------------------------------------------------------------


def line_changes(old: bytes, new: bytes) -> tuple[int, int]:
    """Return how many lines of `new` are not in `old`, and how many of `old` are not in `new`.

    In two long texts that differ all over, lines that only moved count as the same.
    """
    before, after = old.splitlines(), new.splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    before, after = before[start:], after[start:]
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    if len(before) * len(after) <= _MAX_PAIRS:
        blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        same = sum(block.size for block in blocks)
    else:
        same = (Counter(before) & Counter(after)).total()
    return len(after) - same, len(before) - same

"""State that one agent keeps between its tool calls: its folder, the files it has seen, its to-do list.

Rule 1: one agent, one workspace; nothing in it reaches another agent. Rule 2: a file that was read completely is known
by its content, else by its time, size and number. Rule 3: forgetting is safe: an unknown file has to be read again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, final

import attrs

from greenroom.core import Image

MAX_FILES: Final = 1_000
"""Files that one agent is remembered to have seen; the one seen longest ago is forgotten first."""

Range = tuple[int, int]
"""First and last line, both counted from 1."""


@final
@attrs.frozen
class Stamp:
    """The metadata of a file that reveals most changes without reading it."""

    mtime_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """Return the stamp in what `stat` answered."""
        return cls(status.st_mtime_ns, status.st_size, status.st_ino)


@final
@attrs.frozen(kw_only=True)
class Seen:
    """The part of a file that an agent has seen, all of it at one state of the file."""

    stamp: Stamp
    digest: bytes | None = None
    """Of the whole content; None where only a part was read."""
    ranges: tuple[Range, ...] = ()
    """The lines seen, in order, without overlap."""
    lines: int | None = None
    """Number of lines of the file; None if its end was not reached."""

    @classmethod
    def all_of(cls, stamp: Stamp, digest: bytes, lines: int) -> Seen:
        """Return that all lines of a file were seen, or written by the agent itself."""
        return cls(stamp=stamp, digest=digest, ranges=((1, lines),) if lines else (), lines=lines)

    @property
    def is_whole(self) -> bool:
        """True if every line was seen."""
        return self.lines is not None and (self.lines == 0 or self.ranges == ((1, self.lines),))

    def is_still(self, stamp: Stamp, digest: bytes) -> bool:
        """True if a file with this stamp and content is the one that was seen; a touched file counts as unchanged."""
        return self.digest == digest if self.digest is not None else self.stamp == stamp

    def joined(self, later: Seen) -> Seen:
        """Return both together if they saw the same state of the file, else the later one."""
        is_other = None not in {self.digest, later.digest} and self.digest != later.digest
        if is_other or self.stamp != later.stamp:
            return later
        return Seen(
            stamp=self.stamp,
            digest=later.digest or self.digest,
            ranges=merged((*self.ranges, *later.ranges)),
            lines=later.lines if later.lines is not None else self.lines,
        )


def merged(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """Return the same lines as few ranges in order."""
    found: list[Range] = []
    for first, last in sorted(bounds for bounds in ranges if bounds[0] <= bounds[1]):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


@final
class SeenFiles:
    """The files that an agent has seen, by their absolute path with links resolved."""

    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files: dict[Path, Seen] = {}

    def __len__(self) -> int:
        return len(self._files)

    def find(self, path: Path) -> Seen | None:
        """Return what was seen of a file; None for nothing."""
        return self._files.get(path)

    def note(self, path: Path, seen: Seen) -> None:
        """Add what was just read to what had been read of the same state before."""
        before = self._files.pop(path, None)
        self._put(path, seen if before is None else before.joined(seen))

    def replace(self, path: Path, seen: Seen) -> None:
        """Note that the agent itself wrote the file: what it saw before counts no more."""
        self._files.pop(path, None)
        self._put(path, seen)

    def _put(self, path: Path, seen: Seen) -> None:
        self._files[path] = seen
        if len(self._files) > MAX_FILES:
            del self._files[next(iter(self._files))]


@final
@attrs.frozen(kw_only=True)
class Todo:
    """One entry of an agent's own list."""

    content: str
    """The task, in the imperative."""
    status: Literal["pending", "in_progress", "completed"]
    activeForm: str = ""  # noqa: N815 - the name that models know
    """The task while it is in progress, such as `Running the tests`."""


@final
@attrs.define(kw_only=True)
class Workspace:
    """One agent's; made with the agent, and kept across its turns and incarnations."""

    cwd: Path | None = None
    """The current folder of the agent's shell; None if it never left the folder that the agent was given."""
    seen: SeenFiles = attrs.field(factory=SeenFiles)
    todos: tuple[Todo, ...] = ()
    attachments: dict[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """Data of results for programs besides their text, by the id of the call, until the results are appended."""
    responses: dict[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """Values of results for hooks in place of their text, by the id of the call, until hooks have received them."""
    images: dict[str, list[Image]] = attrs.field(factory=dict)
    """Images of results besides their text, by the id of the call, until the call has ended."""
    ending: set[str] = attrs.field(factory=set)
    """Ids of the calls that asked for the end of their turn, until their message's calls have ended."""
    told: dict[str, dict[str, str]] = attrs.field(factory=dict)
    """The ends of tasks that results tell of: by the id of the call, how the run of each notice ended; until these are
    appended."""

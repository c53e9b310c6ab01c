"""The log of a gateway: one JSON object a line for programs, and words on standard error for people.

Rule 1: writing a line never waits; a task writes lines to the disk in order. Rule 2: secrets are masked by their values before a line
goes anywhere. Rule 3: nothing is ever read back from it. Lines that the disk does not take are counted and lost: the gateway goes on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, final

import trio

from greenroom.core import open_bare_nursery
from greenroom.core.ports import Ports

MAX_WAITING: Final = 10_000
"""Lines that wait for the disk; further ones are counted and lost."""
MAX_TEXT: Final = 4_000
"""Characters of one value in a line."""
_NAME: Final = "gateway-{day}{number}.jsonl"
_FILES: Final = "gateway-*.jsonl"
LOG_DAYS: Final = 14
LOG_BYTES: Final = 50 * 2**20


class LogLevel(StrEnum):
    """The importance of a line."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_SHOWN: Final = {LogLevel.INFO: "", LogLevel.WARNING: "warning: ", LogLevel.ERROR: "error: "}
"""What stands before the words of a line on standard error; a level that is missing is not shown there."""


@final
class GatewayLog:
    """A log that is open. Made by `open_log`."""

    def __init__(self, ports: Ports, mask: Callable[[str], str], show: Callable[[str], object] | None) -> None:
        self._clock = ports.clock
        self._mask = mask
        self._show = show
        self._lines: list[tuple[datetime, bytes]] = []
        self._wake = trio.Event()
        self.lost = 0
        """Lines that were not written."""

    def write(self, level: LogLevel, text: str, /, **ids: object) -> None:
        """Write a line.

        Args:
            level: Its importance; `debug` lines are not shown on standard error.
            text: The words for people.
            ids: What it is about, such as `session` and `run`: JSON values.
        """
        import orjson

        now = self._clock.wall()
        text = self._mask(text)[:MAX_TEXT]
        if self._show is not None and level in _SHOWN:
            with suppress(OSError, ValueError):  # nobody is left to read it
                self._show(_SHOWN[level] + text)
        entry = {"at": now.isoformat(timespec="milliseconds"), "level": level, "text": text}
        entry |= {name: self._masked(value) for name, value in ids.items()}
        if len(self._lines) >= MAX_WAITING:
            self.lost += 1
            return
        self._lines.append((now, orjson.dumps(entry, default=str) + b"\n"))
        self._wake.set()

    def note(self, text: str, /, **ids: object) -> None:
        """Write a line of level info."""
        self.write(LogLevel.INFO, text, **ids)

    def alert(self, text: str, /, **ids: object) -> None:
        """Write a line of level warning."""
        self.write(LogLevel.WARNING, text, **ids)

    def fail(self, text: str, /, **ids: object) -> None:
        """Write a line of level error."""
        self.write(LogLevel.ERROR, text, **ids)

    def _masked(self, value: object) -> Any:
        if isinstance(value, str):
            return self._mask(value)[:MAX_TEXT]
        if isinstance(value, dict):
            return {str(key): self._masked(each) for key, each in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._masked(each) for each in value]
        return value if isinstance(value, int | float | bool | None) else self._mask(str(value))[:MAX_TEXT]

    async def wait_lines(self) -> list[tuple[datetime, bytes]]:
        """Wait for lines, and take them. Cancelled, it takes nothing."""
        while not self._lines:
            await self._wake.wait()
            self._wake = trio.Event()
        return self.take_lines()

    def take_lines(self) -> list[tuple[datetime, bytes]]:
        """Take the lines that wait."""
        lines, self._lines = self._lines, []
        return lines


@final
class LogFiles:
    """The files of a log: one for each day, and further ones beyond a size. Its calls block."""

    def __init__(self, folder: Path, ports: Ports, *, max_bytes: int, days: int) -> None:
        self._folder = folder
        self._disk = ports.disk
        self._max_bytes = max_bytes
        self._days = days
        self._day = ""
        self._number = 0
        self._size = 0

    def append(self, lines: list[tuple[datetime, bytes]]) -> None:
        """Append lines, each to the file of its day.

        Raises:
            OSError: The disk refuses.
        """
        for path, content in self._by_file(lines):
            self._disk.append(path, content)

    def close(self) -> None:
        """Close the files."""
        self._disk.close()

    def _by_file(self, lines: list[tuple[datetime, bytes]]) -> Iterator[tuple[Path, bytes]]:
        waiting = b""
        for moment, line in lines:
            day = moment.date().isoformat()
            if day != self._day or self._size + len(line) > self._max_bytes:
                if waiting:
                    yield self._path, waiting
                waiting = b""
                self._begin(day, moment)
            waiting += line
            self._size += len(line)
        if waiting:
            yield self._path, waiting

    def _begin(self, day: str, moment: datetime) -> None:
        """Choose the first file of a day that has room, and remove what is too old."""
        if day != self._day:
            self._disk.make_folder(self._folder)
            self._remove_old(moment)
        self._number = 0 if day != self._day else self._number + 1
        self._day = day
        while (size := self._size_of(self._path)) >= self._max_bytes:
            self._number += 1
        self._size = size

    @property
    def _path(self) -> Path:
        return self._folder / _NAME.format(day=self._day, number=f".{self._number}" if self._number else "")

    def _size_of(self, path: Path) -> int:
        try:
            return self._disk.size(path)
        except OSError:
            return 0

    def _remove_old(self, moment: datetime) -> None:
        oldest = (moment - timedelta(days=self._days)).date().isoformat()
        with suppress(OSError):
            for path in self._folder.glob(_FILES):
                if path.name.removeprefix("gateway-")[: len(oldest)] < oldest:
                    path.unlink()


@asynccontextmanager
async def open_log(
    folder: Path,
    *,
    ports: Ports,
    mask: Callable[[str], str] = str,
    show: Callable[[str], object] | None = None,
    max_bytes: int = LOG_BYTES,
    days: int = LOG_DAYS,
) -> AsyncIterator[GatewayLog]:
    """Open the log in a folder until the block is left; then the lines that wait are written.

    Args:
        folder: Its folder, which is created when the first line is written.
        ports: Clock, disk and threads.
        mask: Returns a text without secrets.
        show: Called with the words of each line for people.
        max_bytes: Size from which a further file of the day is begun.
        days: Number of days that files are kept.
    """
    log = GatewayLog(ports, mask, show)
    files = LogFiles(folder, ports, max_bytes=max_bytes, days=days)

    async def append(lines: list[tuple[datetime, bytes]]) -> None:
        try:
            await ports.blocking.run(files.append, lines)
        except OSError:
            log.lost += len(lines)

    async def write_lines() -> None:
        while True:
            lines = await log.wait_lines()
            with trio.CancelScope(shield=True):
                await append(lines)

    try:
        async with open_bare_nursery() as nursery:
            nursery.start_soon(write_lines)
            try:
                yield log
            finally:
                nursery.cancel_scope.cancel("the log is closed")
    finally:
        with trio.CancelScope(shield=True):
            await append(log.take_lines())
            await ports.blocking.run(files.close)

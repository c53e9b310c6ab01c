"""Ports: everything that a run takes from the outside, so that a test can replace it.

Rule 1: the ports are `Clock`, `Ids`, `Chance`, `Disk` and `Blocking`; the tracer is made from them. Rule 2: nothing
else in greenroom reads the time, draws a random number, opens a file of a run or starts a thread. The production
implementations are here; the test kit has its own.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import secrets
import stat
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar, final

import attrs

from greenroom.core._local_paths import make_private_folder, open_private
from greenroom.core.ports._ids import Ids, SystemIds

P = ParamSpec("P")
T = TypeVar("T")

MAX_OPEN: Final = 4_096
"""Maximum number of files that a disk keeps open; never more than a quarter of the process limit."""


class Clock(Protocol):
    """Time of the run. Deadlines follow Trio's clock, so an implementation must agree with it."""

    def bind(self) -> Callable[[], float]:
        """Return the function that reads this run's time in seconds; call it inside the run.

        Only differences are meaningful. A bound function costs a third of a lookup at each reading.
        """
        ...

    def wall(self) -> datetime:
        """Return the date and time in UTC, for names and headers."""
        ...


class Chance(Protocol):
    """Randomness for decisions (jitter), as opposed to names."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...


class Disk(Protocol):
    """Storage of run folders. Calls block; make them through `Blocking`."""

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents, mode 0700; an existing one is fine."""
        ...

    def append(self, path: Path, content: bytes) -> None:
        """Append to a file, created with mode 0600 on first use; write all of it or raise `OSError`."""
        ...

    def append_all(self, parts: list[tuple[str, bytes]]) -> None:
        """Append to files one after another, as `append` does, and empty the list: no byte is written before those of earlier parts.

        After an `OSError`, the list holds what was not written: the rest of the refused part, and all parts after it.

        Args:
            parts: Each with the path of its file as text, which is the same text for the same file.
        """
        for number, (text, content) in enumerate(parts):
            before = _length(self, Path(text))
            try:
                self.append(Path(text), content)
            except BaseException:
                parts[: number + 1] = [(text, content[_length(self, Path(text)) - before :])]
                raise
        parts.clear()

    def sync(self, path: Path) -> None:
        """Return when everything appended to `path` would survive a power cut."""
        ...

    def write(self, path: Path, content: bytes) -> None:
        """Replace a file in one step: readers see the old content or the new, never a part."""
        ...

    def read(self, path: Path) -> bytes:
        """Return the whole content of a file."""
        ...

    def size(self, path: Path) -> int:
        """Return the length of a file in bytes, without reading it."""
        ...

    def close(self) -> None:
        """Close open files; later calls open them again."""
        ...


class Blocking(Protocol):
    """Runner of blocking calls; no thread is started anywhere else."""

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking function and return its result.

        A cancelled caller still waits for the function to end, so that no write is abandoned.
        """
        ...


@final
class SystemClock:
    """Trio's clock of the current run, and the wall clock of the machine."""

    __slots__ = ()

    def bind(self) -> Callable[[], float]:
        """Return the reader of the clock of the current Trio run."""
        import trio

        return trio.lowlevel.current_clock().current_time

    def wall(self) -> datetime:
        """Return the machine's date and time in UTC."""
        return datetime.now(UTC)


@final
class SystemDisk:
    """The file system; keeps the most recently used files open.

    A session of many agents appends to more files than a process may have open. Threads may share it, and any of them may close it:
    a descriptor that is in use is in nobody else's reach.

    Args:
        is_durable: True if `sync` and `write` wait for the device. Storage that need not outlast the machine, such as a
            test's, does not need that.
    """

    def __init__(self, *, is_durable: bool = True) -> None:
        self._is_durable = is_durable
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most_open = MAX_OPEN if soft == resource.RLIM_INFINITY else max(1, min(MAX_OPEN, soft // 4))
        self._open: OrderedDict[str, int] = OrderedDict()
        """Idle descriptors by path, the most recently used one last. Its methods are atomic, as those of texts are."""

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents, mode 0700."""
        make_private_folder(path)

    def append(self, path: Path, content: bytes) -> None:
        """Append all of `content`, or raise `OSError`."""
        self.append_all([(str(path), content)])

    def append_all(self, parts: list[tuple[str, bytes]]) -> None:
        """Append to files one after another, each looked up once; after an `OSError`, the list holds what was not written."""
        used: dict[str, int] = {}
        write, number = os.write, 0
        try:
            for number, (path, content) in enumerate(parts):
                descriptor = used.get(path)
                if descriptor is None:
                    descriptor = used[path] = self._take(path, used)
                written = write(descriptor, content)
                while written < len(content):
                    content = content[written:]  # noqa: PLW2901 - what is left of it
                    parts[number] = (path, content)
                    written = write(descriptor, content)
        except BaseException:
            del parts[:number]
            raise
        finally:
            self._put_back(used)
        parts.clear()

    def sync(self, path: Path) -> None:
        """Flush a file that was appended to, to the device, and close it: one that is not written to again stays closed."""
        # Popped, because another thread may append, and close open files, meanwhile.
        descriptor = self._open.pop(str(path), None)
        with suppress(FileNotFoundError):  # nothing was appended to it
            if descriptor is None and self._is_durable:
                descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        if descriptor is None:
            return
        try:  # fdatasync also flushes, and reports failures of, writes through other descriptors
            if self._is_durable:
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def write(self, path: Path, content: bytes) -> None:
        """Replace a file through a temporary file beside it and a rename."""
        temporary = path.with_name(f".{path.name}.new")
        descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            _write_all(descriptor, memoryview(content))
            if self._is_durable:
                os.fsync(descriptor)
        except OSError:
            temporary.unlink(missing_ok=True)  # a partial file would keep a full disk full
            raise
        finally:
            os.close(descriptor)
        temporary.replace(path)

    def read(self, path: Path) -> bytes:
        """Return the whole content of a file; raise `OSError` unless it is a regular file, because reading others may
        not end.
        """
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", str(path))
            return file.read()

    def size(self, path: Path) -> int:
        """Return the length of a file in bytes."""
        text = str(path)
        descriptor = self._open.pop(text, None)
        if descriptor is None:
            return path.stat().st_size
        try:
            return os.fstat(descriptor).st_size
        finally:
            self._put_back({text: descriptor})

    def close(self) -> None:
        """Close every descriptor that is not in use."""
        self._close_down_to(0)

    def _take(self, path: str, used: dict[str, int]) -> int:
        """Return the descriptor of a file to append to; if those in use leave no room for it, they are put back."""
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            return descriptor
        if len(used) >= self._most_open:
            self._put_back(used)
        self._close_down_to(self._most_open - 1 - len(used))
        return open_private(Path(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _put_back(self, used: dict[str, int]) -> None:
        """Make descriptors idle, and empty `used`."""
        while used:
            path, descriptor = used.popitem()
            if self._open.setdefault(path, descriptor) != descriptor:  # another thread has appended to it meanwhile
                os.close(descriptor)

    def _close_down_to(self, most: int) -> None:
        while len(self._open) > most:
            with suppress(KeyError):  # another thread has closed it
                os.close(self._open.popitem(last=False)[1])


def _length(disk: Disk, path: Path) -> int:
    try:
        return disk.size(path)
    except FileNotFoundError:
        return 0


def _write_all(descriptor: int, rest: memoryview) -> None:
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@final
class ThreadBlocking:
    """Blocking calls in Trio's worker threads; a started call is always waited for."""

    __slots__ = ()

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` in a worker thread."""
        import trio

        return await trio.to_thread.run_sync(lambda: function(*args, **kwargs), abandon_on_cancel=False)


@final
class InlineBlocking:
    """Blocking calls in the caller's own step, for the test kit: a virtual clock would run ahead of a thread."""

    __slots__ = ()

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` here, after one checkpoint."""
        import trio

        await trio.lowlevel.checkpoint()
        return function(*args, **kwargs)


@attrs.frozen(kw_only=True)
class Ports:
    """The ports of one run, except the tracer, which the runtime makes from them."""

    clock: Clock = attrs.field(factory=SystemClock)
    ids: Ids = attrs.field(factory=SystemIds)
    chance: Chance = attrs.field(factory=lambda: random.Random(secrets.randbits(64)))
    disk: Disk = attrs.field(factory=SystemDisk)
    blocking: Blocking = attrs.field(factory=ThreadBlocking)

"""One machine of a simulated network: its clock, its disk, and the processes that are started on it one after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, final

import trio

from greenroom.core import Recorder
from greenroom.remote import LinkNode
from greenroom.supervisor import Runtime
from greenroom.testing._virtual_ports import VIRTUAL_START
from greenroom.trace import Entry, entries_of

RING: Final = 1_000_000
"""Number of records of a process that are kept."""


@final
class SimClock:
    """The clock of one simulated machine: its time of day can be set, its seconds cannot."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def bind(self) -> Callable[[], float]:
        """Return the reader of the clock of the current Trio run."""
        return trio.lowlevel.current_clock().current_time

    def wall(self) -> datetime:
        """Return the time of day there."""
        return VIRTUAL_START + timedelta(seconds=trio.current_time()) + self._ahead

    def jump(self, seconds: float) -> None:
        """Set the time of day forward, or back."""
        self._ahead += timedelta(seconds=seconds)


@final
class SimStorage:
    """The disk of one simulated machine: it outlives processes; what was not synced may be lost when one is killed."""

    def __init__(self) -> None:
        self._synced: dict[str, Any] = {}
        self._written: list[tuple[str, Any]] = []

    def write(self, name: str, value: Any) -> None:
        """Write a value, which must not be changed afterwards."""
        self._written.append((name, value))

    def sync(self) -> None:
        """Make everything that was written durable."""
        self._synced.update(self._written)
        self._written.clear()

    def read(self, name: str, default: Any = None) -> Any:
        """Return the value that was written last under a name."""
        return dict(self._written).get(name, self._synced.get(name, default))

    def names(self, prefix: str = "") -> list[str]:
        """Return the names that begin with a prefix and whose value is not None, in the order of their first write."""
        names = dict.fromkeys((*self._synced, *(name for name, _ in self._written)))
        return [name for name in names if name.startswith(prefix) and self.read(name) is not None]

    @property
    def unsynced(self) -> int:
        """Number of writes that are not durable yet."""
        return len(self._written)

    def lose(self, kept: int) -> None:
        """Lose what is not durable, except the first `kept` writes."""
        del self._written[kept:]
        self.sync()


@final
class SimProcess:
    """One start of a simulated node. Passed to its program."""

    def __init__(
        self, name: str, number: int, storage: SimStorage, clock: SimClock, may_die: Callable[[str], object]
    ) -> None:
        self.name: Final = name
        self.number: Final = number
        """Counts the starts of the node, from 1."""
        self._may_die = may_die
        self.storage: Final = storage
        self.clock: Final = clock
        self.recorder: Final = Recorder(trio.current_time, capacity=RING)
        self.runtime: Runtime
        self.node: LinkNode
        self.scope: Final = trio.CancelScope()
        self.started: Final = trio.Event()
        self.stopping: Final = trio.Event()
        self.ended: Final = trio.Event()
        self.is_dead = False
        """True if it was killed."""
        self.has_failed = False
        """True if a task of it has raised an error before its death."""
        self.nursery: trio.Nursery
        self._journal: list[Entry] | None = None

    def __repr__(self) -> str:
        return f"<SimProcess {self.label}>"

    @property
    def label(self) -> str:
        """Name and number, such as `host#2`."""
        return f"{self.name}#{self.number}"

    @property
    def is_running(self) -> bool:
        """True if others reach it."""
        is_over = self.is_dead or self.has_failed or self.stopping.is_set() or self.ended.is_set()
        return self.started.is_set() and not is_over

    def start_soon(self, function: Callable[..., Awaitable[object]], *args: Any) -> None:
        """Start a task that ends with the process."""
        self.nursery.start_soon(self._until_death, function, args)

    async def point(self) -> None:
        """Pass a place where the schedule may kill this process."""
        await trio.lowlevel.checkpoint()
        self._may_die(self.name)
        await trio.lowlevel.checkpoint()

    async def _until_death(self, function: Callable[..., Awaitable[object]], args: Sequence[Any]) -> None:
        try:
            await function(*args)
        except Exception:
            if not self.is_dead:
                self.has_failed = True
                raise

    def journal(self) -> list[Entry]:
        """Return what it has recorded, until its death."""
        return self._journal if self._journal is not None else entries_of(self.recorder.latest())

    def note_death(self) -> None:
        """End the journal, and cancel every task."""
        self.is_dead = True
        self._journal = entries_of(self.recorder.latest())
        self.scope.cancel("the process was killed")

"""A pool: children of one kind, started on demand, so many at a time (OTP's `simple_one_for_one`).

Rule 1: a place is taken before its child is started, and free again when that child is gone for good; a restart keeps it.
Rule 2: whoever waits for a place gets it in order; cancelled, it takes none. Rule 3: children end side by side; with
the first end whoever waits learns that the pool is ending.
Must not know: what the children do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar, final

import attrs
import trio

from greenroom.actors import Behavior, Ref
from greenroom.core import UsageError
from greenroom.supervisor import ChildSpec, StopOrder, Supervisor, SupervisorSpec

M = TypeVar("M")


class PoolFull(UsageError):
    """Every place of a pool is taken, and nobody may wait for one, or nobody more."""


class WhenFull(StrEnum):
    """What becomes of a spawn that finds no place."""

    WAIT = "wait"
    """It waits for one, behind whoever came before."""
    REFUSE = "refuse"
    """It raises `PoolFull`."""


@final
@attrs.frozen(kw_only=True)
class PoolStatistics:
    """The counters of a pool."""

    size: int
    children: int
    """Places that are taken, those of children that are just starting included."""
    waiting: int
    """Spawns that wait for a place."""
    started: int
    """Children since the pool was opened."""
    refused: int


class _SpawnsSupervisors(Protocol):
    """A runtime, or a supervisor."""

    async def spawn_supervisor(
        self, name: str, spec: SupervisorSpec | None = None, *, escalates: bool = True
    ) -> Supervisor: ...


@final
class Pool(Generic[M]):
    """Starts children from one factory, at most `size` at a time. Made by `open_pool`."""

    def __init__(
        self,
        supervisor: Supervisor,
        factory: Callable[..., Behavior[M]],
        *,
        size: int,
        when_full: WhenFull,
        max_waiting: float,
        child: ChildSpec,
    ) -> None:
        self.supervisor = supervisor
        self.size = size
        self._factory = factory
        self._when_full = when_full
        self._max_waiting = max_waiting
        self._child = child
        self._places = trio.CapacityLimiter(size)
        self._started = self._refused = 0

    def __repr__(self) -> str:
        return f"<Pool {self.supervisor.path!r}: {len(self)} of {self.size}>"

    def __len__(self) -> int:
        """How many places are taken."""
        return self._places.borrowed_tokens

    def children(self) -> list[Ref[Any]]:
        """Return the children that are not gone, in start order."""
        return self.supervisor.children()

    def statistics(self) -> PoolStatistics:
        """Return the counters as of now."""
        return PoolStatistics(
            size=self.size,
            children=len(self),
            waiting=self._places.statistics().tasks_waiting,
            started=self._started,
            refused=self._refused,
        )

    async def spawn(self, *args: Any, name: str | None = None) -> Ref[M]:
        """Start a child as soon as there is a place, and wait until it is ready.

        Cancelled while it waits, it takes no place; cancelled while the child starts, it takes the child along.

        Args:
            args: What the factory is called with, at each of the child's starts.
            name: Its name in the pool; by default its id.

        Raises:
            PoolFull: There is no place, and the pool refuses, or too many wait already.
            Stopping: The pool is ending, or ended while this call waited.
            NameTaken: A living child has that name.
            StartFailed: The factory or `on_start` raised, or took too long.
        """
        place = object()
        waiting = self._places.statistics().tasks_waiting
        if waiting or self._places.available_tokens < 1:
            most = 0 if self._when_full is WhenFull.REFUSE else self._max_waiting
            if waiting >= most:
                self._refused += 1
                also = f", and {waiting} wait for a place" if waiting else ""
                raise PoolFull(
                    f"pool {self.supervisor.path!r} has no place: {len(self)} of {self.size} are taken{also}"
                )
        await self._places.acquire_on_behalf_of(place)
        try:
            ref = await self.supervisor.spawn(self._factory, *args, name=name, spec=self._child)
        except BaseException:
            self._places.release_on_behalf_of(place)
            raise
        self._started += 1
        ref.watch(lambda _: self._places.release_on_behalf_of(place))
        return ref

    async def close(self) -> None:
        """Stop the children side by side and wait until all are gone; whoever waits for a place gets `Stopping`."""
        self.supervisor.ref.stop(why="the pool was closed")
        await self.supervisor.join()


async def open_pool(
    parent: _SpawnsSupervisors,
    name: str,
    factory: Callable[..., Behavior[M]],
    *,
    size: int,
    when_full: WhenFull | str = WhenFull.WAIT,
    max_waiting: float = math.inf,
    child: ChildSpec | None = None,
    spec: SupervisorSpec | None = None,
    escalates: bool = True,
) -> Pool[M]:
    """Open a pool of children of one kind below a runtime or a supervisor.

        async with open_runtime() as runtime:
            readers = await open_pool(runtime, "readers", Reader, size=4)
            ref = await readers.spawn("README.md")

    Args:
        parent: The runtime or the supervisor that the pool's own supervisor lives under.
        name: Its name there.
        factory: Makes the behavior of a child, for each of its incarnations; a class, or a function that says what it
            returns.
        size: How many children there may be at a time.
        when_full: Whether a spawn beyond that waits or is refused.
        max_waiting: How many spawns may wait; one more is refused.
        child: How each child is restarted and stopped; by default as by `ChildSpec()`.
        spec: What its supervisor does; by default one for one, and all children end side by side.
        escalates: False where the end of the pool by too many restarts concerns only those who watch it.

    Raises:
        UsageError: A size or a limit makes no sense.
        Stopping: The parent is ending.
        NameTaken: A living child of the parent has that name.
    """
    if type(size) is not int or size < 1:
        raise UsageError(f"size has to be a whole number, at least 1, not {size!r}")
    if not max_waiting >= 0:
        raise UsageError(f"max_waiting has to be 0 or more, not {max_waiting!r}")
    try:
        when = WhenFull(when_full)
    except ValueError:
        raise UsageError(f"when_full is {' or '.join(map(repr, map(str, WhenFull)))}, not {when_full!r}") from None
    spec = spec or SupervisorSpec(stop_order=StopOrder.TOGETHER)
    supervisor = await parent.spawn_supervisor(name, spec, escalates=escalates)
    return Pool(supervisor, factory, size=size, when_full=when, max_waiting=max_waiting, child=child or ChildSpec())

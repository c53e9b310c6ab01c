"""A pool: children of one kind, started on demand, with a bounded number at a time (OTP's `simple_one_for_one`).

A place is taken before its child is started and freed when that child has terminated; a restart keeps it. Waiting
spawns get places in order; a cancelled one takes none. Children end side by side, and when the pool begins to end,
waiting spawns fail.
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
    """Every place of a pool is taken, and no further spawn may wait for one."""


class WhenFull(StrEnum):
    """Policy for a spawn that finds no free place."""

    WAIT = "wait"
    """Wait for a place, behind earlier spawns."""
    REFUSE = "refuse"
    """Raise `PoolFull`."""


@final
@attrs.frozen(kw_only=True)
class PoolStatistics:
    """Counters of a pool."""

    size: int
    children: int
    """Places that are taken, including those of children that are starting."""
    waiting: int
    """Spawns that wait for a place."""
    started: int
    """Children started since the pool was opened."""
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
        """Return the number of places that are taken."""
        return self._places.borrowed_tokens

    def children(self) -> list[Ref[Any]]:
        """Return the children that have not terminated, in start order."""
        return self.supervisor.children()

    def statistics(self) -> PoolStatistics:
        """Return the current counters."""
        return PoolStatistics(
            size=self.size,
            children=len(self),
            waiting=self._places.statistics().tasks_waiting,
            started=self._started,
            refused=self._refused,
        )

    async def spawn(self, *args: Any, name: str | None = None) -> Ref[M]:
        """Start a child as soon as there is a place, and wait until it is ready.

        If cancelled while it waits, it takes no place; if cancelled while the child starts, it ends the child.

        Args:
            args: Arguments of the factory, at each start of the child.
            name: Its name in the pool; by default its id.

        Raises:
            PoolFull: There is no place, and the pool refuses, or too many spawns wait already.
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
                also = f", {waiting} more waiting" if waiting else ""
                raise PoolFull(
                    f"cannot spawn: all places of pool {self.supervisor.path!r} are taken ({len(self)} of {self.size}){also}"
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
        """Stop the children side by side and wait until all have terminated; waiting spawns raise `Stopping`."""
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
        parent: The runtime or supervisor above the pool's own supervisor.
        name: Its name there.
        factory: Returns the behavior of a child, for each of its incarnations; a class, or a function with an annotated
            return type.
        size: Maximum number of children at a time.
        when_full: Policy for a spawn beyond that.
        max_waiting: Maximum number of waiting spawns.
        child: Restart and stop policy of each child; by default `ChildSpec()`.
        spec: Policy of its supervisor; by default one for one, with all children ending side by side.
        escalates: False if giving up after too many restarts should affect only its watchers.

    Raises:
        UsageError: A size or a limit is invalid.
        Stopping: The parent is ending.
        NameTaken: A living child of the parent has that name.
    """
    if type(size) is not int or size < 1:
        raise UsageError(f"size must be a whole number of at least 1, got {size!r}")
    if not max_waiting >= 0:
        raise UsageError(f"max_waiting must be 0 or more, got {max_waiting!r}")
    try:
        when = WhenFull(when_full)
    except ValueError:
        raise UsageError(f"when_full must be {' or '.join(map(repr, map(str, WhenFull)))}, got {when_full!r}") from None
    spec = spec or SupervisorSpec(stop_order=StopOrder.TOGETHER)
    supervisor = await parent.spawn_supervisor(name, spec, escalates=escalates)
    return Pool(supervisor, factory, size=size, when_full=when, max_waiting=max_waiting, child=child or ChildSpec())

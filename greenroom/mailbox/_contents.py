"""State of a mailbox: lanes, leases and counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from trio.lowlevel import Task

from greenroom.core import Recorder
from greenroom.mailbox._envelope import DeadReason, Envelope, Lane
from greenroom.mailbox._policy import MailboxPolicy, MailboxStatistics
from greenroom.mailbox._producers import Producers

M = TypeVar("M")

LATER_CREDIT: Final = 16
"""Maximum number of messages of `next` that are served while `later` waits."""
LANES: Final = {Lane.NOW: "_now", Lane.NEXT: "_next", Lane.LATER: "_later"}
"""The attribute of each lane."""

_DEFAULT_POLICY: Final = MailboxPolicy()


class Contents(Generic[M]):
    """The state of a mailbox, and a look at it."""

    __slots__ = (
        "_acked",
        "_bytes",
        "_capacity",
        "_closed",
        "_credit",
        "_died",
        "_held",
        "_high_water",
        "_is_draining",
        "_later",
        "_lease",
        "_more_leased",
        "_next",
        "_notify",
        "_now",
        "_now_overflows",
        "_number",
        "_on_dead",
        "_pinned",
        "_policy",
        "_producers",
        "_recorder",
        "_refused",
        "_reserved",
        "_since_yield",
        "_stash",
        "_tombstones",
        "_trace",
        "_trap",
        "_waiter",
        "incarnation",
        "owner",
    )

    def __init__(
        self,
        owner: str = "",
        *,
        policy: MailboxPolicy | None = None,
        recorder: Recorder | None = None,
        is_traced: bool = False,
        on_dead: Callable[[Envelope[M], DeadReason], None] | None = None,
    ) -> None:
        self.owner = owner
        self.incarnation = 1
        self._policy = policy or _DEFAULT_POLICY
        self._capacity = self._policy.capacity
        self._recorder = recorder
        self._trace = recorder if is_traced else None
        self._on_dead = on_dead
        # Lanes are made on first use: an empty deque takes 0.7 kB.
        self._now: deque[Envelope[M]] | None = None
        self._next: deque[Envelope[M]] | None = None
        self._later: deque[Envelope[M]] | None = None
        # Nearly always at most one message is leased: a slot costs a third of a dictionary entry.
        self._lease: Envelope[M] | None = None
        self._more_leased: dict[int, Envelope[M]] | None = None
        self._stash: deque[Envelope[M]] | None = None
        self._producers: Producers | None = None
        self._waiter: Task | None = None
        self._notify: Callable[[], None] | None = None
        self._trap: object = None  # what the consumer sleeps on, made once
        self._tombstones = 0  # withdrawn messages that still lie in a lane
        self._reserved = 0
        self._closed = ""  # why; empty while it is open
        self._is_draining = False
        self._pinned: set[int] | None = None  # numbers of messages that die with the incarnation
        self._credit = LATER_CREDIT
        self._since_yield = 0
        self._number = self._held = self._bytes = self._high_water = 0
        self._refused = self._acked = self._died = self._now_overflows = 0

    def __len__(self) -> int:
        """Messages that wait in the three lanes; leased and postponed ones do not count."""
        return len(self._now or ()) + len(self._next or ()) + len(self._later or ()) - self._tombstones

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not (self._now or self._next or self._later) or (self._tombstones > 0 and not len(self))

    def _lane(self, lane: Lane) -> deque[Envelope[M]]:
        """Return a lane, made on first use."""
        attribute = LANES[lane]
        queue: deque[Envelope[M]] | None = getattr(self, attribute)
        if queue is None:
            queue = deque()
            setattr(self, attribute, queue)
        return queue

    def _depth(self, queue: deque[Envelope[M]] | None) -> int:
        return sum(one.number > 0 for one in queue or ()) if self._tombstones else len(queue or ())

    def waiting(self) -> list[Envelope[M]]:
        """Return what waits in the lanes, lane by lane; leased and postponed messages are not among it."""
        lanes = (self._now, self._next, self._later)
        return [envelope for queue in lanes if queue for envelope in queue if envelope.number]

    def last(self, lane: Lane) -> Envelope[M]:
        """Return the message that was put last into a lane, in this very step; nobody else may have put one since."""
        return self._lane(lane)[-1]

    @property
    def leased(self) -> Sequence[Envelope[M]]:
        """The messages that are leased now, in the order in which they were put."""
        first = () if self._lease is None else (self._lease,)
        if not self._more_leased:
            return first
        return tuple(sorted((*first, *self._more_leased.values()), key=lambda one: one.number))

    @property
    def capacity(self) -> int:
        """How many messages `next` and `later` hold together, leased and postponed ones included."""
        return self._capacity

    @property
    def is_closed(self) -> bool:
        """Whether it takes nothing new: `close` was called, or `refuse_new`."""
        return bool(self._closed)

    @property
    def is_draining(self) -> bool:
        """Whether it takes nothing new and still hands out what it has."""
        return self._is_draining

    @property
    def is_over(self) -> bool:
        """Whether `close` was called: nothing is taken, and nothing is handed out."""
        return bool(self._closed) and not self._is_draining

    def statistics(self) -> MailboxStatistics:
        """Return the state and the counters as of now."""
        return MailboxStatistics(
            now=self._depth(self._now),
            next=self._depth(self._next),
            later=self._depth(self._later),
            leased=len(self.leased),
            reserved=self._reserved,
            postponed=len(self._stash or ()),
            waiting_producers=len(self._producers or ()),
            size_bytes=self._bytes,
            capacity=self._policy.capacity,
            capacity_bytes=self._policy.capacity_bytes,
            high_water=self._high_water,
            accepted=self._number,
            refused=self._refused,
            acked=self._acked,
            died=self._died,
            now_overflows=self._now_overflows,
            is_closed=bool(self._closed),
        )

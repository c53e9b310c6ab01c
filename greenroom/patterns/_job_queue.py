"""Consumers of a queue that several processes share: each job is handled in a turn of an actor, and acknowledged with its commit.

Rule 1: one task takes jobs, and never more than there are idle workers. Rule 2: a job is acknowledged when the turn that answered it
has committed; a turn that fails, or that is cut, gives it back. Rule 3: who lost a job to another consumer is refused, and told so.
Effects on the outside world happen at least once: a process can end between the commit and the acknowledgement.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol, final

import attrs
import trio

from greenroom.actors import Ref, Request
from greenroom.core import Closed, GreenroomError, PeerError, UsageError, open_bare_nursery

MAX_JOB_ATTEMPTS: Final = 3
"""Number of times that a job is handed to a worker; then it is a dead letter."""
_RETRY_S: Final = 1.0
_END_S: Final = 10.0


@final
@attrs.frozen
class QueuedJob(Request[None]):
    """A job, and the message that a worker gets; its handler calls `ctx.reply(None)` when the job is done."""

    id: str
    """The sender's id of it, unique within the queue."""
    body: str
    attempt: int = 1
    """Number of this attempt, from 1; an acknowledgement of an earlier one is refused."""


@final
@attrs.frozen
class DeadJob:
    """A job that is handed to nobody any more."""

    job: QueuedJob
    why: str
    """The reason of its last failure."""


class JobQueue(Protocol):
    """A queue of jobs. Several processes may put and take; a job is with one consumer at a time.

    All methods raise `PeerError` where the queue cannot be reached. A call that is cancelled was carried out whole or not at all, and
    `take` loses no job to a cancel.
    """

    async def take(self, limit: int) -> Sequence[QueuedJob]:
        """Claim up to `limit` jobs; it never waits for more."""
        ...

    async def wait_news(self) -> None:
        """Wait until there may be something to take."""
        ...

    async def acknowledge(self, job: QueuedJob) -> bool:
        """Remove a job that was done; False if it is another consumer's now."""
        ...

    async def give_back(self, job: QueuedJob, why: str) -> bool:
        """Return a job, to be taken again at once; after `MAX_JOB_ATTEMPTS` it is a dead letter. False if it is another consumer's now."""
        ...


@final
@attrs.define
class JobCounts:
    """Counts of what became of the jobs that a consumer took."""

    done: int = 0
    """Acknowledged jobs."""
    failed: int = 0
    """Jobs that were given back because their turn failed, timed out or was cut."""
    lost: int = 0
    """Jobs that another consumer had before this one was done with them."""
    unknown: int = 0
    """Jobs whose acknowledgement got no answer: they are done, or come again."""


@final
class JobConsumer:
    """Hands the jobs of a queue to workers. Made by `consume_jobs`."""

    def __init__(self, queue: JobQueue, workers: Iterable[Ref[QueuedJob]], *, timeout_s: float) -> None:
        self.counts: Final = JobCounts()
        self._queue = queue
        self._timeout_s = timeout_s
        self._idle = deque(workers)
        self._busy = 0
        self._change = trio.Event()

    def __repr__(self) -> str:
        return f"<JobConsumer: {len(self._idle)} idle workers, {self._busy} at work, {self.counts.done} jobs done>"

    async def run(self) -> None:
        """Take jobs and hand them out, until it is cancelled.

        Raises:
            Closed: All workers have terminated.
        """
        async with open_bare_nursery() as nursery:
            while True:
                await self._wait_idle()
                try:
                    jobs = await self._queue.take(len(self._idle))
                except PeerError:
                    await trio.sleep(_RETRY_S)
                    continue
                for job in jobs:
                    self._busy += 1
                    nursery.start_soon(self._handle, job, self._idle.popleft())
                if not jobs:
                    await self._queue.wait_news()

    async def _wait_idle(self) -> None:
        while True:
            self._idle = deque(worker for worker in self._idle if not worker.is_gone)
            if self._idle:
                return
            if not self._busy:
                raise Closed("the consumer has no workers: all of them have terminated")
            self._change = trio.Event()
            await self._change.wait()

    async def _handle(self, job: QueuedJob, worker: Ref[QueuedJob]) -> None:
        why = "its consumer was stopped"
        try:
            with trio.move_on_after(self._timeout_s) as limit:
                await worker.ask(job, timeout_s=math.inf, cascade=True)
                why = ""
            if limit.cancelled_caught:
                why = f"no answer within {self._timeout_s:g} s"
        except GreenroomError as error:
            why = str(error)
        finally:
            with trio.move_on_after(_END_S, shield=True):
                await self._settle(job, why)
            self._busy -= 1
            self._idle.append(worker)
            self._change.set()

    async def _settle(self, job: QueuedJob, why: str) -> None:
        try:
            is_own = await (self._queue.give_back(job, why) if why else self._queue.acknowledge(job))
        except PeerError:
            self.counts.unknown += 1
            return
        if not is_own:
            self.counts.lost += 1
        elif why:
            self.counts.failed += 1
        else:
            self.counts.done += 1


@asynccontextmanager
async def consume_jobs(
    queue: JobQueue, workers: Iterable[Ref[QueuedJob]], *, timeout_s: float = math.inf
) -> AsyncIterator[JobConsumer]:
    """Hand the jobs of a queue to workers as long as the block lasts; each worker has one at a time.

    Leaving the block aborts the turns that handle jobs, and gives these jobs back.

    Args:
        queue: The queue.
        workers: Actors that handle `QueuedJob`, and call `ctx.reply(None)` for each.
        timeout_s: Seconds that a job may take; then its turn is aborted.

    Raises:
        UsageError: There are no workers, or the timeout is invalid.
        Closed: All workers have terminated.
    """
    crew = tuple(workers)
    if not crew:
        raise UsageError("consume_jobs needs one worker at least")
    if not timeout_s > 0:
        raise UsageError(f"timeout_s must be more than 0, got {timeout_s!r}")
    consumer = JobConsumer(queue, crew, timeout_s=timeout_s)
    ended: list[Closed] = []

    async def run() -> None:
        try:
            await consumer.run()
        except Closed as error:
            ended.append(error)
            nursery.cancel_scope.cancel()

    async with open_bare_nursery() as nursery:
        nursery.start_soon(run)
        try:
            yield consumer
        finally:
            nursery.cancel_scope.cancel()
    if ended:
        raise ended[0]

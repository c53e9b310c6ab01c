"""A queue of jobs on a redis server: a stream with one group of consumers.

Rule 1: a job belongs to who took it, as long as that one renews it; then to the next who takes. Rule 2: the number of its deliveries
says which attempt it is: the server refuses the acknowledgement of an earlier one. Rule 3: a job whose third attempt fails is a dead
letter, and stays in the server until it is removed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, final

import attrs
import trio

from greenroom.core import JournalError, PeerError, UsageError
from greenroom.core.ports import Ports
from greenroom.inbox import KNOWN_S
from greenroom.patterns import MAX_JOB_ATTEMPTS, DeadJob, QueuedJob
from greenroom.remote.redis._box_leases import RENEWALS
from greenroom.remote.redis._job_scripts import (
    ACKNOWLEDGE_JOB,
    COUNT_JOBS,
    GIVE_BACK_JOB,
    OPEN_JOBS,
    PUT_JOB,
    READ_DEAD,
    REMOVE_DEAD,
    RENEW_JOBS,
    TAKE_JOBS,
)
from greenroom.remote.redis._redis_inbox import LEASE_S, read_holder
from greenroom.remote.redis._redis_server import RedisServer, open_redis_server

MAX_JOBS: Final = 100_000
"""Default for the number of jobs that a queue holds, dead letters included."""
_LOOK_S: Final = 0.2
_MAX_ID: Final = 200
_MAX_BODY: Final = 1_048_576


@final
class JobsFull(PeerError):
    """A queue has no room for a job; nothing was changed."""


@final
@attrs.frozen
class JobStatistics:
    """The content of a queue."""

    waiting: int
    in_work: int
    dead: int


@final
class RedisJobQueue:
    """A queue of jobs on a redis server. Made by `open_redis_jobs`.

    Attributes:
        consumer: This process, as the server knows it.
    """

    def __init__(
        self,
        server: RedisServer,
        base: str,
        *,
        consumer: str,
        wall: Callable[[], datetime],
        lease_s: float,
        capacity: int,
    ) -> None:
        self.consumer: Final = consumer
        self._server = server
        self._keys = [base]
        self._wall = wall
        self._lease_s = lease_s
        self._capacity = capacity
        self._in_work: dict[str, int] = {}
        """The attempt of each job that was taken here and is not settled."""

    def __repr__(self) -> str:
        return f"<RedisJobQueue {self._keys[0]!r} on {self._server.address.shown}>"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for people on what the server can lose."""
        return self._server.warnings

    async def put(self, job_id: str, body: str) -> bool:
        """Put a job; False if the queue knows its id, from now or the last seven days: then nothing was changed.

        Raises:
            UsageError: The id or the body is too long, or blank.
            JobsFull: The queue holds as many jobs as it may.
        """
        if not job_id.strip() or len(job_id) > _MAX_ID or not job_id.isprintable():
            raise UsageError(f"the id of a job must have 1 to {_MAX_ID} printable characters, got {job_id[:80]!r}")
        if len(body) > _MAX_BODY:
            raise UsageError(f"the body of job {job_id!r} has {len(body)} characters; {_MAX_BODY} are allowed")
        now = self._wall().timestamp()
        answer = await self._server.call(PUT_JOB, self._keys, [job_id, body, now, KNOWN_S, self._capacity])
        if answer < 0:
            raise JobsFull(f"queue {self._keys[0]!r} is full: it holds {self._capacity} jobs; put it again later")
        return bool(answer)

    async def take(self, limit: int) -> list[QueuedJob]:
        """Claim up to `limit` jobs; it never waits for more."""
        arguments: list[str | int] = [self.consumer, limit, self._lease_ms, MAX_JOB_ATTEMPTS]
        jobs = [QueuedJob(*found) for found in await self._server.call(TAKE_JOBS, self._keys, arguments)]
        self._in_work.update((job.id, job.attempt) for job in jobs)
        return jobs

    async def wait_news(self) -> None:
        """Wait for a fifth of a second: then there may be something to take."""
        await trio.sleep(_LOOK_S)

    async def acknowledge(self, job: QueuedJob) -> bool:
        """Remove a job that was done; False if it is another consumer's now."""
        self._in_work.pop(job.id, None)
        return bool(await self._server.call(ACKNOWLEDGE_JOB, self._keys, [self.consumer, job.id, job.attempt]))

    async def give_back(self, job: QueuedJob, why: str) -> bool:
        """Return a job, to be taken again at once; after its third attempt it is a dead letter. False if it is another consumer's now."""
        self._in_work.pop(job.id, None)
        arguments: list[str | int] = [
            self.consumer,
            job.id,
            job.attempt,
            self._lease_ms,
            MAX_JOB_ATTEMPTS,
            why,
            job.body,
        ]
        return bool(await self._server.call(GIVE_BACK_JOB, self._keys, arguments))

    async def statistics(self) -> JobStatistics:
        """Return what is in the queue."""
        return JobStatistics(*await self._server.call(COUNT_JOBS, self._keys))

    async def dead(self, limit: int = 100) -> tuple[DeadJob, ...]:
        """Return the oldest dead letters."""
        found = await self._server.call(READ_DEAD, self._keys, [limit])
        return tuple(DeadJob(QueuedJob(job_id, body, attempt), why) for job_id, body, attempt, why in found)

    async def remove_dead(self, ids: Iterable[str]) -> int:
        """Remove dead letters, and return their number."""
        removed: int = await self._server.call(REMOVE_DEAD, self._keys, list(ids))
        return removed

    async def renew(self) -> None:
        """Renew the jobs in work, until it is cancelled."""
        while True:
            await trio.sleep(self._lease_s / RENEWALS)
            if not self._in_work:
                continue
            arguments: list[str | int] = [self.consumer]
            for job_id, attempt in self._in_work.items():
                arguments += [job_id, attempt]
            try:
                await self._server.call(RENEW_JOBS, self._keys, arguments)
            except JournalError:
                continue  # the next try, or the next call, says what is wrong

    @property
    def _lease_ms(self) -> int:
        return int(self._lease_s * 1000)


@asynccontextmanager
async def open_redis_jobs(
    url: str,
    queue: str,
    *,
    name: str = "greenroom",
    node: str = "",
    ports: Ports | None = None,
    lease_s: float = LEASE_S,
    capacity: int = MAX_JOBS,
) -> AsyncIterator[RedisJobQueue]:
    """Open a queue of jobs on a redis server as long as the block lasts.

    Args:
        url: The address, as `redis://[:PASSWORD@]HOST[:PORT][/NUMBER]`; `rediss://` for TLS, `unix://PATH` for a socket.
        queue: The name of the queue.
        name: The name before all keys.
        node: The name of what runs here, for people.
        ports: Time and threads.
        lease_s: Seconds for which a job belongs to a process that says nothing more.
        capacity: Number of jobs that the queue holds, dead letters included; then a put is refused.

    Raises:
        UsageError: The address, a name or a number is invalid, or the extra is not installed.
        JournalError: Nobody answers there, or the server cannot be used.
    """
    holder = read_holder(name, node, lease_s)
    if not queue.strip() or len(queue) > _MAX_ID or not queue.isprintable():
        raise UsageError(f"the name of a queue must have 1 to {_MAX_ID} printable characters, got {queue[:80]!r}")
    if capacity < 1:
        raise UsageError(f"capacity must be 1 or more, got {capacity!r}")
    ports = ports or Ports()
    async with open_redis_server(url, blocking=ports.blocking) as server:
        jobs = RedisJobQueue(
            server,
            f"{{{name}}}:queue:{queue}",
            consumer=holder,
            wall=ports.clock.wall,
            lease_s=lease_s,
            capacity=capacity,
        )
        await server.call(OPEN_JOBS, [f"{{{name}}}:queue:{queue}"])
        server.nursery.start_soon(jobs.renew)
        yield jobs

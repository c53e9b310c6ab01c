"""A queue of jobs on a real server: with one consumer at a time, given again by the dead, and dead letters after three attempts."""

from __future__ import annotations

from uuid import uuid4

import pytest
import trio

import greenroom as gr
from greenroom.core import UsageError
from greenroom.patterns import QueuedJob, consume_jobs
from greenroom.remote.redis import JobsFull, JobStatistics, RedisJobQueue, open_redis_jobs
from tests.remote.redis.real_redis import MEMORY_STREAMS
from tools.chaos.redis_process import RealRedis

pytestmark = pytest.mark.filterwarnings(MEMORY_STREAMS)
LEASE_S = 0.3


async def taken(queue: RedisJobQueue) -> QueuedJob:
    """Return the next job, when there is one."""
    while True:
        for job in await queue.take(1):
            return job
        await trio.sleep(0.02)


async def test_job_is_with_one_consumer_and_leaves_with_its_acknowledgement(redis: RealRedis) -> None:
    name = uuid4().hex
    async with open_redis_jobs(redis.url, name, capacity=2) as one, open_redis_jobs(redis.url, name) as other:
        assert [await one.put("1", "a"), await one.put("1", "b"), await other.put("2", "c")] == [True, False, True]
        with pytest.raises(JobsFull, match="it holds 2 jobs"):
            await one.put("3", "d")
        assert await one.take(1) == [QueuedJob("1", "a", 1)]
        assert await other.take(9) == [QueuedJob("2", "c", 1)]
        assert await one.take(9) == []
        assert await one.statistics() == JobStatistics(waiting=0, in_work=2, dead=0)
        assert not await other.acknowledge(QueuedJob("1", "a", 1))
        assert await one.acknowledge(QueuedJob("1", "a", 1))
        assert not await one.acknowledge(QueuedJob("1", "a", 1))
        assert not await one.put("1", "a")  # still known
        assert await one.statistics() == JobStatistics(waiting=0, in_work=1, dead=0)


@pytest.mark.promise("R9-e")
async def test_job_of_a_dead_consumer_is_taken_over_and_one_that_is_renewed_is_not(redis: RealRedis) -> None:
    """Mechanism: the group's list of pending entries has the consumer, the idle time and the number of deliveries of each job."""
    name = uuid4().hex
    async with open_redis_jobs(redis.url, name, lease_s=LEASE_S) as other:
        async with open_redis_jobs(redis.url, name, lease_s=LEASE_S) as one:
            await one.put("1", "a")
            (job,) = await one.take(1)
            await trio.sleep(2 * LEASE_S)
            assert await other.take(1) == []
        assert await taken(other) == QueuedJob("1", "a", 2)
        assert not await other.acknowledge(job)
        assert await other.acknowledge(QueuedJob("1", "a", 2))


@pytest.mark.promise("R9-f")
async def test_third_failure_makes_a_dead_letter(redis: RealRedis) -> None:
    name = uuid4().hex
    async with open_redis_jobs(redis.url, name, lease_s=LEASE_S) as queue:
        await queue.put("1", "a")
        for attempt in (1, 2, 3):
            (job,) = await queue.take(5)
            assert job.attempt == attempt
            assert await queue.give_back(job, f"no ink {attempt}")
            assert not await queue.give_back(job, "again")
        assert await queue.take(5) == []
        (dead,) = await queue.dead()
        assert (dead.job, dead.why) == (QueuedJob("1", "a", 3), "no ink 3")
        assert await queue.statistics() == JobStatistics(waiting=0, in_work=0, dead=1)
        assert await queue.remove_dead(["1", "2"]) == 1
        assert await queue.dead() == ()


@pytest.mark.promise("R9-f")
async def test_job_with_which_three_consumers_ended_is_a_dead_letter(redis: RealRedis) -> None:
    name = uuid4().hex
    for attempt in (1, 2, 3):
        async with open_redis_jobs(redis.url, name, lease_s=LEASE_S) as queue:
            await queue.put("1", "a")
            assert (await taken(queue)).attempt == attempt
    async with open_redis_jobs(redis.url, name, lease_s=LEASE_S) as queue:
        while not (dead := await queue.dead()):
            assert await queue.take(1) == []
            await trio.sleep(0.02)
    assert (dead[0].job.attempt, dead[0].why) == (3, "its consumers ended without a word")


class Scribe(gr.Behavior[QueuedJob]):
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def on_message(self, message: QueuedJob, ctx: gr.Context[None]) -> None:
        self._lines.append(message.body)
        ctx.reply(None)


async def test_actors_do_the_jobs_of_a_server(redis: RealRedis) -> None:
    lines: list[str] = []
    async with open_redis_jobs(redis.url, uuid4().hex) as queue, gr.open_runtime() as runtime:
        scribes = [await runtime.spawn(Scribe, lines) for _ in range(3)]
        for number in range(10):
            await queue.put(str(number), f"line {number}")
        async with consume_jobs(queue, scribes) as consumer:
            while consumer.counts.done < 10:  # noqa: ASYNC110 - what it counts is what is tested
                await trio.sleep(0.02)
        assert await queue.statistics() == JobStatistics(waiting=0, in_work=0, dead=0)
    assert sorted(lines) == [f"line {number}" for number in range(10)]


async def test_queue_has_a_name_and_room(redis: RealRedis) -> None:
    for queue, capacity, words in (("", 1, "the name of a queue"), ("a\nb", 1, "the name"), ("a", 0, "1 or more")):
        with pytest.raises(UsageError, match=words):
            async with open_redis_jobs(redis.url, queue, capacity=capacity):
                pass

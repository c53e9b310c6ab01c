"""Jobs of a queue are handled in turns of actors, acknowledged with the commit, and given back by what fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import attrs
import pytest
import trio

from greenroom.actors import Behavior, Context
from greenroom.core import Closed, PeerError, UsageError
from greenroom.patterns import MAX_JOB_ATTEMPTS, QueuedJob, consume_jobs
from greenroom.supervisor import open_runtime

pytestmark = pytest.mark.usefixtures("virtual_time")


@attrs.define(eq=False)
class ListedJobs:
    """A queue in memory."""

    waiting: deque[QueuedJob]
    in_work: dict[str, QueuedJob] = attrs.field(factory=dict)
    done: list[str] = attrs.field(factory=list)
    dead: list[tuple[str, str]] = attrs.field(factory=list)
    is_away: bool = False

    async def take(self, limit: int) -> list[QueuedJob]:
        await trio.lowlevel.checkpoint()
        if self.is_away:
            raise PeerError("nobody answers")
        jobs = [self.waiting.popleft() for _ in range(min(limit, len(self.waiting)))]
        self.in_work.update((job.id, job) for job in jobs)
        return jobs

    async def wait_news(self) -> None:
        await trio.sleep(0.2)

    async def acknowledge(self, job: QueuedJob) -> bool:
        await trio.lowlevel.checkpoint()
        if self.in_work.get(job.id) != job:
            return False
        del self.in_work[job.id]
        self.done.append(job.id)
        return True

    async def give_back(self, job: QueuedJob, why: str) -> bool:
        await trio.lowlevel.checkpoint()
        if self.in_work.pop(job.id, None) != job:
            return False
        if job.attempt >= MAX_JOB_ATTEMPTS:
            self.dead.append((job.id, why))
        else:
            self.waiting.append(attrs.evolve(job, attempt=job.attempt + 1))
        return True

    async def wait_empty(self) -> None:
        while self.waiting or self.in_work:  # noqa: ASYNC110 - what empties it is what is tested
            await trio.sleep(0.1)


def listed(ids: str) -> ListedJobs:
    return ListedJobs(deque(QueuedJob(each, "") for each in ids))


class Clerk(Behavior[QueuedJob]):
    """Does a job as it is told; a job counts as committed behind its reply."""

    def __init__(self, do: Callable[[QueuedJob], float]) -> None:
        self._do = do

    async def on_message(self, message: QueuedJob, ctx: Context[None]) -> None:
        await trio.sleep(self._do(message))
        ctx.reply(None)


@pytest.mark.promise("R9-e")
async def test_each_job_is_handled_and_then_acknowledged() -> None:
    """Mechanism: the answer of a turn leaves with its commit, and the acknowledgement follows the answer."""
    queue = listed("abcdef")
    seen: list[str] = []

    def do(job: QueuedJob) -> float:
        seen.append(job.id)
        assert job.id not in queue.done
        return 1.0

    async with open_runtime() as runtime:
        clerks = [await runtime.spawn(Clerk, do), await runtime.spawn(Clerk, do)]
        async with consume_jobs(queue, clerks) as consumer:
            await trio.sleep(0.5)
            assert (len(queue.in_work), len(queue.waiting)) == (2, 4)  # no more than there are workers
            await queue.wait_empty()
        assert sorted(seen) == sorted(queue.done) == list("abcdef")
        assert (consumer.counts.done, consumer.counts.failed) == (6, 0)


@pytest.mark.promise("R9-f")
async def test_job_whose_turns_fail_is_a_dead_letter_after_three_and_holds_up_no_other() -> None:
    """Mechanism: a turn without an answer gives its job back, and the queue counts the attempts."""
    queue = listed("ab")
    seen: list[tuple[str, int]] = []

    def do(job: QueuedJob) -> float:
        seen.append((job.id, job.attempt))
        if job.id == "a":
            raise ValueError("no ink")
        return 1.0

    async with open_runtime() as runtime, consume_jobs(queue, [await runtime.spawn(Clerk, do)]) as consumer:
        await queue.wait_empty()
    assert [each for each in seen if each[0] == "a"] == [("a", 1), ("a", 2), ("a", 3)]
    assert queue.done == ["b"]
    ((job_id, why),) = queue.dead
    assert job_id == "a"
    assert "no ink" in why
    assert (consumer.counts.done, consumer.counts.failed) == (1, 3)


@pytest.mark.promise("R9-f")
async def test_job_in_work_is_given_back_when_its_consumer_ends_or_takes_too_long() -> None:
    queue = listed("a")
    ended: list[int] = []

    def do(job: QueuedJob) -> float:
        ended.append(job.attempt)
        return 60.0

    async with open_runtime() as runtime:
        clerk = await runtime.spawn(Clerk, do)
        async with consume_jobs(queue, [clerk]):
            await trio.sleep(1.0)
        assert [job.attempt for job in queue.waiting] == [2]
        async with consume_jobs(queue, [clerk], timeout_s=5.0) as consumer:
            await queue.wait_empty()
    assert queue.dead == [("a", "no answer within 5 s")]
    assert (ended, consumer.counts.failed, trio.current_time() < 60) == ([1, 2, 3], 2, True)


@pytest.mark.promise("R9-e")
async def test_job_that_another_consumer_has_by_now_is_not_acknowledged() -> None:
    queue = listed("a")
    async with open_runtime() as runtime:
        async with consume_jobs(queue, [await runtime.spawn(Clerk, lambda _: 1.0)]) as consumer:
            await trio.sleep(0.5)
            queue.in_work["a"] = QueuedJob("a", "", 2)
            await trio.sleep(1.0)
    assert (queue.done, consumer.counts.lost) == ([], 1)


async def test_queue_that_is_away_is_asked_again_and_a_consumer_without_workers_ends() -> None:
    queue = listed("a")
    queue.is_away = True
    async with open_runtime() as runtime:
        clerk = await runtime.spawn(Clerk, lambda _: 0.1)
        with pytest.raises(Closed, match="has no workers"):
            async with consume_jobs(queue, [clerk]):
                await trio.sleep(2.5)
                queue.is_away = False
                await queue.wait_empty()
                clerk.stop()
                await trio.sleep(60)
    assert queue.done == ["a"]


async def test_consumer_needs_workers_and_a_timeout() -> None:
    with pytest.raises(UsageError, match="one worker at least"):
        async with consume_jobs(listed(""), []):
            pass
    async with open_runtime() as runtime:
        clerk = await runtime.spawn(Clerk, lambda _: 0.1)
        with pytest.raises(UsageError, match="more than 0"):
            async with consume_jobs(listed(""), [clerk], timeout_s=0):
                pass

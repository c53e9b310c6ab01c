"""Boxes of an inbox store and queues of jobs on a redis server, shared by several processes. Needs the extra `redis`."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.remote.redis._redis_inbox import RedisInboxStore, open_redis_inbox
    from greenroom.remote.redis._redis_jobs import JobsFull, JobStatistics, RedisJobQueue, open_redis_jobs
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.remote.redis._redis_inbox": ("RedisInboxStore", "open_redis_inbox"),
            "greenroom.remote.redis._redis_jobs": ("JobStatistics", "JobsFull", "RedisJobQueue", "open_redis_jobs"),
        },
    )

__all__ = [
    "JobStatistics",
    "JobsFull",
    "RedisInboxStore",
    "RedisJobQueue",
    "open_redis_inbox",
    "open_redis_jobs",
]

"""Boxes of an inbox store, and work queues, that several processes share on a redis server. Needs the extra `redis`."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.remote.redis._redis_inbox import RedisInboxStore, open_redis_inbox
else:
    __getattr__, __dir__ = lazy_names(
        globals(), {"greenroom.remote.redis._redis_inbox": ("RedisInboxStore", "open_redis_inbox")}
    )

__all__ = ["RedisInboxStore", "open_redis_inbox"]

"""Patterns built on the kernel's public names: consumers of queues, groups, pools, coordinated shutdown, the slow-step watchdog."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.patterns._events import EVENTS, PhaseEnded, ShutdownBegan, ShutdownEnded, StepBlocked
    from greenroom.patterns._group import Group, GroupChanged
    from greenroom.patterns._job_queue import (
        MAX_JOB_ATTEMPTS,
        DeadJob,
        JobConsumer,
        JobCounts,
        JobQueue,
        QueuedJob,
        consume_jobs,
    )
    from greenroom.patterns._pool import Pool, PoolFull, PoolStatistics, WhenFull, open_pool
    from greenroom.patterns._shutdown import PHASES, PhaseReport, Shutdown, ShutdownReport, drain
    from greenroom.patterns._watchdog import LIMIT_S, StepStatistics, StepWatch, watch_steps
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.patterns._events": ("EVENTS", "PhaseEnded", "ShutdownBegan", "ShutdownEnded", "StepBlocked"),
            "greenroom.patterns._group": ("Group", "GroupChanged"),
            "greenroom.patterns._job_queue": (
                "MAX_JOB_ATTEMPTS",
                "DeadJob",
                "JobConsumer",
                "JobCounts",
                "JobQueue",
                "QueuedJob",
                "consume_jobs",
            ),
            "greenroom.patterns._pool": ("Pool", "PoolFull", "PoolStatistics", "WhenFull", "open_pool"),
            "greenroom.patterns._shutdown": ("PHASES", "PhaseReport", "Shutdown", "ShutdownReport", "drain"),
            "greenroom.patterns._watchdog": ("LIMIT_S", "StepStatistics", "StepWatch", "watch_steps"),
        },
    )

__all__ = [
    "EVENTS",
    "LIMIT_S",
    "MAX_JOB_ATTEMPTS",
    "PHASES",
    "DeadJob",
    "Group",
    "GroupChanged",
    "JobConsumer",
    "JobCounts",
    "JobQueue",
    "PhaseEnded",
    "PhaseReport",
    "Pool",
    "PoolFull",
    "PoolStatistics",
    "QueuedJob",
    "Shutdown",
    "ShutdownBegan",
    "ShutdownEnded",
    "ShutdownReport",
    "StepBlocked",
    "StepStatistics",
    "StepWatch",
    "WhenFull",
    "consume_jobs",
    "drain",
    "open_pool",
    "watch_steps",
]

"""What is built on the kernel's public names: groups and pools of actors, the watchdog for code
that blocks.
"""

from greenroom.patterns._events import EVENTS, FOLDS, StepBlocked
from greenroom.patterns._group import Group, GroupChanged
from greenroom.patterns._pool import Pool, PoolFull, PoolStatistics, WhenFull, open_pool
from greenroom.patterns._watchdog import LIMIT_S, StepStatistics, StepWatch, watch_steps

__all__ = [
    "EVENTS",
    "FOLDS",
    "LIMIT_S",
    "Group",
    "GroupChanged",
    "Pool",
    "PoolFull",
    "PoolStatistics",
    "StepBlocked",
    "StepStatistics",
    "StepWatch",
    "WhenFull",
    "open_pool",
    "watch_steps",
]

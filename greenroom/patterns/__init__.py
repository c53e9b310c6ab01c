"""Patterns built on the kernel's public names: groups, pools, coordinated shutdown, the slow-step watchdog."""

from greenroom.patterns._events import EVENTS, PhaseEnded, ShutdownBegan, ShutdownEnded, StepBlocked
from greenroom.patterns._group import Group, GroupChanged
from greenroom.patterns._pool import Pool, PoolFull, PoolStatistics, WhenFull, open_pool
from greenroom.patterns._shutdown import PHASES, PhaseReport, Shutdown, ShutdownReport, drain
from greenroom.patterns._watchdog import LIMIT_S, StepStatistics, StepWatch, watch_steps

__all__ = [
    "EVENTS",
    "LIMIT_S",
    "PHASES",
    "Group",
    "GroupChanged",
    "PhaseEnded",
    "PhaseReport",
    "Pool",
    "PoolFull",
    "PoolStatistics",
    "Shutdown",
    "ShutdownBegan",
    "ShutdownEnded",
    "ShutdownReport",
    "StepBlocked",
    "StepStatistics",
    "StepWatch",
    "WhenFull",
    "drain",
    "open_pool",
    "watch_steps",
]

"""What is built on the kernel's public names: groups of actors, and the watchdog for code that blocks."""

from greenroom.patterns._events import EVENTS, FOLDS, StepBlocked
from greenroom.patterns._group import Group, GroupChanged
from greenroom.patterns._watchdog import LIMIT_S, StepStatistics, StepWatch, watch_steps

__all__ = [
    "EVENTS",
    "FOLDS",
    "LIMIT_S",
    "Group",
    "GroupChanged",
    "StepBlocked",
    "StepStatistics",
    "StepWatch",
    "watch_steps",
]

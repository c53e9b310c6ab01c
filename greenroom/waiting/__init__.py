"""Primitives for waiting: parking a task, deadlines, reply slots. Knows Trio, but not actors."""

from greenroom.waiting._parking import SHORTCUTS, prepare, sleep, wake
from greenroom.waiting._slot import NOTHING, ReplySlot
from greenroom.waiting._timers import TICK_S, Timer, Timers

__all__ = [
    "NOTHING",
    "SHORTCUTS",
    "TICK_S",
    "ReplySlot",
    "Timer",
    "Timers",
    "prepare",
    "sleep",
    "wake",
]

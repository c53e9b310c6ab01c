"""Primitives for waiting: parking a task, deadlines, reply slots. Knows Trio, but not actors."""

from greenroom.waiting._parking import ParkingSpot, prepare, sleep, wake
from greenroom.waiting._slot import NOTHING, ReplySlot
from greenroom.waiting._timers import TICK_S, Timer, Timers

__all__ = [
    "NOTHING",
    "TICK_S",
    "ParkingSpot",
    "ReplySlot",
    "Timer",
    "Timers",
    "prepare",
    "sleep",
    "wake",
]

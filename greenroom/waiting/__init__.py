"""How a task waits: it parks and is woken, a deadline falls due, a slot is settled. Knows Trio, and no actor."""

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

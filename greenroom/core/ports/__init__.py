"""Ports to the machine: clock, ids, random numbers, disk and threads."""

from greenroom.core.ports._ids import Ids, SeededIds, SystemIds, is_uuid, session_id
from greenroom.core.ports._ports import (
    Blocking,
    Chance,
    Clock,
    Disk,
    InlineBlocking,
    Ports,
    SystemClock,
    SystemDisk,
    ThreadBlocking,
)

__all__ = [
    "Blocking",
    "Chance",
    "Clock",
    "Disk",
    "Ids",
    "InlineBlocking",
    "Ports",
    "SeededIds",
    "SystemClock",
    "SystemDisk",
    "SystemIds",
    "ThreadBlocking",
    "is_uuid",
    "session_id",
]

"""Reasons of compactions."""

from __future__ import annotations

from enum import StrEnum


class CompactionTrigger(StrEnum):
    """The reason of a compaction."""

    MANUAL = "manual"
    AUTO = "auto"

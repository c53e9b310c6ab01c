"""Compaction of conversations: settings, requests, summaries and errors."""

from greenroom.agents.compaction._compaction import (
    Compact,
    Compacted,
    CompactionBlocked,
    CompactionFailed,
    CompactionSettings,
    ContextRefilled,
    compaction_from_environment,
)

__all__ = [
    "Compact",
    "Compacted",
    "CompactionBlocked",
    "CompactionFailed",
    "CompactionSettings",
    "ContextRefilled",
    "compaction_from_environment",
]

"""Compaction of conversations: settings, requests, summaries and errors."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.agents.compaction._compaction import (
        Compact,
        Compacted,
        CompactionBlocked,
        CompactionFailed,
        CompactionSettings,
        ContextRefilled,
        compaction_from_environment,
    )
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.agents.compaction._compaction": (
                "Compact",
                "Compacted",
                "CompactionBlocked",
                "CompactionFailed",
                "CompactionSettings",
                "ContextRefilled",
                "compaction_from_environment",
            )
        },
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

"""What survives a crash: transcripts, append-only logs of conversations, and boxes of entries that wait."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.store._box_news import BoxNews
    from greenroom.store._inbox_file import INBOX, stored_ids
    from greenroom.store._inbox_rows import item_of, row_of
    from greenroom.store._memory_inbox import MemoryInboxStore
    from greenroom.store._retention import (
        CLEANUP_PERIOD_DAYS,
        RetentionSettings,
        RetentionVerdict,
        StoredRun,
        decide_retention,
    )
    from greenroom.store._shared import SharedPrefix
    from greenroom.store._sqlite_inbox import SqliteInboxStore, open_inbox_store, store_items
    from greenroom.store._transcript import Line, Transcript, TranscriptHeader, encode_line, new_uuid
    from greenroom.store._transcript_reader import RESUMED_BYTES, read_conversation, read_transcript
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.store._box_news": ("BoxNews",),
            "greenroom.store._inbox_file": ("INBOX", "stored_ids"),
            "greenroom.store._inbox_rows": ("item_of", "row_of"),
            "greenroom.store._memory_inbox": ("MemoryInboxStore",),
            "greenroom.store._retention": (
                "CLEANUP_PERIOD_DAYS",
                "RetentionSettings",
                "RetentionVerdict",
                "StoredRun",
                "decide_retention",
            ),
            "greenroom.store._shared": ("SharedPrefix",),
            "greenroom.store._sqlite_inbox": ("SqliteInboxStore", "open_inbox_store", "store_items"),
            "greenroom.store._transcript": ("Line", "Transcript", "TranscriptHeader", "encode_line", "new_uuid"),
            "greenroom.store._transcript_reader": ("RESUMED_BYTES", "read_conversation", "read_transcript"),
        },
    )

__all__ = [
    "CLEANUP_PERIOD_DAYS",
    "INBOX",
    "RESUMED_BYTES",
    "BoxNews",
    "Line",
    "MemoryInboxStore",
    "RetentionSettings",
    "RetentionVerdict",
    "SharedPrefix",
    "SqliteInboxStore",
    "StoredRun",
    "Transcript",
    "TranscriptHeader",
    "decide_retention",
    "encode_line",
    "item_of",
    "new_uuid",
    "open_inbox_store",
    "read_conversation",
    "read_transcript",
    "row_of",
    "store_items",
    "stored_ids",
]

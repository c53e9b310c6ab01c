"""What survives a crash: transcripts, append-only logs of conversations, and boxes of entries that wait."""

from greenroom.store._memory_inbox import MemoryInboxStore
from greenroom.store._retention import (
    CLEANUP_PERIOD_DAYS,
    RetentionSettings,
    RetentionVerdict,
    StoredRun,
    decide_retention,
)
from greenroom.store._shared import SharedPrefix
from greenroom.store._sqlite_inbox import INBOX, SqliteInboxStore, open_inbox_store, stored_ids
from greenroom.store._transcript import Line, Transcript, TranscriptHeader, encode_line, new_uuid
from greenroom.store._transcript_reader import RESUMED_BYTES, read_conversation, read_transcript

__all__ = [
    "CLEANUP_PERIOD_DAYS",
    "INBOX",
    "RESUMED_BYTES",
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
    "new_uuid",
    "open_inbox_store",
    "read_conversation",
    "read_transcript",
    "stored_ids",
]

"""Transcripts: conversations as append-only logs that survive a crash."""

from greenroom.store._retention import (
    CLEANUP_PERIOD_DAYS,
    RetentionSettings,
    RetentionVerdict,
    StoredRun,
    decide_retention,
)
from greenroom.store._shared import SharedPrefix
from greenroom.store._transcript import Line, Transcript, TranscriptHeader, encode_line, new_uuid
from greenroom.store._transcript_reader import RESUMED_BYTES, read_conversation

__all__ = [
    "CLEANUP_PERIOD_DAYS",
    "RESUMED_BYTES",
    "Line",
    "RetentionSettings",
    "RetentionVerdict",
    "SharedPrefix",
    "StoredRun",
    "Transcript",
    "TranscriptHeader",
    "decide_retention",
    "encode_line",
    "new_uuid",
    "read_conversation",
]

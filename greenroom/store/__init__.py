"""Transcripts: conversations as append-only logs that survive a crash."""

from greenroom.store._reading import (
    RESUMED_BYTES,
    StoredConversation,
    TranscriptLines,
    chain,
    read_conversation,
    read_transcript,
)
from greenroom.store._retention import CLEANUP_PERIOD_DAYS, RetentionSettings, StoredRun, Verdict, decide_retention
from greenroom.store._transcript import Line, Transcript, TranscriptHeader, encode_line, new_uuid

__all__ = [
    "CLEANUP_PERIOD_DAYS",
    "RESUMED_BYTES",
    "Line",
    "RetentionSettings",
    "StoredConversation",
    "StoredRun",
    "Transcript",
    "TranscriptHeader",
    "TranscriptLines",
    "Verdict",
    "chain",
    "decide_retention",
    "encode_line",
    "new_uuid",
    "read_conversation",
    "read_transcript",
]

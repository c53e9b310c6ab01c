"""Transcripts: conversations as append-only logs that survive a crash."""

from greenroom.store._reading import (
    RESUMED_BYTES,
    Link,
    StoredConversation,
    TranscriptLines,
    chain,
    link_of,
    read_conversation,
    read_transcript,
)
from greenroom.store._retention import CLEANUP_PERIOD_DAYS, RetentionSettings, StoredRun, Verdict, decide_retention
from greenroom.store._shared import SharedPrefix
from greenroom.store._transcript import Line, Transcript, TranscriptHeader, encode_line, new_uuid

__all__ = [
    "CLEANUP_PERIOD_DAYS",
    "RESUMED_BYTES",
    "Line",
    "Link",
    "RetentionSettings",
    "SharedPrefix",
    "StoredConversation",
    "StoredRun",
    "Transcript",
    "TranscriptHeader",
    "TranscriptLines",
    "Verdict",
    "chain",
    "decide_retention",
    "encode_line",
    "link_of",
    "new_uuid",
    "read_conversation",
    "read_transcript",
]

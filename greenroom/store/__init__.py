"""Transcripts: conversations as append-only logs that survive a crash."""

from greenroom.store._reading import (
    RESUMED_BYTES,
    StoredConversation,
    TranscriptLines,
    chain,
    read_conversation,
    read_transcript,
)
from greenroom.store._transcript import Line, Transcript, TranscriptHeader, encode_line, new_uuid

__all__ = [
    "RESUMED_BYTES",
    "Line",
    "StoredConversation",
    "Transcript",
    "TranscriptHeader",
    "TranscriptLines",
    "chain",
    "encode_line",
    "new_uuid",
    "read_conversation",
    "read_transcript",
]

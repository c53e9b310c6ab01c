"""Transcripts: conversations as append-only logs that survive a crash."""

from greenroom.store._transcript import (
    Line,
    Transcript,
    TranscriptContent,
    TranscriptHeader,
    encode_line,
    new_uuid,
    read_transcript,
)

__all__ = [
    "Line",
    "Transcript",
    "TranscriptContent",
    "TranscriptHeader",
    "encode_line",
    "new_uuid",
    "read_transcript",
]

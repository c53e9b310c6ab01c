"""What a journal tells about itself."""

from __future__ import annotations

from typing import final

import attrs


@final
@attrs.frozen(kw_only=True)
class JournalStatistics:
    """The counters of a journal."""

    written: int
    """Events on disk that this writer put there."""
    pending: int
    """Events that wait to be written."""
    pending_bytes: int
    """What waits, transcripts included; a guess for events that are not encoded yet."""
    bytes: int
    """Bytes of journal lines on disk that this writer put there."""
    batches: int
    syncs: int
    waiting: int
    """Callers of `wait_durable` that wait."""
    is_open: bool

"""Counters of a journal."""

from __future__ import annotations

from typing import final

import attrs


@final
@attrs.frozen(kw_only=True)
class JournalStatistics:
    """The counters of a journal."""

    written: int
    """Events that this writer wrote to disk."""
    pending: int
    """Events that wait to be written."""
    pending_bytes: int
    """Pending bytes, including transcripts; estimated for events that are not encoded yet."""
    bytes: int
    """Bytes of journal lines that this writer wrote to disk."""
    batches: int
    syncs: int
    waiting: int
    """Waiting callers of `wait_durable`."""
    is_open: bool

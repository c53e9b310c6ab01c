"""Reasons why teammates are idle."""

from __future__ import annotations

from enum import StrEnum


class IdleReason(StrEnum):
    """Reason why a teammate is idle."""

    AVAILABLE = "available"
    INTERRUPTED = "interrupted"
    FAILED = "failed"

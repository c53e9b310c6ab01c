"""Limits and statistics of a mailbox."""

from __future__ import annotations

import attrs

from greenroom.core.validation import at_least_one, checked, not_negative


@attrs.frozen(kw_only=True, field_transformer=checked)
class MailboxPolicy:
    """Limits of a mailbox."""

    capacity: int = attrs.field(default=1_000, validator=at_least_one)
    """Maximum number of messages in `next` and `later` together, leased and postponed ones included."""
    capacity_bytes: int = attrs.field(default=8 * 1024 * 1024, validator=at_least_one)
    """Maximum sum of their sizes, as given by the senders."""
    now_capacity: int = attrs.field(default=64, validator=at_least_one)
    """Messages in `now` above which `now_overflows` is counted; they are still accepted."""

    stash_capacity: int = attrs.field(default=100, validator=not_negative)
    """Maximum number of postponed messages; one more fails its turn and becomes a dead letter `stash_overflow`."""


@attrs.frozen(kw_only=True)
class MailboxStatistics:
    """State and counters of a mailbox."""

    now: int
    next: int
    later: int
    leased: int
    postponed: int
    reserved: int
    """Places of `next` and `later` that are reserved for messages sent on commit."""
    waiting_producers: int
    size_bytes: int
    capacity: int
    capacity_bytes: int
    high_water: int
    """Maximum number of messages ever held at once, `now` not included."""
    accepted: int
    refused: int
    acked: int
    died: int
    now_overflows: int
    is_closed: bool

"""How much a mailbox holds, and what it tells about itself."""

from __future__ import annotations

import attrs

from greenroom.core import at_least_one, checked, not_negative


@attrs.frozen(kw_only=True, field_transformer=checked)
class MailboxPolicy:
    """How much a mailbox holds."""

    capacity: int = attrs.field(default=1_000, validator=at_least_one)
    """Messages in `next` and `later` together, leased and postponed ones included."""
    capacity_bytes: int = attrs.field(default=8 * 1024 * 1024, validator=at_least_one)
    """Their sizes together, where senders give sizes."""
    now_capacity: int = attrs.field(default=64, validator=at_least_one)
    """Messages in `now` above which `now_overflows` counts; they are kept all the same."""

    stash_capacity: int = attrs.field(default=100, validator=not_negative)
    """Messages that are postponed at once; one more fails its turn and is a dead letter `stash_overflow`."""


@attrs.frozen(kw_only=True)
class MailboxStatistics:
    """The state and the counters of one mailbox."""

    now: int
    next: int
    later: int
    leased: int
    postponed: int
    reserved: int
    """Places of `next` and `later` that are kept for what turns send with their commit."""
    waiting_producers: int
    size_bytes: int
    capacity: int
    capacity_bytes: int
    high_water: int
    """The most messages that were ever held at once, `now` left out."""
    accepted: int
    refused: int
    acked: int
    died: int
    now_overflows: int
    is_closed: bool

"""How much a mailbox holds, and what it tells about itself."""

from __future__ import annotations

import attrs

from greenroom.core import UsageError


@attrs.frozen(kw_only=True)
class MailboxPolicy:
    """How much a mailbox holds."""

    capacity: int = attrs.field(default=1_000)
    """Messages in `next` and `later` together, leased and postponed ones included."""
    capacity_bytes: int = 8 * 1024 * 1024
    """Their sizes together, where senders give sizes."""
    now_capacity: int = 64
    """Messages in `now` above which `now_overflows` counts; they are kept all the same."""

    stash_capacity: int = 100
    """Messages that are postponed at once; one more fails its turn and is a dead letter `stash_overflow`."""

    @capacity.validator
    def _at_least_one(self, _: object, value: int) -> None:
        if value < 1:
            raise UsageError(f"capacity has to be at least 1, not {value!r}")


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

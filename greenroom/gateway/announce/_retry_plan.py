"""The plan of a delivery: when its next part is tried, and when a person has to decide.

Rule 1: a part that a channel refused is not tried again, unless the channel named a time. Rule 2: after an unknown result only a channel
that takes keys gets the part again. Rule 3: nothing is thrown away: what cannot be delivered is blocked, and kept for a week.
Must not know: clock, channels.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

import attrs

from greenroom.gateway.record._machines import DeliveryState, SendResult
from greenroom.gateway.record._rows import Delivery

FIRST_S: Final = 15.0
"""Wait before the second try."""
MAX_WAIT_S: Final = 300.0
"""Longest wait between two tries."""
TRIED_S: Final = 30 * 60.0
"""Time for which a text is tried."""
KEPT_S: Final = 7 * 24 * 3600.0
"""Time for which a blocked text is kept."""


@final
@attrs.frozen
class TryPart:
    """Send a part, with the same key and bytes as before."""

    part: int


@final
@attrs.frozen
class WaitUntil:
    """Look again at this time."""

    at_s: float


@final
@attrs.frozen
class BlockDelivery:
    """Keep the text for a person to decide."""

    why: str


@final
@attrs.frozen
class DismissDelivery:
    """Give a blocked text up: nobody has decided for a week."""


DeliveryPlan: TypeAlias = TryPart | WaitUntil | BlockDelivery | DismissDelivery | None


def plan_delivery(delivery: Delivery, now_s: float, *, repeats_unknown: bool) -> DeliveryPlan:
    """Return what is to be done for a delivery; None for nothing: it is settled, not due, or being tried.

    A clock that is set back makes no wait longer.

    Args:
        delivery: The delivery.
        now_s: The wall clock.
        repeats_unknown: True if its channel takes keys, or the configuration prefers saying something twice.
    """
    if delivery.state is DeliveryState.BLOCKED:
        until_s = delivery.blocked_s + KEPT_S
        return DismissDelivery() if now_s >= until_s else WaitUntil(until_s)
    if delivery.state is not DeliveryState.DUE or delivery.trying:
        return None
    part = len(delivery.taken) + 1
    if delivery.result is SendResult.REFUSED and not delivery.wait_s:
        return BlockDelivery(f"refused: {delivery.why}".rstrip(": "))
    if delivery.result is SendResult.UNKNOWN and not repeats_unknown:
        return BlockDelivery("it is not known whether the channel has it")
    if not delivery.tries:
        return TryPart(part)
    if now_s - delivery.due_s >= TRIED_S:
        return BlockDelivery(f"not delivered within {TRIED_S / 60:.0f} minutes: {delivery.why}".rstrip(": "))
    until_s = delivery.tried_s + wait_after(delivery.tries, delivery.wait_s)
    return TryPart(part) if now_s >= until_s or now_s < delivery.tried_s else WaitUntil(until_s)


def wait_after(tries: int, wait_s: float = 0.0) -> float:
    """Return the wait after a number of failed tries, at least that which the channel asked for."""
    return max(wait_s, min(FIRST_S * 2.0 ** min(tries - 1, 10), MAX_WAIT_S))


def part_key(delivery: str, part: int) -> str:
    """Return the key of a part, the same at each try."""
    return f"{delivery}:{part}"

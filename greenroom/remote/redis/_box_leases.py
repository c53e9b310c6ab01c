"""Leases of boxes: who may take from a box, and for how long.

Rule 1: a *fence* is the number of a lease and its holder; a new lease has a larger number, and the server refuses whatever comes
with another fence than the box has. Rule 2: a lease that has run out is still its holder's until somebody takes the box. Rule 3: a
lease that was lost stays lost until its box is opened anew: what was in hand then must not be acknowledged. This module must not
depend on the clock, Trio, or the library.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

import attrs

RENEWALS: Final = 3
"""Number of times that a lease is renewed within its duration."""


@final
@attrs.frozen
class Fence:
    """The proof of holding that goes with each call."""

    epoch: int
    """Number of the lease of the box, from 1."""
    holder: str
    """Its holder, as `NODE:BOOT`."""

    def __str__(self) -> str:
        return f"{self.epoch} {self.holder}"

    @property
    def node(self) -> str:
        """The node of the holder, whatever process it is."""
        return self.holder.rpartition(":")[0]


def fence_of(text: str) -> Fence:
    """Return a fence as the server has it."""
    epoch, _, holder = text.partition(" ")
    return Fence(int(epoch), holder)


@final
@attrs.frozen
class LeasedElsewhere:
    """Somebody else has the box."""

    holder: str
    left_s: float
    """Seconds after which it can be had if the holder does not renew it."""


@final
@attrs.frozen
class Claimable:
    """The box can be had."""

    fence: Fence
    """The fence to put there."""
    if_free: bool
    """True if that must fail where the holder has renewed its lease meanwhile."""


LeasePlan: TypeAlias = Claimable | LeasedElsewhere


def plan_lease(found: Fence | None, left_s: float, *, holder: str) -> LeasePlan:
    """Return how to get a box.

    Args:
        found: The fence that the box has, if any.
        left_s: Seconds for which that lease holds; 0 or less if it has run out.
        holder: Who asks, as `NODE:BOOT`. An earlier process of the same node is dead: it is not waited for.
    """
    if found is None:
        return Claimable(Fence(1, holder), if_free=True)
    if found.holder == holder:
        return Claimable(found, if_free=False)
    fence = Fence(found.epoch + 1, holder)
    if found.node == fence.node:
        return Claimable(fence, if_free=False)
    if left_s > 0:
        return LeasedElsewhere(found.holder, left_s)
    return Claimable(fence, if_free=True)


@final
@attrs.define
class BoxLeases:
    """The leases of one process.

    Args:
        lease_s: Duration of a lease, in seconds.
    """

    lease_s: float
    _held: dict[str, Fence] = attrs.field(factory=dict, init=False)
    _lost: dict[str, str] = attrs.field(factory=dict, init=False)
    """The boxes that somebody else has taken, with the new fence."""
    _renewed_at: dict[str, float] = attrs.field(factory=dict, init=False)

    def fence(self, box: str) -> Fence | None:
        """Return the fence of a box that is held."""
        return self._held.get(box)

    def lost_to(self, box: str) -> str | None:
        """Return who has taken a box that was held here, until `forget`."""
        return self._lost.get(box)

    def note_held(self, box: str, fence: Fence, now_s: float) -> None:
        """Note that a box is held from now on.

        Args:
            box: The box.
            fence: Its fence.
            now_s: Time at which it was asked for.
        """
        self._held[box] = fence
        self._renewed_at[box] = now_s

    def note_lost(self, box: str, holder: str) -> None:
        """Note that somebody else has a box that was held here."""
        if self._held.pop(box, None) is not None:
            self._lost[box] = holder
            del self._renewed_at[box]

    def forget(self, box: str) -> None:
        """Note that whatever was in hand of a box is given up."""
        self._lost.pop(box, None)

    def due(self, now_s: float) -> dict[str, Fence]:
        """Return the boxes whose lease is to be renewed."""
        every_s = self.lease_s / RENEWALS
        return {box: self._held[box] for box, at in self._renewed_at.items() if now_s - at >= every_s}

    def held(self) -> dict[str, Fence]:
        """Return all boxes that are held."""
        return dict(self._held)

"""Which connections may stay, and which one has to go when there are too many.

Rule 1: a new connection is always let in; if there are too many unproven ones, an older one is closed. Rule 2: those that have
shown a wrong credential go first, then the oldest. Rule 3: a proven connection is never closed for the sake of others. This
module must not know of sockets, time, or credentials.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, final

import attrs

MAX_UNPROVEN: Final = 64
"""Maximum number of unproven connections."""
MAX_UNPROVEN_OF_ADDRESS: Final = 16
"""Maximum number of unproven connections of one address."""


@final
@attrs.define(eq=False)
class Seat:
    """Place of one connection."""

    address: str
    proven_at: str | None = None
    """Path of the endpoint at which it proved itself; None while it has not."""
    was_wrong: bool = False
    """True if it has shown a wrong credential."""


@final
class Admission:
    """All connections of a server, in the order of their arrival."""

    def __init__(
        self, *, max_unproven: int = MAX_UNPROVEN, max_unproven_of_address: int = MAX_UNPROVEN_OF_ADDRESS
    ) -> None:
        self._max_unproven = max_unproven
        self._max_of_address = max_unproven_of_address
        self._unproven: dict[Seat, None] = {}
        self._unproven_of: Counter[str] = Counter()
        self._proven: Counter[str] = Counter()
        self.wrong = 0
        """Number of wrong credentials that were shown."""
        self.most = 0
        """Maximum number of connections so far."""

    @property
    def unproven(self) -> int:
        """Number of unproven connections."""
        return len(self._unproven)

    @property
    def proven(self) -> int:
        """Number of proven connections."""
        return self._proven.total()

    def enter(self, address: str) -> tuple[Seat, Seat | None]:
        """Return the seat of a new connection, and the seat that had to be given up for it, if any."""
        given_up = None
        if self._unproven_of[address] >= self._max_of_address:
            given_up = self._first(address)
        elif len(self._unproven) >= self._max_unproven:
            given_up = self._first(None)
        if given_up is not None:
            self.leave(given_up)
        seat = Seat(address)
        self._unproven[seat] = None
        self._unproven_of[address] += 1
        self.most = max(self.most, self.unproven + self.proven)
        return seat, given_up

    def prove(self, seat: Seat, path: str, *, limit: int) -> bool:
        """Mark a connection as proven at an endpoint; return False, with nothing changed, if that one has its `limit` already."""
        if seat.proven_at is not None:
            return True
        if seat not in self._unproven or self._proven[path] >= limit:
            return False
        self._remove(seat)
        seat.proven_at = path
        self._proven[path] += 1
        return True

    def note_wrong(self, seat: Seat) -> None:
        """Count a wrong credential; an unproven connection is closed before those that have shown none."""
        self.wrong += 1
        seat.was_wrong = True

    def leave(self, seat: Seat) -> None:
        """Free a seat; nothing happens if it was given up."""
        if seat.proven_at is not None:
            self._proven[seat.proven_at] -= 1
            seat.proven_at = None
        elif seat in self._unproven:
            self._remove(seat)

    def _remove(self, seat: Seat) -> None:
        del self._unproven[seat]
        self._unproven_of[seat.address] -= 1
        if not self._unproven_of[seat.address]:
            del self._unproven_of[seat.address]

    def _first(self, address: str | None) -> Seat:
        standing = [seat for seat in self._unproven if address is None or seat.address == address]
        return next((seat for seat in standing if seat.was_wrong), standing[0])

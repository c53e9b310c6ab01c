"""Places of lanes: which turn may run now, which one waits, and who lends its place to whom.

Rule 1: a lane never gives out more places than its width; a narrower width takes none away. Rule 2: a turn that waits for other
sessions lends them its place, so that no set of turns can wait for each other; a circle of such waits is refused. Rule 3: who
takes its place back comes before everybody who waits in the lane. Rule 4: people come before clock work and recovery, which
let at most `MAX_OVERTAKEN` turns go first. Rule 5: a turn that only reports the result of another one comes before all others and is
not bound by rule 4; each follows a turn that had a place, so nobody waits behind them for good.
Must not know: Trio, time, sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from typing import Final, final

import attrs

from greenroom.core import UsageError

DEFAULT_WIDTH: Final = 1
"""The width of a lane that nobody has set."""
MAX_OVERTAKEN: Final = 16
"""The number of times that clock work and recovery let others go first; turns of rank `ENDING` may come on top."""


class Rank(IntEnum):
    """Who goes first among the turns that wait in a lane."""

    ENDING = 0
    """It reports the result of a turn that has ended; one for each of these."""
    PERSON = 1
    """Somebody waits for the answer."""
    BACKGROUND = 2
    """Clock work, and turns that an earlier process did not finish."""


class ClaimState(StrEnum):
    """The state of a claim."""

    WAITING = "waiting"
    """In the queue of its lane."""
    ACTIVE = "active"
    """It has a place, and its turn runs."""
    LENT = "lent"
    """Its turn waits for other sessions, which may use its place."""
    RETURNING = "returning"
    """Its wait is over, and its place is still in use: it is first in its lane."""
    ENDED = "ended"


@final
class WaitsInCircle(UsageError):
    """A turn was to wait for a session that waits for the turn's own session.

    Attributes:
        session: The session that would wait.
        target: The session that it would wait for.
    """

    def __init__(self, session: str, target: str) -> None:
        super().__init__(f"cannot wait for session {target!r}: it is (transitively) waiting for {session!r}")
        self.session = session
        self.target = target


@final
@attrs.define(eq=False)
class TurnClaim:
    """The claim of one turn to a place. Made by `LaneModel.ask`."""

    session: str
    lane: str
    rank: Rank
    number: int
    state: ClaimState = ClaimState.WAITING
    waits_for: frozenset[str] = frozenset()
    """The sessions that its turn waits for, while its place is lent."""
    overtaken: int = 0
    place: LanePlace | None = None
    """The place that it uses or has lent."""

    def __repr__(self) -> str:
        return f"<TurnClaim {self.number} of {self.session!r} in {self.lane!r}: {self.state}>"


@final
@attrs.define(eq=False)
class LanePlace:
    """One place of a lane, and the claims that use it: each but the last has lent it to the next one."""

    lane: str
    claims: list[TurnClaim] = attrs.field(factory=list)

    @property
    def user(self) -> TurnClaim:
        """The last claim: it runs, or has lent the place and nobody uses it."""
        return self.claims[-1]


@final
@attrs.define(eq=False)
class _Lane:
    width: int
    places: list[LanePlace] = attrs.field(factory=list)
    returning: list[TurnClaim] = attrs.field(factory=list)
    waiting: list[TurnClaim] = attrs.field(factory=list)

    @property
    def has_room(self) -> bool:
        return len(self.places) < self.width

    @property
    def is_claimed(self) -> bool:
        return bool(self.returning or self.waiting)

    def next_claim(self) -> TurnClaim:
        """Take out the claim that is next."""
        if self.returning:
            return self.returning.pop(0)
        chosen = min(self.waiting, key=_precedence)
        for claim in self.waiting:
            if claim.number < chosen.number:
                claim.overtaken += 1
        self.waiting.remove(chosen)
        return chosen


def _precedence(claim: TurnClaim) -> tuple[int, int]:
    rank = Rank.PERSON if claim.overtaken >= MAX_OVERTAKEN else claim.rank
    return rank, claim.number


@final
@attrs.frozen(kw_only=True)
class LaneStatistics:
    """A snapshot of a lane."""

    width: int
    active: int
    """Turns that run on its places."""
    lent: int
    """Places that are lent and that nobody uses."""
    waiting: int
    """Turns that wait, those whose place is in use among them."""


@final
class LaneModel:
    """The places of all lanes. Every change returns the claims that got a place by it, in order.

    Args:
        widths: The number of places of each lane; a lane that is not named has one.
    """

    def __init__(self, widths: Mapping[str, int] | None = None) -> None:
        self._lanes = {name: _Lane(_valid(width)) for name, width in (widths or {}).items()}
        self._lent: list[TurnClaim] = []
        """Those in `LENT`, in the order in which they lent."""
        self._count = 0

    def __repr__(self) -> str:
        parts = (f"{name} {len(lane.places)}/{lane.width}" for name, lane in self._lanes.items())
        return f"<LaneModel {', '.join(parts)}>"

    def ask(self, session: str, lane: str, rank: Rank = Rank.PERSON) -> tuple[TurnClaim, tuple[TurnClaim, ...]]:
        """Return the claim of a turn that begins, and the claims that got a place: its own, if there is one for it."""
        self._count += 1
        claim = TurnClaim(session, lane, rank, self._count)
        self._lane(lane).waiting.append(claim)
        if self._use_loan(claim):
            return claim, (claim,)
        return claim, self._give(lane)

    def lend(self, claim: TurnClaim, sessions: Iterable[str]) -> tuple[TurnClaim, ...]:
        """Lend the place of a turn that waits for sessions to their turns.

        Raises:
            WaitsInCircle: One of them waits for the session of this turn; nothing has changed.
        """
        assert claim.state is ClaimState.ACTIVE
        targets = frozenset(sessions)
        for target in sorted(targets):
            if self._reaches(target, claim.session):
                raise WaitsInCircle(claim.session, target)
        claim.state, claim.waits_for = ClaimState.LENT, targets
        self._lent.append(claim)
        return self._serve(claim)

    def take_back(self, claim: TurnClaim) -> tuple[TurnClaim, ...]:
        """End a wait: the turn goes on at once, or is the first in its lane where its place is in use."""
        assert claim.state is ClaimState.LENT
        place = claim.place
        assert place is not None
        self._end_wait(claim)
        if place.user is claim:
            claim.state = ClaimState.ACTIVE
            return (claim,)
        place.claims.remove(claim)
        claim.place, claim.state = None, ClaimState.RETURNING
        self._lane(claim.lane).returning.append(claim)
        return (claim,) if self._use_loan(claim) else self._give(claim.lane)

    def leave(self, claim: TurnClaim) -> tuple[TurnClaim, ...]:
        """End a claim, in whatever state it is; its place goes to the next one."""
        state, place = claim.state, claim.place
        claim.state, claim.place = ClaimState.ENDED, None
        if state is ClaimState.LENT:
            self._end_wait(claim)
        if place is None:
            self._withdraw(claim)
            return ()
        was_used = place.user is claim
        place.claims.remove(claim)
        if not place.claims:
            self._lane(place.lane).places.remove(place)
            return self._give(place.lane)
        return self._serve(place.user) if was_used else ()

    def resize(self, lane: str, width: int) -> tuple[TurnClaim, ...]:
        """Change the width of a lane; a place that is in use stays so until it is given back."""
        self._lane(lane).width = _valid(width)
        return self._give(lane)

    def ahead(self, claim: TurnClaim) -> int:
        """Return the number of turns that wait before one, as things stand."""
        lane = self._lane(claim.lane)
        if claim in lane.returning:
            return lane.returning.index(claim)
        return len(lane.returning) + sum(_precedence(other) < _precedence(claim) for other in lane.waiting)

    def statistics(self) -> dict[str, LaneStatistics]:
        """Return a snapshot of each lane."""
        return {
            name: LaneStatistics(
                width=lane.width,
                active=sum(place.user.state is ClaimState.ACTIVE for place in lane.places),
                lent=sum(place.user.state is ClaimState.LENT for place in lane.places),
                waiting=len(lane.returning) + len(lane.waiting),
            )
            for name, lane in self._lanes.items()
        }

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _lane(self, name: str) -> _Lane:
        return self._lanes.setdefault(name, _Lane(DEFAULT_WIDTH))

    def _reaches(self, session: str, goal: str) -> bool:
        """True if a session is another one, or waits for it through any number of others."""
        seen, todo = set(), [session]
        while todo:
            current = todo.pop()
            if current == goal:
                return True
            if current not in seen:
                seen.add(current)
                todo += [target for claim in self._lent if claim.session == current for target in claim.waits_for]
        return False

    def _use_loan(self, claim: TurnClaim) -> bool:
        """Give a claim the place of a turn that waits for its session, if there is one that nobody uses."""
        for lender in self._lent:
            place = lender.place
            if claim.session in lender.waits_for and place is not None and place.user is lender:
                self._withdraw(claim)
                self._begin(claim, place)
                return True
        return False

    def _serve(self, lender: TurnClaim) -> tuple[TurnClaim, ...]:
        """Give a place that nobody uses to the first turn of a session that its lender waits for."""
        assert lender.state is ClaimState.LENT
        assert lender.place is not None
        waiting = [
            claim
            for lane in self._lanes.values()
            for claim in (*lane.returning, *lane.waiting)
            if claim.session in lender.waits_for
        ]
        if not waiting:
            return ()
        claim = min(waiting, key=lambda each: (each.state is not ClaimState.RETURNING, _precedence(each)))
        self._withdraw(claim)
        self._begin(claim, lender.place)
        return (claim,)

    def _give(self, name: str) -> tuple[TurnClaim, ...]:
        lane, given = self._lane(name), []
        while lane.has_room and lane.is_claimed:
            claim = lane.next_claim()
            place = LanePlace(name)
            lane.places.append(place)
            self._begin(claim, place)
            given.append(claim)
        return tuple(given)

    def _begin(self, claim: TurnClaim, place: LanePlace) -> None:
        place.claims.append(claim)
        claim.place, claim.state = place, ClaimState.ACTIVE

    def _withdraw(self, claim: TurnClaim) -> None:
        lane = self._lane(claim.lane)
        for queue in (lane.returning, lane.waiting):
            if claim in queue:
                queue.remove(claim)

    def _end_wait(self, claim: TurnClaim) -> None:
        claim.waits_for = frozenset()
        self._lent.remove(claim)


def _valid(width: int) -> int:
    if width < 1:
        raise UsageError(f"the width of a lane must be at least 1, got {width!r}")
    return width

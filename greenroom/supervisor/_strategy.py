"""What a supervisor should do when a child has ended: pure plans, carried out by the supervisor.

Rule 1: whoever was asked to end is never restarted. Rule 2: what is stopped is stopped in reverse order of start, what
is started in order. Rule 3: the budget counts decisions to restart, not exits, and a batch counts once.
Rule 4: a temporary child is stopped together with its neighbours, and never started again.
Must not know: clock, Trio, actors; time comes in as a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, final

import attrs

from greenroom.actors import State
from greenroom.supervisor._spec import Backoff, ChildSpec, EndsWith, Restart, Strategy


@final
@attrs.frozen
class StopChild:
    """End a child that still runs; it will be started again, unless it is temporary."""

    child: str


@final
@attrs.frozen
class StartChild:
    """Start a child's next incarnation, after a delay in seconds."""

    child: str
    delay_s: float = 0.0


@final
@attrs.frozen
class ForgetChild:
    """Let a child be gone for good."""

    child: str


@final
@attrs.frozen
class GiveUp:
    """Fail: too many restarts. Whoever is above decides."""

    child: str
    restarts: int


Step: TypeAlias = StopChild | StartChild | ForgetChild | GiveUp

DependsOn: TypeAlias = Mapping[str, Sequence[str]]
"""Whom a child builds on; children that build on nobody may be missing."""

NO_DEPENDENCIES: Final[DependsOn] = {}

COMES_BACK: Final[Mapping[Restart, frozenset[State]]] = {
    Restart.PERMANENT: frozenset({State.COMPLETED, State.FAILED, State.KILLED}),
    Restart.TRANSIENT: frozenset({State.FAILED}),
    Restart.TEMPORARY: frozenset(),
}
"""After which terminal states a child comes back, if nobody asked for its end."""


@final
class RestartBudget:
    """Restarts within a sliding window; pure, because the time is handed in."""

    def __init__(self, intensity: int, period_s: float) -> None:
        self.intensity = intensity
        self.period_s = period_s
        self._times: list[float] = []  # few at most; an empty deque is ten times as big, and each child has a budget

    def __repr__(self) -> str:
        return f"<RestartBudget {len(self._times)}/{self.intensity} in {self.period_s:g} s>"

    def used(self, now_s: float) -> int:
        """Return the restarts within the window that ends now."""
        while self._times and self._times[0] <= now_s - self.period_s:
            del self._times[0]
        return len(self._times)

    def spend(self, now_s: float) -> bool:
        """Count a restart; False, and nothing counted, when there are too many already."""
        if self.used(now_s) >= self.intensity:
            return False
        self._times.append(now_s)
        return True


def plan_exit(
    child: str,
    state: State,
    *,
    was_asked: bool,
    strategy: Strategy,
    specs: Mapping[str, ChildSpec],
    budget: RestartBudget,
    backoff: Backoff,
    now_s: float,
    chance: float,
    depends_on: DependsOn = NO_DEPENDENCIES,
) -> list[Step]:
    """Return what to do about a child that ended, in the order in which it has to happen.

    `specs` are those of all children, in start order; `depends_on` names those that a child builds on.
    """
    if was_asked or state not in COMES_BACK[specs[child].restart]:
        return [ForgetChild(child)]
    before = budget.used(now_s)
    if not budget.spend(now_s):
        return [GiveUp(child, before)]
    delay_s = backoff.delay_s(before, chance)
    scope = restart_scope(strategy, list(specs), child, depends_on)
    stops: list[Step] = [StopChild(one) for one in reversed(scope) if one != child]
    return [*stops, *_starts(scope, child, specs, delay_s)]


def plan_restart(
    child: str, *, strategy: Strategy, specs: Mapping[str, ChildSpec], depends_on: DependsOn = NO_DEPENDENCIES
) -> list[Step]:
    """Return what to do about a child that runs and that somebody wants restarted, together with whom it takes along."""
    scope = restart_scope(strategy, list(specs), child, depends_on)
    return [*(StopChild(one) for one in reversed(scope)), *_starts(scope, child, specs, 0.0)]


def _starts(scope: Sequence[str], child: str, specs: Mapping[str, ChildSpec], delay_s: float) -> list[Step]:
    """Return the starts of a batch: each comes when the one before it is ready, so only the first has to wait."""
    starts = [one for one in scope if one == child or specs[one].restart is not Restart.TEMPORARY]
    return [StartChild(one, delay_s if one == starts[0] else 0.0) for one in starts]


def stopped_to_start(steps: Sequence[Step]) -> list[str]:
    """Return the children that a plan stops and starts again: their ends mean nothing."""
    starts = {one.child for one in steps if isinstance(one, StartChild)}
    return [one.child for one in steps if isinstance(one, StopChild) and one.child in starts]


def restart_scope(
    strategy: Strategy, start_order: Sequence[str], child: str, depends_on: DependsOn = NO_DEPENDENCIES
) -> list[str]:
    """Return the children that are restarted together with `child`, in start order."""
    if strategy is Strategy.ONE_FOR_ALL:
        return list(start_order)
    first = start_order.index(child)
    if strategy is Strategy.REST_FOR_ONE:
        return list(start_order[first:])
    scope = {child: None}
    for one in start_order[first + 1 :]:  # whoever depends on a child was started after it
        if not scope.keys().isdisjoint(depends_on.get(one, ())):
            scope[one] = None
    return list(scope)


def ends_supervisor(ends_with: EndsWith, child: str, specs: Mapping[str, ChildSpec]) -> bool:
    """Whether a supervisor ends because a child has ended by itself for good; `specs` are those of all, this one included."""
    if ends_with is EndsWith.NONE or not specs[child].is_significant:
        return False
    return ends_with is EndsWith.ANY or not any(spec.is_significant for one, spec in specs.items() if one != child)


def stop_order(start_order: Sequence[str]) -> list[str]:
    """Return the order in which children are ended one by one."""
    return list(reversed(start_order))

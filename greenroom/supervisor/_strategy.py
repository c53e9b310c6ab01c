"""Restart strategies as pure plans, carried out by the supervisor.

Rule 1: a child whose end was requested is never restarted. Rule 2: children are stopped in reverse order of their start,
and started in order. Rule 3: the budget counts decisions to restart, not exits, and a batch counts once.
Rule 4: a temporary child is stopped together with its siblings, and never restarted. Rule 5: each child has at most one
pending plan; if that plan stops and restarts a child, the end of this child needs no further decision. Rule 6: before its
first step, a plan supersedes the pending plans of all children that it starts: a failure after the start gets a new
decision. Must not know: clock, Trio, actors; time comes in as a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias, final

import attrs

from greenroom.actors import State
from greenroom.core import frozen
from greenroom.supervisor._events import EndsWith, Strategy
from greenroom.supervisor._spec import Backoff, ChildSpec, Restart


@final
@frozen
class StopChild:
    """Stop a running child; it will be restarted, unless it is temporary."""

    child: str


@final
@frozen
class StartChild:
    """Start a child's next incarnation, after a delay in seconds."""

    child: str
    delay_s: float = 0.0


@final
@frozen
class ForgetChild:
    """Terminate a child permanently."""

    child: str


@final
@frozen
class GiveUp:
    """Fail after too many restarts; the supervisor above decides."""

    child: str
    restarts: int


Step: TypeAlias = StopChild | StartChild | ForgetChild | GiveUp

DependsOn: TypeAlias = Mapping[str, Sequence[str]]
"""Dependencies by child; children without any may be missing."""

COMES_BACK: Final[Mapping[Restart, frozenset[State]]] = {
    Restart.PERMANENT: frozenset({State.COMPLETED, State.FAILED, State.KILLED}),
    Restart.TRANSIENT: frozenset({State.FAILED}),
    Restart.TEMPORARY: frozenset(),
}
"""The end states after which a child is restarted, if nobody requested its end."""


@final
@attrs.define(eq=False, repr=False)
class RestartBudget:
    """Number of restarts within a sliding window; pure, because the time is passed in."""

    intensity: int
    period_s: float
    _times: list[float] = attrs.Factory(list)  # short; an empty deque is ten times as big

    def __repr__(self) -> str:
        return f"<RestartBudget {len(self._times)}/{self.intensity} in {self.period_s:g} s>"

    def used(self, now_s: float) -> int:
        """Return the restarts within the window that ends now."""
        while self._times and self._times[0] <= now_s - self.period_s:
            del self._times[0]
        return len(self._times)

    def spend(self, now_s: float) -> bool:
        """Count a restart; return False, without counting it, if the budget is exhausted."""
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
    depends_on: DependsOn = MappingProxyType({}),
) -> list[Step]:
    """Return the steps to take after a child has ended, in order.

    `specs` are those of all children, in start order; `depends_on` names the dependencies of a child.
    """
    if was_asked or state not in COMES_BACK[specs[child].restart]:
        return [ForgetChild(child)]
    before = budget.used(now_s)
    if not budget.spend(now_s):
        return [GiveUp(child, before)]
    delay_s = backoff.delay_s(before, chance)
    scope = restart_scope(strategy, list(specs), child, depends_on)
    stops: list[Step] = [StopChild(each) for each in reversed(scope) if each != child]
    return [*stops, *_starts(scope, child, specs, delay_s)]


def plan_restart(
    child: str, *, strategy: Strategy, specs: Mapping[str, ChildSpec], depends_on: DependsOn = MappingProxyType({})
) -> list[Step]:
    """Return the steps to restart a running child on request, together with the children tied to it."""
    scope = restart_scope(strategy, list(specs), child, depends_on)
    return [*(StopChild(each) for each in reversed(scope)), *_starts(scope, child, specs, 0.0)]


def _starts(scope: Sequence[str], child: str, specs: Mapping[str, ChildSpec], delay_s: float) -> list[Step]:
    """Return the starts of a batch: each follows when the previous one is ready, so only the first one has a delay."""
    starts = [each for each in scope if each == child or specs[each].restart is not Restart.TEMPORARY]
    return [StartChild(each, delay_s if each == starts[0] else 0.0) for each in starts]


def stopped_to_start(steps: Sequence[Step]) -> list[str]:
    """Return the children that a plan stops and restarts: their ends need no decision."""
    starts = {step.child for step in steps if isinstance(step, StartChild)}
    return [step.child for step in steps if isinstance(step, StopChild) and step.child in starts]


def restart_scope(
    strategy: Strategy, start_order: Sequence[str], child: str, depends_on: DependsOn = MappingProxyType({})
) -> list[str]:
    """Return the children that are restarted together with `child`, in start order."""
    if strategy is Strategy.ONE_FOR_ALL:
        return list(start_order)
    first = start_order.index(child)
    if strategy is Strategy.REST_FOR_ONE:
        return list(start_order[first:])
    scope = {child: None}
    for later in start_order[first + 1 :]:  # a child is always started after its dependencies
        if not scope.keys().isdisjoint(depends_on.get(later, ())):
            scope[later] = None
    return list(scope)


def ends_supervisor(ends_with: EndsWith, child: str, specs: Mapping[str, ChildSpec]) -> bool:
    """True if a supervisor ends because `child` has ended on its own; `specs` are those of all children, including it."""
    if ends_with is EndsWith.NONE or not specs[child].is_significant:
        return False
    return ends_with is EndsWith.ANY or not any(spec.is_significant for each, spec in specs.items() if each != child)


# --- pending plans ------------------------------------------------------------------------------------------------------


@final
@frozen
class Batch:
    """A plan that involves several children."""

    steps: tuple[Step, ...]
    child: str = ""
    """The child that ended or is to be restarted; empty for the rest of a plan that has begun."""


@final
@attrs.define(eq=False, repr=False)
class Plans:
    """Pending plans, and the children that they stop and restart."""

    _waiting: dict[str, Batch] = attrs.Factory(dict)
    _being_stopped: Counter[str] = attrs.Factory(Counter)

    def __repr__(self) -> str:
        return f"<Plans: {len(self._waiting)} pending, {self._being_stopped.total()} ends expected>"

    def restarts(self, child: str) -> bool:
        """True if a pending plan restarts this child when it ends."""
        return child in self._being_stopped

    def add(self, batch: Batch) -> None:
        """Add a pending plan; it supersedes an earlier one of the same child."""
        self._supersede(batch.child)
        self._waiting[batch.child] = batch
        self._being_stopped.update(stopped_to_start(batch.steps))

    def begin(self, batch: Batch) -> bool:
        """Remove a plan from the pending ones; return False if it was superseded."""
        if not batch.child:
            return True
        if self._waiting.get(batch.child) is not batch:
            return False
        del self._waiting[batch.child]
        for step in batch.steps:
            if isinstance(step, StartChild):
                self._supersede(step.child)
        return True

    def note_stopped(self, child: str) -> None:
        """Record that the running plan has stopped `child`; other pending plans may include it, too."""
        self._being_stopped -= Counter((child,))

    def forget(self, child: str) -> None:
        """Forget a child that has terminated: no plan restarts it."""
        del self._being_stopped[child]

    def clear(self) -> None:
        """Discard all pending plans, because the supervisor ends."""
        self._waiting.clear()
        self._being_stopped.clear()

    def _supersede(self, child: str) -> None:
        superseded = self._waiting.pop(child, None)
        if superseded is not None:
            self._being_stopped -= Counter(stopped_to_start(superseded.steps))

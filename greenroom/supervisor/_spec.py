"""Specs of children and supervisors: frozen values, validated when they are created."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.actors import LifeSpec
from greenroom.core import UsageError
from greenroom.core.validation import as_tuple, as_word, checked, finite, not_negative, positive
from greenroom.supervisor._events import EndsWith, StopOrder, Strategy

GRACE_S: Final = 5.0
KILL_GRACE_S: Final = 2.0
START_TIMEOUT_S: Final = 30.0
STOP_BUDGET_S: Final = 30.0


class Restart(StrEnum):
    """Restart policy of a child that ended on its own. A child that was stopped or killed on request is not restarted."""

    PERMANENT = "permanent"
    """Always."""
    TRANSIENT = "transient"
    """After a failure."""
    TEMPORARY = "temporary"
    """Never."""


def _restart(value: Restart | str) -> Restart:
    return as_word(Restart, value)


def _strategy(value: Strategy | str) -> Strategy:
    return as_word(Strategy, value)


def _stop_order(value: StopOrder | str) -> StopOrder:
    return as_word(StopOrder, value)


def _ends_with(value: EndsWith | str) -> EndsWith:
    return as_word(EndsWith, value)


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class ChildSpec(LifeSpec):
    """Start, restart and stop options of a child."""

    restart: Restart = attrs.field(default=Restart.TRANSIENT, converter=_restart)
    grace_s: float = attrs.field(default=GRACE_S, validator=finite)
    """Seconds for its current turn to finish when it is stopped."""
    kill_grace_s: float = attrs.field(default=KILL_GRACE_S, validator=finite)
    """Seconds for its clean-up when it is killed."""
    start_timeout_s: float = attrs.field(default=START_TIMEOUT_S, validator=positive)
    """Seconds within which `on_start` has to return."""
    depends_on: tuple[str, ...] = attrs.field(default=(), converter=as_tuple)
    """Names of children of the same supervisor that it depends on; they must exist when it is started. When one of them is
    restarted, so is this child, whatever the strategy. The termination of a dependency has no effect."""
    is_significant: bool = attrs.field(default=False)
    """True if its own end may end its supervisor, see `SupervisorSpec.ends_with`. Its own end is one that nobody else
    requested, and after which it is not restarted."""
    as_id: str | None = attrs.field(default=None)
    """The id of an actor of an earlier process that this one continues; None for a new id. No living actor may have it."""

    @is_significant.validator
    def _may_end(self, _: object, value: bool) -> None:  # noqa: FBT001 - attrs calls it so
        if value and self.restart is Restart.PERMANENT:
            raise UsageError(
                "is_significant must be False for a permanent child, which is always restarted after its own end; "
                "make it transient or temporary"
            )


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Backoff:
    """Delay before a restart: doubled with each restart in the window, with jitter, capped."""

    first_s: float = attrs.field(default=0.1, validator=not_negative)
    """0 restarts immediately."""
    cap_s: float = attrs.field(default=30.0, validator=not_negative)
    jitter: float = attrs.field(default=0.2, validator=not_negative)
    """Maximum random addition, as a fraction of the delay."""

    def delay_s(self, restarts_before: int, chance: float) -> float:
        """Return the seconds to wait before the next restart.

        Args:
            restarts_before: Number of restarts in the window so far.
            chance: A random number in [0, 1).
        """
        doubled = 2.0 ** min(restarts_before, 64)  # more would overflow, and is far above any cap
        return min(self.cap_s, self.first_s * doubled * (1.0 + self.jitter * chance))


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class SupervisorSpec:
    """Restart and stop options of a supervisor."""

    strategy: Strategy = attrs.field(default=Strategy.ONE_FOR_ONE, converter=_strategy)
    intensity: int = attrs.field(default=3, validator=not_negative)
    """Maximum number of restarts within `period_s`; one more makes the supervisor fail."""
    period_s: float = attrs.field(default=60.0, validator=positive)
    backoff: Backoff = attrs.field(factory=Backoff)
    stop_order: StopOrder = attrs.field(default=StopOrder.REVERSE, converter=_stop_order)
    stop_budget_s: float = attrs.field(default=STOP_BUDGET_S, validator=finite)
    """Seconds for stopping all children in order; then the rest are killed together."""
    ends_with: EndsWith = attrs.field(default=EndsWith.NONE, converter=_ends_with)
    """The significant children whose end ends the supervisor: it stops the others in order and completes."""

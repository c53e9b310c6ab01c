"""What a supervisor is told about a child and about itself: frozen values, checked when they are made."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core import UsageError, as_tuple, as_word, checked, finite, not_negative, positive

GRACE_S: Final = 5.0
KILL_GRACE_S: Final = 2.0
START_TIMEOUT_S: Final = 30.0
STOP_BUDGET_S: Final = 30.0


class Restart(StrEnum):
    """When an actor that ended comes back. Whoever was asked to end does not."""

    PERMANENT = "permanent"
    """Always."""
    TRANSIENT = "transient"
    """After a failure."""
    TEMPORARY = "temporary"
    """Never."""


class Strategy(StrEnum):
    """Which children are restarted when one of them has to be."""

    ONE_FOR_ONE = "one_for_one"
    """That one."""
    ONE_FOR_ALL = "one_for_all"
    """All of them, stopped in reverse order and started in order."""
    REST_FOR_ONE = "rest_for_one"
    """That one and those started after it."""


class StopOrder(StrEnum):
    """How a supervisor ends its children."""

    REVERSE = "reverse"
    """One by one, the latest first: nothing outlives what it was started on top of."""
    TOGETHER = "together"
    """Side by side under one budget, for pools and teams: 1,000 deaf ones in a row would take hours."""


class EndsWith(StrEnum):
    """Whether a supervisor ends when children that are significant have ended by themselves (OTP's auto-shutdown)."""

    NONE = "none"
    """It goes on without them."""
    ANY = "any"
    """With the first one."""
    ALL = "all"
    """With the last one."""


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
class ChildSpec:
    """How one child is started, restarted and stopped."""

    restart: Restart = attrs.field(default=Restart.TRANSIENT, converter=_restart)
    grace_s: float = attrs.field(default=GRACE_S, validator=finite)
    """Seconds that its current turn gets to finish when it is stopped."""
    kill_grace_s: float = attrs.field(default=KILL_GRACE_S, validator=finite)
    """Seconds that its clean-up gets when it is killed."""
    start_timeout_s: float = attrs.field(default=START_TIMEOUT_S, validator=positive)
    """Seconds within which `on_start` has to return."""
    depends_on: tuple[str, ...] = attrs.field(default=(), converter=as_tuple)
    """Names of children of the same supervisor that it builds on; they have to be there when it is started. Whenever one of
    them is restarted, so is this one, whatever the strategy. That one of them is gone for good changes nothing here."""
    is_significant: bool = attrs.field(default=False)
    """Whether its end by itself may end its supervisor, as `SupervisorSpec.ends_with` says. An end by itself is one that
    nobody else asked for, after which it does not come back."""
    as_id: str | None = attrs.field(default=None)
    """The id of an actor of an earlier process, which this one goes on as; None for a new one. No living actor
    may have it."""

    @is_significant.validator
    def _may_end(self, _: object, value: bool) -> None:  # noqa: FBT001 - attrs calls it so
        if value and self.restart is Restart.PERMANENT:
            raise UsageError(
                "a permanent child always comes back from an end by itself, so it cannot be significant; "
                "make it transient or temporary"
            )


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Backoff:
    """How long a restart waits: doubled with each one in the window, spread by chance, capped."""

    first_s: float = attrs.field(default=0.1, validator=not_negative)
    """0 restarts in place, at once."""
    cap_s: float = attrs.field(default=30.0, validator=not_negative)
    jitter: float = attrs.field(default=0.2, validator=not_negative)
    """The largest share that is added by chance."""

    def delay_s(self, restarts_before: int, chance: float) -> float:
        """Return the seconds to wait before the next restart.

        Args:
            restarts_before: Restarts in the window so far.
            chance: A number in [0, 1).
        """
        doubled = 2.0 ** min(restarts_before, 64)  # more would overflow, and is far above any cap
        return min(self.cap_s, self.first_s * doubled * (1.0 + self.jitter * chance))


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class SupervisorSpec:
    """What a supervisor does when a child ends, and how it ends its children."""

    strategy: Strategy = attrs.field(default=Strategy.ONE_FOR_ONE, converter=_strategy)
    intensity: int = attrs.field(default=3, validator=not_negative)
    """Restarts within `period_s`; one more makes the supervisor give up."""
    period_s: float = attrs.field(default=60.0, validator=positive)
    backoff: Backoff = attrs.field(factory=Backoff)
    stop_order: StopOrder = attrs.field(default=StopOrder.REVERSE, converter=_stop_order)
    stop_budget_s: float = attrs.field(default=STOP_BUDGET_S, validator=finite)
    """Seconds for ending all children in order; then they are all killed together."""
    ends_with: EndsWith = attrs.field(default=EndsWith.NONE, converter=_ends_with)
    """Which ends of significant children end the supervisor: it stops the others in order and has completed."""

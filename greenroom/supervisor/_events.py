"""Events of supervisors."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Final, final

from greenroom.core import Event, OneOf, frozen


class Strategy(StrEnum):
    """The children that are restarted together with a failed one."""

    ONE_FOR_ONE = "one_for_one"
    """Only the failed child."""
    ONE_FOR_ALL = "one_for_all"
    """All of them, stopped in reverse order and started in order."""
    REST_FOR_ONE = "rest_for_one"
    """The failed child and those started after it."""


class StopOrder(StrEnum):
    """Order in which a supervisor stops its children."""

    REVERSE = "reverse"
    """One by one, the latest first: nothing outlives what it was started on top of."""
    TOGETHER = "together"
    """All at once under one budget, for pools and teams: 1,000 unresponsive children, one by one, would take hours. Permanent
    children come after the others, which use them until their last turn has ended."""


class EndsWith(StrEnum):
    """Automatic shutdown of a supervisor when its significant children have ended on their own (as in OTP)."""

    NONE = "none"
    """No automatic shutdown."""
    ANY = "any"
    """When the first one has ended."""
    ALL = "all"
    """When the last one has ended."""


@frozen(kw_only=True)
class _ChildEvent(Event):
    child: str
    """Id of the child that was started, or whose end led to the event."""


@final
@frozen(kw_only=True)
class SupervisorOpened(Event):
    """A supervisor is open for children; the event has its spec, so that checks can verify its decisions."""

    kind: ClassVar[str] = "supervisor.opened"

    strategy: Annotated[str, OneOf(*Strategy)]
    """The children restarted together with a failed one: `one_for_one`, `one_for_all` or `rest_for_one`."""
    intensity: int
    """Maximum number of restarts within the window."""
    period_s: float
    """Length of the window, in seconds."""
    stop_order: Annotated[str, OneOf(*StopOrder)]
    """The order in which it stops its children: `reverse` (of their start) or `together`."""
    stop_budget_s: float
    """Seconds for stopping them in order; after that, all are killed together."""
    ends_with: Annotated[str, OneOf(*EndsWith)]
    """The significant children whose end ends the supervisor: `none`, `any` or `all`."""


@final
@frozen(kw_only=True)
class ChildRestarted(_ChildEvent):
    """A supervisor decided to restart children; the actor of the event is the supervisor."""

    kind: ClassVar[str] = "child.restarted"

    together: tuple[str, ...]
    """Ids of all children that are restarted, in order."""
    delay_s: float
    """Seconds of back-off before the first of them starts."""
    restarts: int
    """Number of restarts in the window, this one included if it counts."""
    is_requested: bool = False
    """True if the restart was requested; then it does not count."""


@final
@frozen(kw_only=True)
class DependencyDeclared(_ChildEvent):
    """A newly started child depends on others; the actor of the event is the supervisor."""

    kind: ClassVar[str] = "dependency.declared"

    on: tuple[str, ...]
    """Ids of its dependencies."""


@final
@frozen(kw_only=True)
class SupervisorEscalated(_ChildEvent):
    """A supervisor failed: too many restarts, or a supervisor below it failed."""

    kind: ClassVar[str] = "supervisor.escalated"

    restarts: int
    """Maximum number of restarts within the window."""


@final
@frozen(kw_only=True)
class SupervisorFinished(_ChildEvent):
    """A supervisor stops because its significant children have ended on their own."""

    kind: ClassVar[str] = "supervisor.finished"


EVENTS: Final = (SupervisorOpened, DependencyDeclared, ChildRestarted, SupervisorEscalated, SupervisorFinished)

"""What supervisors put on record beside the machines of their children."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, final

import attrs

from greenroom.actors import Cell
from greenroom.core import Event, OneOf, Recorder
from greenroom.supervisor._spec import EndsWith, StopOrder, Strategy, SupervisorSpec


@final
@attrs.frozen(kw_only=True)
class SupervisorOpened(Event):
    """A supervisor can take children; it says what it was told, so that a reader can hold it to that."""

    kind: ClassVar[str] = "supervisor.opened"

    strategy: Annotated[str, OneOf(*Strategy)]
    """Who is restarted with a child: `one_for_one`, `one_for_all` or `rest_for_one`."""
    intensity: int
    """Restarts that it may decide within its window."""
    period_s: float
    """Length of the window, in seconds."""
    stop_order: Annotated[str, OneOf(*StopOrder)]
    """How it ends its children: `reverse` (of their start) or `together`."""
    stop_budget_s: float
    """Seconds for ending them in order; after that all are killed together."""
    ends_with: Annotated[str, OneOf(*EndsWith)]
    """Whether it ends when significant children have: `none`, `any` or `all`."""


@final
@attrs.frozen(kw_only=True)
class ChildRestarted(Event):
    """A supervisor decided to restart children; the actor of the event is the supervisor."""

    kind: ClassVar[str] = "child.restarted"

    child: str
    """The one that ended."""
    together: tuple[str, ...]
    """All that are started again, in order."""
    delay_s: float
    """Seconds of back-off before the first of them starts."""
    restarts: int
    """Restarts in the window, this one included if it counts."""
    is_requested: bool = False
    """Whether somebody asked for it; then it does not count."""


@final
@attrs.frozen(kw_only=True)
class DependencyDeclared(Event):
    """A child that was just started builds on others; the actor of the event is the supervisor."""

    kind: ClassVar[str] = "dependency.declared"

    child: str
    """Id of the child."""
    on: tuple[str, ...]
    """Ids of those that it builds on."""


@final
@attrs.frozen(kw_only=True)
class SupervisorEscalated(Event):
    """A supervisor gave up: too many restarts, or a supervisor below it did."""

    kind: ClassVar[str] = "supervisor.escalated"

    child: str
    """Id of the child whose end was one too many."""
    restarts: int
    """As many as it may decide within its window."""


@final
@attrs.frozen(kw_only=True)
class SupervisorFinished(Event):
    """A supervisor stops, because significant children have ended by themselves."""

    kind: ClassVar[str] = "supervisor.finished"

    child: str
    """The one whose end was the last that it took."""


EVENTS: Final = (SupervisorOpened, DependencyDeclared, ChildRestarted, SupervisorEscalated, SupervisorFinished)


def record_opened(recorder: Recorder, cell: Cell[Any], spec: SupervisorSpec) -> None:
    """Record that a supervisor can take children."""
    recorder.emit(
        SupervisorOpened(
            actor=cell.id,
            inc=cell.incarnation,
            parent=cell.seq,
            strategy=spec.strategy.value,
            intensity=spec.intensity,
            period_s=spec.period_s,
            stop_order=spec.stop_order.value,
            stop_budget_s=spec.stop_budget_s,
            ends_with=spec.ends_with.value,
        )
    )

"""What supervisors decided, folded from their events."""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.supervisor import ChildRestarted, SupervisorEscalated, SupervisorFinished


@final
@attrs.frozen(kw_only=True)
class SupervisorView:
    """The decisions of one supervisor. Which children it has is said by each of them."""

    restarts: int = 0
    """Decisions to restart; a batch counts once."""
    in_window: int = 0
    """Of those, the ones within its window at the last decision."""
    last_child: str = ""
    """Id of the child that the last decision was about."""
    gave_up_on: str = ""
    """Id of the child that it gave up on, if it did."""


def restarted(before: SupervisorView | None, event: ChildRestarted) -> SupervisorView:
    """Count a decision to restart."""
    view = before or SupervisorView()
    return attrs.evolve(view, restarts=view.restarts + 1, in_window=event.restarts, last_child=event.child)


def escalated(before: SupervisorView | None, event: SupervisorEscalated) -> SupervisorView:
    """Note that a supervisor gave up."""
    view = before or SupervisorView()
    return attrs.evolve(view, in_window=event.restarts, last_child=event.child, gave_up_on=event.child)


def finished(before: SupervisorView | None, event: SupervisorFinished) -> SupervisorView:
    """Note that a supervisor ends with a significant child."""
    return attrs.evolve(before or SupervisorView(), last_child=event.child)


FOLDS: Final = (
    ("supervisors", ChildRestarted, "actor", restarted),
    ("supervisors", SupervisorEscalated, "actor", escalated),
    ("supervisors", SupervisorFinished, "actor", finished),
)

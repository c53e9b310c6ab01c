"""Decisions of supervisors, folded from their events, and the table of all folds of the kernel."""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.supervisor import ChildRestarted, SupervisorEscalated, SupervisorFinished
from greenroom.views import _actors, _mailboxes


@final
@attrs.frozen(kw_only=True)
class SupervisorView:
    """The decisions of one supervisor; each child's own view names its supervisor."""

    restarts: int = 0
    """Decisions to restart; a batch counts once."""
    in_window: int = 0
    """Decisions within the window at the last decision."""
    last_child: str = ""
    """Id of the child of the last decision."""
    gave_up_on: str = ""
    """Id of the child that made it give up, if it did."""


def restarted(before: SupervisorView | None, event: ChildRestarted) -> SupervisorView:
    """Count a decision to restart."""
    view = before or SupervisorView()
    return attrs.evolve(view, restarts=view.restarts + 1, in_window=event.restarts, last_child=event.child)


def escalated(before: SupervisorView | None, event: SupervisorEscalated) -> SupervisorView:
    """Record that a supervisor gave up."""
    view = before or SupervisorView()
    return attrs.evolve(view, in_window=event.restarts, last_child=event.child, gave_up_on=event.child)


def finished(before: SupervisorView | None, event: SupervisorFinished) -> SupervisorView:
    """Record that a supervisor ends with a significant child."""
    return attrs.evolve(before or SupervisorView(), last_child=event.child)


_FOLDS: Final = (
    ("supervisors", ChildRestarted, "actor", restarted),
    ("supervisors", SupervisorEscalated, "actor", escalated),
    ("supervisors", SupervisorFinished, "actor", finished),
)

FOLDS: Final = (*_mailboxes.FOLDS, *_actors.FOLDS, *_FOLDS)
"""All folds of the kernel: `(section, event class, key field, function)`, as `greenroom.trace` reads them."""

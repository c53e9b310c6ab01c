"""What patterns put on record."""

from __future__ import annotations

from typing import ClassVar, Final, final

import attrs

from greenroom.core import Event


@final
@attrs.frozen(kw_only=True)
class StepBlocked(Event):
    """One step of the event loop took too long: everybody else stood still. It is about the run, so `actor` is empty."""

    kind: ClassVar[str] = "step.blocked"

    who: str
    """Id of the actor whose code it was; empty for a task of the host or of the runtime."""
    task: str
    """Name of the Trio task."""
    seconds: float
    where: str
    """`file:line function` of the frame that it was stuck in; empty if it was over before anybody looked."""


EVENTS: Final = (StepBlocked,)
FOLDS: Final = ()

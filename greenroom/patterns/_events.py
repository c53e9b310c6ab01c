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
    """How long the step took."""
    where: str
    """`file:line function` of the frame that it was stuck in; empty if it was over before anybody looked."""


@final
@attrs.frozen(kw_only=True)
class ShutdownBegan(Event):
    """Somebody asked for the end of everything. It is about the run, so `actor` is empty; so are the next two."""

    kind: ClassVar[str] = "shutdown.begin"

    reason: str
    """Why, in the words of whoever asked, such as `SIGTERM`."""


@final
@attrs.frozen(kw_only=True)
class PhaseEnded(Event):
    """A phase of a shutdown is over."""

    kind: ClassVar[str] = "phase.ended"

    phase: str
    """Its name, such as `drain`."""
    seconds: float
    """How long it took."""
    cut: tuple[str, ...]
    """Names of the steps that its budget cut short."""
    failed: tuple[str, ...]
    """Of the steps that raised: the name, and what it was."""


@final
@attrs.frozen(kw_only=True)
class ShutdownEnded(Event):
    """A shutdown is over."""

    kind: ClassVar[str] = "shutdown.end"

    is_clean: bool
    """Whether every step ran to its end."""


EVENTS: Final = (StepBlocked, ShutdownBegan, PhaseEnded, ShutdownEnded)
FOLDS: Final = ()

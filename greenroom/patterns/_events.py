"""Events of the patterns."""

from __future__ import annotations

from typing import ClassVar, Final, final

from greenroom.core import Event, frozen


@final
@frozen(kw_only=True)
class StepBlocked(Event):
    """One step of the event loop took too long and blocked all other tasks. It is about the run, so `actor` is empty."""

    kind: ClassVar[str] = "step.blocked"

    who: str
    """Id of the actor whose code it was; empty for a task of the host or of the runtime."""
    task: str
    """Name of the Trio task."""
    seconds: float
    """Duration of the step."""
    where: str
    """`file:line function` of the blocking frame; empty if the step ended before anybody looked."""


@final
@frozen(kw_only=True)
class ShutdownBegan(Event):
    """A coordinated shutdown was requested. It is about the run, so `actor` is empty; so are the next two."""

    kind: ClassVar[str] = "shutdown.begin"

    reason: str
    """The reason given, such as `SIGTERM`."""


@final
@frozen(kw_only=True)
class PhaseEnded(Event):
    """A phase of a shutdown is over."""

    kind: ClassVar[str] = "phase.ended"

    phase: str
    """Name of the phase, such as `drain`."""
    seconds: float
    """Duration of the phase."""
    cut: tuple[str, ...]
    """Names of the steps that the budget cut short."""
    failed: tuple[str, ...]
    """Names and errors of the steps that raised."""


@final
@frozen(kw_only=True)
class ShutdownEnded(Event):
    """A shutdown is over."""

    kind: ClassVar[str] = "shutdown.end"

    is_clean: bool
    """True if every step ran to its end."""


EVENTS: Final = (StepBlocked, ShutdownBegan, PhaseEnded, ShutdownEnded)

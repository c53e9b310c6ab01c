"""Events of shutdown requests, and of plans that await the lead's approval."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

from greenroom.core import Event, OneOf, frozen
from greenroom.permissions import Mode


@frozen(kw_only=True)
class RequestEvent(Event):
    """A fact about a request between a lead and a teammate."""

    team: str
    """Name of the team."""
    request: str
    """Id of the request."""


@final
@frozen(kw_only=True)
class ShutdownAsked(RequestEvent):
    """A teammate was asked to end."""

    kind: ClassVar[str] = "shutdown.asked"

    to: str
    """Name of the teammate."""
    reason: str
    """The reason given."""


@final
@frozen(kw_only=True)
class ShutdownAnswered(RequestEvent):
    """A teammate has answered; one that has approved has not ended yet."""

    kind: ClassVar[str] = "shutdown.answered"

    by: str
    """Name of the teammate."""
    is_approved: bool
    """True if it agrees to end."""
    reason: str
    """Reason for a refusal."""


@final
@frozen(kw_only=True)
class ShutdownSettled(RequestEvent):
    """A shutdown request has its outcome."""

    kind: ClassVar[str] = "shutdown.settled"

    to: str
    """Name of the teammate."""
    outcome: Annotated[str, OneOf("approved", "rejected", "forced", "ended", "withdrawn")]
    """`approved`, `rejected`, `forced`, `ended` or `withdrawn`."""
    reason: str
    """Reason for a refusal."""


@final
@frozen(kw_only=True)
class PlanSubmitted(RequestEvent):
    """A teammate has submitted a plan that awaits the lead's approval."""

    kind: ClassVar[str] = "plan.submitted"

    by: str
    """Name of the teammate."""
    path: str
    """The file of the run that holds it."""
    number: int = 0
    """Its number among the team's plans, from 1; 0 in older journals."""


@final
@frozen(kw_only=True)
class PlanAnswered(RequestEvent):
    """A plan was approved, or rejected."""

    kind: ClassVar[str] = "plan.answered"

    to: str
    """Name of the teammate."""
    is_approved: bool
    """True if it is carried out; else it is changed."""
    mode: Annotated[str, OneOf(*Mode)]
    """The teammate's new permission mode."""
    feedback: str
    """The lead's feedback."""


EVENTS: Final = (ShutdownAsked, ShutdownAnswered, ShutdownSettled, PlanSubmitted, PlanAnswered)

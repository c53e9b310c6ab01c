"""What teams put on record of requests to end, and of plans that wait for the lead's word."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

import attrs

from greenroom.core import Event, OneOf
from greenroom.permissions import Mode


@attrs.frozen(kw_only=True)
class RequestEvent(Event):
    """A fact about a request between a lead and a mate."""

    team: str
    """Name of the team."""
    request: str
    """Id of the request."""


@final
@attrs.frozen(kw_only=True)
class ShutdownAsked(RequestEvent):
    """A mate was asked to end."""

    kind: ClassVar[str] = "shutdown.asked"

    to: str
    """Name of the mate."""
    reason: str
    """Why it is asked."""


@final
@attrs.frozen(kw_only=True)
class ShutdownAnswered(RequestEvent):
    """A mate has answered; one that has approved has not ended yet."""

    kind: ClassVar[str] = "shutdown.answered"

    by: str
    """Name of the mate."""
    is_approved: bool
    """Whether it agrees to end."""
    reason: str
    """Why it goes on."""


@final
@attrs.frozen(kw_only=True)
class ShutdownSettled(RequestEvent):
    """A request to end has come to its outcome."""

    kind: ClassVar[str] = "shutdown.settled"

    to: str
    """Name of the mate."""
    outcome: Annotated[str, OneOf("approved", "rejected", "forced", "ended", "withdrawn")]
    """`approved`, `rejected`, `forced`, `ended` or `withdrawn`."""
    reason: str
    """Why the mate goes on, if it does."""


@final
@attrs.frozen(kw_only=True)
class PlanSubmitted(RequestEvent):
    """A mate has handed in a plan, and waits for the lead's word."""

    kind: ClassVar[str] = "plan.submitted"

    by: str
    """Name of the mate."""
    path: str
    """The file of the run that holds it."""
    number: int = 0
    """Of the team's plans, from 1; 0 in older journals."""


@final
@attrs.frozen(kw_only=True)
class PlanAnswered(RequestEvent):
    """A plan was approved, or has to be changed."""

    kind: ClassVar[str] = "plan.answered"

    to: str
    """Name of the mate."""
    is_approved: bool
    """Whether it is carried out; else it is changed."""
    mode: Annotated[str, OneOf(*Mode)]
    """The permission mode that the mate goes on in."""
    feedback: str
    """What the lead says of it."""


EVENTS: Final = (ShutdownAsked, ShutdownAnswered, ShutdownSettled, PlanSubmitted, PlanAnswered)

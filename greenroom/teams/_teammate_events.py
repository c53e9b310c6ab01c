"""Events of teams and teammates: opened, joined, idle, ended; and the state folded from them; also the tables
of all events and folds of teams.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

import attrs

from greenroom.actors import EndState
from greenroom.core import Event, OneOf, frozen
from greenroom.teams import _board_items, _exchange, _item_events, _mail_events, _request_events
from greenroom.teams._idle_reasons import IdleReason
from greenroom.teams._item_events import ItemClaimed
from greenroom.teams._request_events import PlanAnswered, PlanSubmitted


@final
@frozen(kw_only=True)
class TeamOpened(Event):
    """A session has a team; the actor of the event is its board."""

    kind: ClassVar[str] = "team.opened"

    team: str
    """Its name."""
    description: str = ""
    """Its purpose."""
    is_of_program: bool = True
    """True if the program opened it, and not the lead's model or the session itself."""


@final
@frozen(kw_only=True)
class TeamClosed(Event):
    """A team's members were ended; its record stays. The event has no actor: those of the team have terminated."""

    kind: ClassVar[str] = "team.closed"

    team: str
    """Its name."""
    is_deleted: bool = False
    """True if nothing of it comes back under this name."""


@frozen(kw_only=True)
class TeammateEvent(Event):
    """A fact about a teammate, whose actor is the event's."""

    team: str
    """Name of its team."""
    name: str
    """Its permanent name in that team."""


@final
@frozen(kw_only=True)
class TeammateJoined(TeammateEvent):
    """A teammate joined a team."""

    kind: ClassVar[str] = "mate.joined"

    agent: str
    """The agent's id, which names its transcript."""
    color: str
    """For people."""
    definition: str
    """Name of the definition."""
    model: str
    """Exact name of its model; empty for the session's."""
    is_plan_required: bool = False
    """True if it must plan first, and works only when the lead has approved the plan."""
    restart: str = ""
    """Restart policy of its actor."""


@final
@frozen(kw_only=True)
class TeammateWoke(TeammateEvent):
    """An idle teammate has work."""

    kind: ClassVar[str] = "mate.woke"


@final
@frozen(kw_only=True)
class TeammateIdled(TeammateEvent):
    """A working teammate became idle."""

    kind: ClassVar[str] = "mate.idle"

    reason: Annotated[str, OneOf(*IdleReason)]
    """`available`, `interrupted` or `failed`."""
    item: str = ""
    """The item of its last turn; empty for none."""
    failure: str = ""
    """The error that ended its turn, if it failed."""


@final
@frozen(kw_only=True)
class TeammateParked(TeammateEvent):
    """A teammate's actor ended with its team; it comes back when that is opened again."""

    kind: ClassVar[str] = "mate.parked"


@final
@frozen(kw_only=True)
class TeammateLeft(TeammateEvent):
    """A teammate ended; its name is not reused."""

    kind: ClassVar[str] = "mate.left"

    state: EndState
    """Final state of its actor."""
    why: str
    """The requester and reason, or the error."""


ENDED: Final = "ended"
_EVENTS: Final = (TeamOpened, TeamClosed, TeammateJoined, TeammateWoke, TeammateIdled, TeammateParked, TeammateLeft)


# --- folds ----------------------------------------------------------------------------------------------------------


@final
@frozen(kw_only=True)
class TeammateView:
    """Recorded state of a teammate."""

    team: str
    name: str
    actor: str
    agent: str
    color: str
    definition: str
    model: str
    is_plan_required: bool
    restart: str
    status: str
    """`working`, `idle`, `parked` or `ended`."""
    reason: str = ""
    """Why it is idle, or how it ended."""
    run: int = 1
    """Number of times it has joined: once, and once more each time its team was opened again."""
    plan: str = ""
    """Id of its plan that awaits approval; empty for none."""
    plan_file: str = ""
    """The file of the run that holds that plan."""
    plans: int = 0
    """The highest number of its plans."""
    mode: str = ""
    """The permission mode of its approved plan; empty for its lead's."""
    has_work: bool = False
    """True if it was given work since it was last idle; it resumes its items when it is back."""

    @property
    def has_ended(self) -> bool:
        """True if it has ended permanently."""
        return self.status == ENDED


def joined(before: TeammateView | None, event: TeammateJoined) -> TeammateView:
    """Return a teammate that has just joined, or came back when its team was opened again."""
    new = TeammateView(
        team=event.team,
        name=event.name,
        actor=event.actor,
        agent=event.agent,
        color=event.color,
        definition=event.definition,
        model=event.model,
        is_plan_required=event.is_plan_required,
        restart=event.restart,
        status="idle",
    )
    if before is None:
        return new
    return attrs.evolve(
        new,
        run=before.run + 1,
        plan=before.plan,
        plan_file=before.plan_file,
        plans=before.plans,
        mode=before.mode,
        has_work=before.has_work,
    )


def changed(before: TeammateView | None, event: Event) -> TeammateView | None:
    """Return a teammate after an event; None if it does not exist."""
    if before is None:
        return None
    match event:
        case TeammateWoke():
            return attrs.evolve(before, status="working", reason="", has_work=True)
        case ItemClaimed():
            return attrs.evolve(before, has_work=True)
        case TeammateIdled(reason=reason):
            return attrs.evolve(before, status="idle", reason=reason, has_work=False)
        case TeammateParked():
            return attrs.evolve(before, status="parked", reason="")
        case TeammateLeft(state=state):
            return attrs.evolve(before, status=ENDED, reason=state)
        case PlanSubmitted(request=request, path=path, number=number):
            return attrs.evolve(before, plan=request, plan_file=path, plans=max(before.plans, number))
        case PlanAnswered(is_approved=is_approved, mode=mode):
            answered = attrs.evolve(before, plan="", plan_file="")
            return attrs.evolve(answered, is_plan_required=False, mode=mode) if is_approved else answered
        case _:
            return before


@final
@frozen(kw_only=True)
class TeamView:
    """Recorded state of a team."""

    team: str
    description: str = ""
    is_open: bool = True
    """True until it is closed; the end of its process does not close it."""
    is_of_program: bool = True
    is_deleted: bool = False


def opened(_: TeamView | None, event: TeamOpened) -> TeamView:
    """Return a team that has just been opened, or opened again."""
    return TeamView(team=event.team, description=event.description, is_of_program=event.is_of_program)


def closed(before: TeamView | None, event: TeamClosed) -> TeamView | None:
    """Return a closed team."""
    return None if before is None else attrs.evolve(before, is_open=False, is_deleted=event.is_deleted)


_FOLDS: Final = (
    ("mates", TeammateJoined, ("team", "name"), joined),
    ("mates", TeammateWoke, ("team", "name"), changed),
    ("mates", TeammateIdled, ("team", "name"), changed),
    ("mates", TeammateParked, ("team", "name"), changed),
    ("mates", TeammateLeft, ("team", "name"), changed),
    ("mates", ItemClaimed, ("team", "owner"), changed),
    ("mates", PlanSubmitted, ("team", "by"), changed),
    ("mates", PlanAnswered, ("team", "to"), changed),
    ("teams", TeamOpened, ("team",), opened),
    ("teams", TeamClosed, ("team",), closed),
)

EVENTS: Final = (*_item_events.EVENTS, *_EVENTS, *_mail_events.EVENTS, _exchange.MailHeld, *_request_events.EVENTS)
"""All events of teams."""
FOLDS: Final = (*_board_items.FOLDS, *_FOLDS, *_mail_events.FOLDS)
"""All folds of teams: `(section, event class, key fields, function)`, as `greenroom.trace` reads them."""

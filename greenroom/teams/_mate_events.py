"""What teammates put on record: that they joined, when they have nothing to do, and that they are there no more."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, final

import attrs

from greenroom.actors import EndState
from greenroom.core import Event, OneOf
from greenroom.teams._events import ItemClaimed
from greenroom.teams._protocol import IdleReason
from greenroom.teams._request_events import PlanAnswered, PlanSubmitted


@final
@attrs.frozen(kw_only=True)
class TeamOpened(Event):
    """A session has a team; the actor of the event is its board."""

    kind: ClassVar[str] = "team.opened"

    team: str
    """Its name."""
    description: str = ""
    """What it is for."""
    is_of_program: bool = True
    """Whether the program opened it, and not the lead's model or the session itself."""


@final
@attrs.frozen(kw_only=True)
class TeamClosed(Event):
    """A team's members were ended; what is known of it stays. The event is of no actor: those of the team are gone."""

    kind: ClassVar[str] = "team.closed"

    team: str
    """Its name."""
    is_deleted: bool = False
    """Whether nothing of it comes back under this name."""


@attrs.frozen(kw_only=True)
class MateEvent(Event):
    """A fact about a teammate, whose actor is the event's."""

    team: str
    """Name of its team."""
    name: str
    """Its own in that team, for good."""


@final
@attrs.frozen(kw_only=True)
class MateJoined(MateEvent):
    """A teammate belongs to a team."""

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
    """Whether it plans first, and works when the lead has approved of that."""
    restart: str = ""
    """When it comes back after its actor has ended."""


@final
@attrs.frozen(kw_only=True)
class MateWoke(MateEvent):
    """A teammate that had nothing to do works."""

    kind: ClassVar[str] = "mate.woke"


@final
@attrs.frozen(kw_only=True)
class MateIdled(MateEvent):
    """A teammate that worked has nothing to do."""

    kind: ClassVar[str] = "mate.idle"

    reason: Annotated[str, OneOf(*IdleReason)]
    """`available`, `interrupted` or `failed`."""
    item: str = ""
    """The item whose turn it was; empty for none."""
    failure: str = ""
    """What ended its turn, if it failed."""


@final
@attrs.frozen(kw_only=True)
class MateParked(MateEvent):
    """A teammate's actor has ended with its team; it comes back when that is opened again."""

    kind: ClassVar[str] = "mate.parked"


@final
@attrs.frozen(kw_only=True)
class MateLeft(MateEvent):
    """A teammate is there no more; nobody else gets its name."""

    kind: ClassVar[str] = "mate.left"

    state: EndState
    """How its actor ended."""
    why: str
    """Who asked for that and why, or the error."""


ENDED: Final = "ended"
EVENTS: Final = (TeamOpened, TeamClosed, MateJoined, MateWoke, MateIdled, MateParked, MateLeft)


# --- what these events add up to ----------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class MateView:
    """What is known of a teammate."""

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
    """How often it has joined: once, and once more each time its team was opened again."""
    plan: str = ""
    """Id of its plan that waits for the lead's word; empty for none."""
    plan_file: str = ""
    """The file of the run that holds that plan."""
    plans: int = 0
    """The highest number of a plan of its own."""
    mode: str = ""
    """The permission mode that its plan was approved into; empty for its lead's."""
    has_work: bool = False
    """Whether it has been given something since it was idle last; what of that is an item, it goes on with when it is back."""

    @property
    def has_ended(self) -> bool:
        """Whether it is there no more, and does not come back."""
        return self.status == ENDED


def joined(before: MateView | None, event: MateJoined) -> MateView:
    """Return a teammate that has just joined, or came back when its team was opened again."""
    new = MateView(
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


def changed(before: MateView | None, event: Event) -> MateView | None:
    """Return a teammate after an event; None for one that is not there."""
    if before is None:
        return None
    match event:
        case MateWoke():
            return attrs.evolve(before, status="working", reason="", has_work=True)
        case ItemClaimed():
            return attrs.evolve(before, has_work=True)
        case MateIdled(reason=reason):
            return attrs.evolve(before, status="idle", reason=reason, has_work=False)
        case MateParked():
            return attrs.evolve(before, status="parked", reason="")
        case MateLeft(state=state):
            return attrs.evolve(before, status=ENDED, reason=state)
        case PlanSubmitted(request=request, path=path, number=number):
            return attrs.evolve(before, plan=request, plan_file=path, plans=max(before.plans, number))
        case PlanAnswered(is_approved=is_approved, mode=mode):
            answered = attrs.evolve(before, plan="", plan_file="")
            return attrs.evolve(answered, is_plan_required=False, mode=mode) if is_approved else answered
        case _:
            return before


@final
@attrs.frozen(kw_only=True)
class TeamView:
    """What is known of a team."""

    team: str
    description: str = ""
    is_open: bool = True
    """Whether nobody has closed it; the end of its process is no closing."""
    is_of_program: bool = True
    is_deleted: bool = False


def opened(_: TeamView | None, event: TeamOpened) -> TeamView:
    """Return a team that has just been opened, or opened again."""
    return TeamView(team=event.team, description=event.description, is_of_program=event.is_of_program)


def closed(before: TeamView | None, event: TeamClosed) -> TeamView | None:
    """Return a team that was closed."""
    return None if before is None else attrs.evolve(before, is_open=False, is_deleted=event.is_deleted)


FOLDS: Final = (
    ("mates", MateJoined, ("team", "name"), joined),
    ("mates", MateWoke, ("team", "name"), changed),
    ("mates", MateIdled, ("team", "name"), changed),
    ("mates", MateParked, ("team", "name"), changed),
    ("mates", MateLeft, ("team", "name"), changed),
    ("mates", ItemClaimed, ("team", "owner"), changed),
    ("mates", PlanSubmitted, ("team", "by"), changed),
    ("mates", PlanAnswered, ("team", "to"), changed),
    ("teams", TeamOpened, ("team",), opened),
    ("teams", TeamClosed, ("team",), closed),
)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them."""

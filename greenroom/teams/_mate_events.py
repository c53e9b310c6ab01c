"""What teammates put on record: that they joined, when they have nothing to do, and that they are there no more."""

from __future__ import annotations

from typing import ClassVar, Final, final

import attrs

from greenroom.core import Event


@final
@attrs.frozen(kw_only=True)
class TeamOpened(Event):
    """A session has a team; the actor of the event is its board."""

    kind: ClassVar[str] = "team.opened"

    team: str
    """Its name."""
    description: str = ""
    """What it is for."""


@final
@attrs.frozen(kw_only=True)
class TeamClosed(Event):
    """A team's members were ended; what is known of it stays. The actor of the event is its board."""

    kind: ClassVar[str] = "team.closed"

    team: str
    """Its name."""


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

    reason: str
    """`available`, `interrupted` or `failed`."""
    item: str = ""
    """The item whose turn it was; empty for none."""
    failure: str = ""
    """What ended its turn, if it failed."""


@final
@attrs.frozen(kw_only=True)
class MateLeft(MateEvent):
    """A teammate is there no more; nobody else gets its name."""

    kind: ClassVar[str] = "mate.left"

    state: str
    """How its actor ended."""
    why: str
    """Who asked for that and why, or the error."""


EVENTS: Final = (TeamOpened, TeamClosed, MateJoined, MateWoke, MateIdled, MateLeft)


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
    """`working`, `idle` or `ended`."""
    reason: str = ""
    """Why it is idle, or how it ended."""


def joined(_: MateView | None, event: MateJoined) -> MateView:
    """Return a teammate that has just joined, or came back when its team was opened again."""
    return MateView(
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


def changed(before: MateView | None, event: MateEvent) -> MateView | None:
    """Return a teammate after an event; None for one that is not there."""
    if before is None:
        return None
    match event:
        case MateWoke():
            return attrs.evolve(before, status="working", reason="")
        case MateIdled(reason=reason):
            return attrs.evolve(before, status="idle", reason=reason)
        case MateLeft(state=state):
            return attrs.evolve(before, status="ended", reason=state)
        case _:
            return before


FOLDS: Final = (
    ("mates", MateJoined, ("team", "name"), joined),
    ("mates", MateWoke, ("team", "name"), changed),
    ("mates", MateIdled, ("team", "name"), changed),
    ("mates", MateLeft, ("team", "name"), changed),
)
"""`(section, event class, key fields, function)`, as `greenroom.trace` reads them."""

"""Who belongs to a team, and how its members reach the board and each other. Knows nothing of tools.

Rule 1: a member stands here as long as it lives; its name is nobody else's ever after. Rule 2: what belongs to a member for good,
across the restarts of its actor, is here and not in the actor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final, final

import attrs

from greenroom.actors import Ref
from greenroom.agents import AgentState
from greenroom.core import Event
from greenroom.hooks import StopGuard
from greenroom.supervisor import RestartBudget
from greenroom.teams._board import BoardHome
from greenroom.teams._lifecycle import Idling, MateStep, MemberStatus, step
from greenroom.teams._names import LEAD, free_name, member_id, plain_name

CRASHES: Final = 3
CRASHES_IN_S: Final = 60.0
"""So often a mate comes back after a crash within that time; with the next one it is ended."""


@final
@attrs.define(kw_only=True, eq=False, repr=False)
class Member:
    """A member of a team that has not ended: the lead, or a teammate."""

    name: str
    """Its own in this team for good."""
    id: str
    """`name@team`."""
    color: str
    """For people; empty for the lead."""
    home: AgentState
    ref: Ref[Any] = attrs.field(init=False)
    """There once its actor has started."""
    status: MemberStatus = MemberStatus.IDLE
    """Of a teammate; nobody keeps count of the lead."""
    is_at_rest: bool = True
    """Whether the record says that it has nothing to do; one that was asked to end may have, and counts as active all the same."""
    run: int = 1
    """How often it has joined: once, and once more each time its team was opened again."""
    item: str = ""
    """The item that it was handed and whose turn has not ended; empty for none."""
    idling: Idling | None = None
    """How its last turn ended, until the board has said whether there is something for it."""
    told: Idling | None = None
    """What the lead was told last of its having nothing to do."""
    was_asked: bool = False
    """Whether the lead, or a person, has said something to it since then."""
    was_active: bool = False
    """Whether it has called a tool since then."""
    said: list[str] = attrs.field(factory=list)
    """What it has told other mates since then, a summary each."""
    answered: int = 0
    """How many of its plans were answered; what waited for that waits no more when it changes."""
    guard: StopGuard = attrs.field(factory=StopGuard)
    """Counts how often hooks have kept it from being idle."""
    crashes: RestartBudget = attrs.field(factory=lambda: RestartBudget(CRASHES, CRASHES_IN_S))
    """How often it may still come back after a crash."""

    def __repr__(self) -> str:
        return f"<Member {self.id}: {self.status}>"

    @property
    def is_lead(self) -> bool:
        """Whether it leads the team."""
        return self.name == LEAD

    def take(self, event: MateStep) -> None:
        """Change its status.

        Raises:
            IllegalTransition: That cannot happen to it now.
        """
        self.status = step(self.status, event)


@final
@attrs.define(kw_only=True, eq=False, repr=False)
class Roster:
    """Who belongs to a team, and how its members reach the board and each other."""

    team: str
    """Its name."""
    board: Ref[Any]
    home: BoardHome
    emit: Callable[[Event], int]
    check_open: Callable[[], None]
    """Raises when nothing new may begin, because it could not be put on record."""
    wait_durable: Callable[[], Awaitable[None]]
    """Returns when everything recorded so far survives a crash of the process."""
    wall: Callable[[], datetime]
    """The date and time in UTC."""
    members: dict[str, Member] = attrs.field(factory=dict)
    """Those that have not ended, by name, the lead first."""
    joined: set[str] = attrs.field(factory=set)
    """Every name that a member ever had."""
    used: set[str] = attrs.field(factory=set)
    """The same, and those of members that are on their way."""

    def __repr__(self) -> str:
        return f"<Roster of {self.team!r}: {len(self.members)} members>"

    @property
    def lead(self) -> Member:
        """The lead."""
        return self.members[LEAD]

    @property
    def mates(self) -> tuple[Member, ...]:
        """The teammates that have not ended, in the order in which they joined."""
        return tuple(one for one in self.members.values() if not one.is_lead)

    @property
    def addresses(self) -> Mapping[str, Ref[Any]]:
        """Where members are reached, by name."""
        return {name: one.ref for name, one in self.members.items()}

    def find(self, to: str) -> Member | None:
        """Return the member that an address means: a name, `name@team`, or one of the lead's other names."""
        return self.members.get(plain_name(to, self.team))

    def has_ended(self, to: str) -> bool:
        """Whether an address means a member that is there no more."""
        name = plain_name(to, self.team)
        return name in self.joined and name not in self.members

    def reserve(self, wanted: str) -> str:
        """Return a name for somebody new, which nobody else gets from now on."""
        name = free_name(wanted, self.used)
        self.used.add(name)
        return name

    def join(self, member: Member) -> None:
        """Let somebody belong to the team."""
        self.used.add(member.name)
        self.joined.add(member.name)
        self.members[member.name] = member

    def leave(self, member: Member) -> None:
        """Let somebody belong to it no more."""
        if self.members.get(member.name) is member:
            del self.members[member.name]

    def id_of(self, name: str) -> str:
        """Return what a member of that name is called outside the team."""
        return member_id(name, self.team)

"""The members of a team, and how they reach the board and each other.

A member is listed as long as it lives; its name is never reused. State that outlives a restart of a member's actor is
kept here and not in the actor.
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
from greenroom.teams._member_names import LEAD, free_name, member_id, plain_name
from greenroom.teams._teammate_status import Idling, MemberStatus, TeammateStep, step

CRASHES: Final = 3
CRASHES_IN_S: Final = 60.0
"""Maximum number of crashes within that time; the next one ends the teammate."""


@final
@attrs.define(kw_only=True, eq=False, repr=False)
class Member:
    """A member of a team that has not ended: the lead, or a teammate."""

    name: str
    """Its permanent name in this team."""
    id: str
    """`name@team`."""
    color: str
    """For people; empty for the lead."""
    home: AgentState
    ref: Ref[Any] = attrs.field(init=False)
    """Set once its actor has started."""
    status: MemberStatus = MemberStatus.IDLE
    """Status of a teammate; the lead's is not tracked."""
    is_at_rest: bool = True
    """True if the record says that it is idle; one that was asked to end may be idle and counts as active all the same.
    """
    run: int = 1
    """Number of times it has joined: once, and once more each time its team was opened again."""
    item: str = ""
    """The item that it was handed and whose turn has not ended; empty for none."""
    idling: Idling | None = None
    """End of its last turn, until the board has said whether there is work for it."""
    told: Idling | None = None
    """The last idle notice to the lead."""
    was_asked: bool = False
    """True if the lead, or a person, has written to it since then."""
    was_active: bool = False
    """True if it has called a tool since then."""
    said: list[str] = attrs.field(factory=list)
    """Summaries of its messages to other teammates since then."""
    answered: int = 0
    """Number of its answered plans; messages that wait for an answer are released when it changes."""
    guard: StopGuard = attrs.field(factory=StopGuard)
    """Counts how often hooks have kept it from being idle."""
    crashes: RestartBudget = attrs.field(factory=lambda: RestartBudget(CRASHES, CRASHES_IN_S))
    """Its remaining restarts after crashes."""

    def __repr__(self) -> str:
        return f"<Member {self.id}: {self.status}>"

    @property
    def is_lead(self) -> bool:
        """True if it leads the team."""
        return self.name == LEAD

    def take(self, event: TeammateStep) -> None:
        """Change its status.

        Raises:
            IllegalTransition: The step is not allowed in its status.
        """
        self.status = step(self.status, event)


@final
@attrs.define(kw_only=True, eq=False, repr=False)
class Roster:
    """The members of a team, and how they reach the board and each other."""

    team: str
    """Its name."""
    board: Ref[Any]
    home: BoardHome
    emit: Callable[[Event], int]
    check_open: Callable[[], None]
    """Raises if nothing new may begin, because it could not be recorded."""
    wait_durable: Callable[[], Awaitable[None]]
    """Returns when everything recorded so far would survive a crash of the process."""
    wall: Callable[[], datetime]
    """The date and time in UTC."""
    members: dict[str, Member] = attrs.field(factory=dict)
    """Members that have not ended, by name, the lead first."""
    away: dict[str, Member] = attrs.field(factory=dict)
    """Teammates whose actors have ended with the team, by name: they come back with it, and read their mail then."""
    joined: set[str] = attrs.field(factory=set)
    """Every name that a member ever had."""
    used: set[str] = attrs.field(factory=set)
    """The same, and those of members that are being started."""

    def __repr__(self) -> str:
        return f"<Roster of {self.team!r}: {len(self.members)} members>"

    @property
    def lead(self) -> Member:
        """The lead."""
        return self.members[LEAD]

    @property
    def teammates(self) -> tuple[Member, ...]:
        """The teammates that have not ended, in the order in which they joined."""
        return tuple(member for member in self.members.values() if not member.is_lead)

    @property
    def addresses(self) -> Mapping[str, Ref[Any]]:
        """Refs of the members, by name."""
        return {name: member.ref for name, member in self.members.items()}

    def find(self, to: str) -> Member | None:
        """Return the member at an address: a name, `name@team`, or an alias of the lead."""
        name = plain_name(to, self.team)
        return self.members.get(name) or self.away.get(name)

    def has_ended(self, to: str) -> bool:
        """Return True if an address belongs to a member that has ended."""
        name = plain_name(to, self.team)
        return name in self.joined and name not in self.members and name not in self.away

    def reserve(self, wanted: str) -> str:
        """Return a name for a new member, which nobody else gets from now on."""
        name = free_name(wanted, self.used)
        self.used.add(name)
        return name

    def join(self, member: Member) -> None:
        """Add a member."""
        self.used.add(member.name)
        self.joined.add(member.name)
        self.away.pop(member.name, None)
        self.members[member.name] = member

    def leave(self, member: Member) -> None:
        """Remove a member."""
        if self.members.get(member.name) is member:
            del self.members[member.name]

    def id_of(self, name: str) -> str:
        """Return a member's name outside the team."""
        return member_id(name, self.team)

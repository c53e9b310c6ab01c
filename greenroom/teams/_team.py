"""A team: a board, a lead, which is a session's main agent, and teammates that work on the board's items."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, final

import attrs

from greenroom.actors import Down, Ref
from greenroom.agents import AgentDefinition, AgentState, agent_spec
from greenroom.core import Event
from greenroom.mailbox import Lane
from greenroom.supervisor import ChildSpec, Restart, Supervisor
from greenroom.teams._board import Board, BoardHome
from greenroom.teams._board_items import ItemStatus
from greenroom.teams._board_messages import GiveBack
from greenroom.teams._board_state import BoardState
from greenroom.teams._exchange import MAX_MESSAGES
from greenroom.teams._mail import TeamMail
from greenroom.teams._mail_events import Mail
from greenroom.teams._member_names import LEAD, check_name, color_of
from greenroom.teams._member_tools import member_tools
from greenroom.teams._notices import park, settle, tell_assignment, tell_end
from greenroom.teams._plan_requests import PlanRequest, PlanRequests
from greenroom.teams._record import TeamRecord
from greenroom.teams._roster import Member, Roster
from greenroom.teams._shutdown_requests import Shutdowns
from greenroom.teams._team_handles import BoardHandle, Teammate
from greenroom.teams._team_settings import SHUTDOWN_S, Conversations
from greenroom.teams._teammate import TeammateAgent
from greenroom.teams._teammate_events import TeammateJoined, TeammateView, TeamOpened
from greenroom.teams._teammate_status import TeammateStep
from greenroom.tools import Tool


@final
@attrs.frozen(kw_only=True)
class TeammateSpec:
    """Specification of a new teammate."""

    name: str
    team: str
    definition: AgentDefinition | str
    """A definition, or the name of one."""
    tools: tuple[Tool, ...] = ()
    """Its team tools."""
    model: str | None = None
    """An alias or an id; None: its definition's, else the lead's."""
    is_plan_required: bool = False
    """True if it must plan first, and works only when the lead has approved the plan."""
    former: TeammateView | None = None
    """Its record, if it comes back: it gets its id, its conversation and its model again."""


class TeammatePort(Protocol):
    """The port to the session that teammates are made of; implemented on the floor above."""

    async def make_teammate(self, wish: TeammateSpec) -> AgentState:
        """Return the state of a new teammate.

        Raises:
            UsageError: Its definition does not exist, or cannot be used.
        """
        ...

    async def write_plan(self, agent: str, number: int, plan: str) -> Path:
        """Write a plan of an agent into the run folder, and return the file.

        Raises:
            OSError: It cannot be written.
        """
        ...

    async def read_plan(self, name: str) -> tuple[Path, str]:
        """Return a plan's file in the run folder, and the plan; empty if it cannot be read."""
        ...

    def adopt(self, member: Member) -> None:
        """Register a started teammate."""
        ...

    def discard(self, member: Member, down: Down) -> None:
        """Release a teammate's resources, in the step in which it terminates: agents that it started end with it."""
        ...


@final
class Team:
    """A board and its teammates. Made by `session.open_team`."""

    def __init__(
        self,
        *,
        supervisor: Supervisor,
        roster: Roster,
        ground: TeammatePort,
        wall: Callable[[], datetime],
        record: TeamRecord | None,
        shutdown_s: float,
        messages_in_a_row: float,
    ) -> None:
        last = 0 if record is None else record.last_mail
        self.mail = TeamMail(roster, last=last, messages_in_a_row=messages_in_a_row)
        """The mail of the members."""
        self.shutdowns = Shutdowns(self.mail, supervisor, wall, deadline_s=shutdown_s)
        """The open shutdown requests."""
        plans = 0 if record is None else max((teammate.plans for teammate in record.teammates), default=0)
        self.plans = PlanRequests(self.mail, wall, ground.write_plan, last=plans)
        """The plans that await approval."""
        self.name = roster.team
        self.supervisor = supervisor
        self.board = BoardHandle(roster.home, roster.board)
        self.roster = roster
        self._ground = ground
        self._teammates: dict[str, Teammate] = {}
        self._joined = 0 if record is None else len(record.teammates)
        self._parked = {} if record is None else {teammate.name: teammate for teammate in record.parked}
        self._coming: set[str] = set()
        """Names of teammates that are being started."""
        self._unread = [] if record is None else list(record.mail)
        self._begun = () if record is None else record.begun

    def __repr__(self) -> str:
        return f"<Team {self.name!r}: {len(self._teammates)} teammates>"

    @property
    def teammates(self) -> Mapping[str, Teammate]:
        """The teammates that were spawned, by name."""
        return dict(self._teammates)

    def describe_teammates(self) -> str:
        """Return the living teammates, for a model that has lost sight of them; empty if there are none."""
        alive = [
            f"- {name}: {teammate.state.value}"
            for name, teammate in self._teammates.items()
            if not teammate.ref.is_gone
        ]
        if not alive:
            return ""
        return "\n".join([f"These teammates of the team {self.name} are there; do not spawn them again:", *alive])

    @property
    def has_work_to_hand_out(self) -> bool:
        """True if an item is waiting and a teammate exists that could take it, now or after a restart."""
        return self.board.has_claimable and any(not teammate.ref.is_gone for teammate in self._teammates.values())

    async def spawn(
        self,
        name: str,
        *,
        definition: AgentDefinition | str,
        prompt: str = "",
        model: str | None = None,
        plan_required: bool = False,
        restart: Restart | str = Restart.TRANSIENT,
    ) -> Teammate:
        """Start a teammate; without a prompt it waits for mail or for a claimable item.

        If a member ever had the name, a number is appended; `name` of the result is the actual one. The name of a
        `parked` teammate brings that one back with its state.

        Args:
            name: Its name in the team.
            definition: Its definition, or the name of one.
            prompt: Its first message; it does not know the lead's conversation.
            model: An alias or an id; by default its definition's, else the lead's.
            plan_required: True if it must plan first, and works only when the lead has approved the plan.
            restart: Restart policy of its actor, which keeps its conversation and its items.

        Raises:
            UsageError: The name is reserved or invalid; or the definition does not exist.
            JournalError: The spawn could not be recorded.
            Stopping: The team is closing.
        """
        spec = agent_spec(restart)
        former = self._parked.get(name) if name not in self._coming else None
        if former is None:
            check_name(name)
            name = self.roster.reserve(name)
        else:  # it keeps everything it had, and reads its unread mail
            model, plan_required = None, former.is_plan_required
        wish = TeammateSpec(
            name=name,
            team=self.name,
            definition=definition,
            tools=(*member_tools(self.roster, name), *([self.plans.tool(name)] if plan_required else [])),
            model=model,
            is_plan_required=plan_required,
            former=former,
        )
        self._coming.add(name)
        try:
            teammate = await self._start(wish, spec)
        finally:
            self._coming.discard(name)
        self._parked.pop(name, None)
        self.mail.take_up(self._take_unread(name))
        if prompt:
            teammate.tell(prompt)
        return teammate

    async def _start(self, wish: TeammateSpec, spec: ChildSpec) -> Teammate:
        """Start a teammate, and return when that is recorded."""
        name, roster, former = wish.name, self.roster, wish.former
        try:
            home = await self._ground.make_teammate(wish)
            member = self._make_member(name, home, former)
            if home.has_lost_turn:
                self._keep_begun(member)
            plan = None
            if former is not None and former.plan:
                path, text = await self._ground.read_plan(former.plan_file)
                plan = PlanRequest(id=former.plan, name=name, plan=text, path=path)
            admit = partial(self._admit, member, plan, plan_required=wish.is_plan_required, restart=spec.restart)
            ref: Ref[Any] = await self.supervisor.spawn(TeammateAgent, member, roster, admit, name=name, spec=spec)
        except BaseException:
            if name not in roster.joined:
                roster.used.discard(name)  # no member ever had it
            raise
        try:
            await roster.wait_durable()
        except BaseException:  # its start is not recorded, so it must not exist
            ref.kill("its start could not be recorded")
            raise
        teammate = self._teammates[name] = Teammate(member, self.shutdowns)
        return teammate

    def _make_member(self, name: str, home: AgentState, former: TeammateView | None) -> Member:
        own = home.profile.definition.color or color_of(self._joined)
        color, run = (own, 1) if former is None else (former.color, former.run + 1)
        self._joined += former is None
        return Member(name=name, id=self.roster.id_of(name), color=color, home=home, run=run)

    def _keep_begun(self, member: Member) -> None:
        """Leave to a returning teammate the items that its conversation holds: the turn that was cut is resumed with them."""
        mine = [item.id for item in self._begun if item.owner == member.name]
        if self.roster.home.conversations is Conversations.FRESH:
            mine = mine[-1:]  # of the others its conversation knows nothing
        if mine:
            member.item = mine[-1]
        cut = self.roster.home.cut
        cut[member.name] = tuple(item for item in cut.get(member.name, ()) if item not in mine)

    def _take_unread(self, name: str) -> list[Mail]:
        """Take a member's mail that was unread when its team was closed, or its process ended."""
        mine = [mail for mail in self._unread if mail.to == name]
        self._unread = [mail for mail in self._unread if mail.to != name]
        return mine

    def _admit(self, member: Member, plan: PlanRequest | None, *, plan_required: bool, restart: Restart) -> None:
        """Add a teammate to the team, in the step in which it can begin."""
        home = member.home
        self.roster.join(member)
        self.roster.emit(
            TeammateJoined(
                actor=member.ref.id,
                team=self.name,
                name=member.name,
                agent=home.profile.id,
                color=member.color,
                definition=home.profile.definition.name,
                model=home.profile.model,
                is_plan_required=plan_required,
                restart=restart.value,
            )
        )
        if plan is not None:
            self.plans.wait_again(member, plan)
        self._ground.adopt(member)
        member.ref.watch(partial(self._let_go, member))

    def _let_go(self, member: Member, down: Down) -> None:
        member.take(TeammateStep.LIFE_ENDED)
        self.roster.leave(member)
        teammate = self._teammates.get(member.name)  # none: its start was undone, and the lead never knew of it
        ends_with_team = self._is_closing and (down.cause is None or down.cause.who == self.supervisor.id)
        if ends_with_team:
            self.roster.away[member.name] = member
        if ends_with_team or member.name in self._parked:
            park(self.roster, member)
        else:
            self.plans.forget(member.name)
            tell_end(self.roster, member, down, is_told=teammate is not None and not self._is_closing)
        self._ground.discard(member, down)
        if teammate is not None:
            teammate.release()

    # --- earlier members ------------------------------------------------------------------------------------------------

    @property
    def parked(self) -> tuple[TeammateView, ...]:
        """Former teammates that have not come back; `spawn` with such a name brings that one back."""
        return tuple(self._parked.values())

    def settle_record(self) -> None:
        """Hand the lead its unread mail, and return mail and items of members that will not come back."""
        there = {LEAD, *self._teammates, *self._parked}
        for name in dict.fromkeys([LEAD, *(mail.to for mail in self._unread if mail.to not in there)]):
            self.mail.take_up(self._take_unread(name))
        for item in self.board.items():
            if item.owner and item.owner not in there and item.status is not ItemStatus.COMPLETED:
                self.board.ref.tell(GiveBack(member=item.owner, item=item.id, why="it has ended", is_failure=False))

    @property
    def _is_closing(self) -> bool:
        return _is_ending(self.supervisor)


_BOARD: Final = ChildSpec(restart=Restart.PERMANENT)
"""It is stopped last, too: a teammate completes its item in its last turn."""


async def make_team(
    name: str,
    *,
    supervisor: Supervisor,
    lead: Ref[Any],
    lead_home: AgentState,
    ground: TeammatePort,
    check_open: Callable[[], None],
    wait_durable: Callable[[], Awaitable[None]],
    wall: Callable[[], datetime],
    one_each: bool = False,
    conversations: Conversations = Conversations.KEEP,
    shutdown_s: float = SHUTDOWN_S,
    messages_in_a_row: float = MAX_MESSAGES,
    description: str = "",
    is_of_program: bool = True,
    record: TeamRecord | None = None,
) -> tuple[Team, tuple[Tool, ...]]:
    """Start a board below `supervisor`; return the team, whose former teammates are still to be started, and its lead's
    tools.
    """
    state = BoardState() if record is None else BoardState(record.items, record.last_id)
    home = BoardHome(
        team=name,
        state=state,
        is_closing=partial(_is_ending, supervisor),
        one_each=one_each,
        conversations=conversations,
        cut={} if record is None else record.cut,
        begun=() if record is None else {item.owner: item.id for item in record.begun}.values(),
        tell_owner=lambda assignment: tell_assignment(roster, wall, assignment),
        tell_lead=lambda note: lead.tell(note, Lane.LATER, size_bytes=len(note.text)),
        check_open=check_open,
    )
    board: Ref[Any] = await supervisor.spawn(Board, home, name="board", spec=_BOARD)
    home.board = board
    emit: Callable[[Event], int] = supervisor.cell.shared.recorder.emit
    roster = Roster(
        team=name, board=board, home=home, emit=emit, check_open=check_open, wait_durable=wait_durable, wall=wall
    )
    leading = Member(name=LEAD, id=roster.id_of(LEAD), color="", home=lead_home)
    leading.ref = lead
    roster.join(leading)
    if record is not None:
        names = {teammate.name for teammate in record.teammates}
        roster.used |= names
        roster.joined |= names
    home.settle = partial(settle, roster)
    description = description or (record.view.description if record is not None else "")
    emit(TeamOpened(actor=board.id, team=name, description=description, is_of_program=is_of_program))
    team = Team(
        supervisor=supervisor,
        roster=roster,
        ground=ground,
        wall=wall,
        record=record,
        shutdown_s=shutdown_s,
        messages_in_a_row=messages_in_a_row,
    )
    return team, member_tools(roster, LEAD)


def _is_ending(supervisor: Supervisor) -> bool:
    return supervisor.cell.life.is_asked_to_end

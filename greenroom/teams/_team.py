"""A team: a board, a lead who is somebody's main agent, and mates that work on what the board hands them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, final

import attrs

from greenroom.actors import AbortResult, Down, Ref, State
from greenroom.agents import AgentDefinition, AgentHome, Note, agent_spec
from greenroom.core import Event, UsageError
from greenroom.mailbox import Delivery, Lane
from greenroom.models import Usage
from greenroom.supervisor import ChildSpec, Restart, Supervisor
from greenroom.teams._assignments import tell_assignment
from greenroom.teams._board import Board, BoardHome, GiveBack
from greenroom.teams._board_state import BoardState
from greenroom.teams._exchange import MAX_MESSAGES
from greenroom.teams._items import Item, ItemStatus
from greenroom.teams._lifecycle import MateStep, MemberStatus
from greenroom.teams._mail import TeamMail
from greenroom.teams._mail_events import Mail
from greenroom.teams._mate import MateAgent
from greenroom.teams._mate_events import MateJoined, MateView, TeamOpened
from greenroom.teams._names import LEAD, check_name, color_of
from greenroom.teams._plans import PlanRequest, Plans
from greenroom.teams._record import TeamRecord
from greenroom.teams._roster import Member, Roster
from greenroom.teams._settings import SHUTDOWN_S
from greenroom.teams._shutdown import ShutdownOutcome, Shutdowns, ShutdownState
from greenroom.teams._telling import park, settle, tell_end
from greenroom.teams._tools import member_tools
from greenroom.tools import Tool


@final
@attrs.frozen(kw_only=True)
class MateWish:
    """What a teammate is to be made of."""

    name: str
    team: str
    definition: AgentDefinition | str
    """One, or the name of one."""
    tools: tuple[Tool, ...] = ()
    """Those of a member."""
    model: str | None = None
    """An alias or an id; None: as its definition says, else the lead's."""
    is_plan_required: bool = False
    """Whether it plans first, and works when the lead has approved of that."""
    former: MateView | None = None
    """What it was, where it comes back: it has its id, its conversation and its model again."""


class MateGround(Protocol):
    """What the teammates of a session are made of; filled from above."""

    async def make_mate(self, wish: MateWish) -> AgentHome:
        """Return what belongs to a new teammate.

        Raises:
            UsageError: Its definition is not there, or cannot be used.
        """
        ...

    async def write_plan(self, agent: str, number: int, plan: str) -> Path:
        """Write a plan of an agent into the run folder, and return the file.

        Raises:
            OSError: It cannot be written.
        """
        ...

    async def read_plan(self, name: str) -> tuple[Path, str]:
        """Return the file of the run folder that holds a plan, and the plan; empty where it cannot be read."""
        ...

    def adopt(self, member: Member) -> None:
        """Take note of a teammate that was started."""
        ...

    def let_go(self, member: Member, down: Down) -> None:
        """Take note of its end, in the step in which it is gone: what it has started ends with it."""
        ...


@final
class BoardHandle:
    """A look at a team's board."""

    def __init__(self, home: BoardHome, ref: Ref[Any]) -> None:
        self._home = home
        self.ref = ref

    def __repr__(self) -> str:
        return f"<BoardHandle of {len(self._home.state.items)} items>"

    def items(self) -> tuple[Item, ...]:
        """Return the items as they are now, in the order of their ids."""
        return tuple(self._home.state.in_order())

    @property
    def has_claimable(self) -> bool:
        """Whether an item waits for somebody to claim it, and the claim could be put on record."""
        return self._home.has_claimable


@final
class Mate:
    """A teammate. Made by `team.spawn`."""

    def __init__(self, member: Member, shutdowns: Shutdowns) -> None:
        self._shutdowns = shutdowns
        self.name = member.name
        self.id = member.id
        """`name@team`."""
        self.color = member.color
        self.ref = member.ref
        self._member: Member | None = member
        self._usage = Usage()

    def __repr__(self) -> str:
        return f"<Mate {self.name!r} {self.state}>"

    @property
    def state(self) -> State:
        """The state of its actor."""
        return self.ref.state

    @property
    def usage(self) -> Usage:
        """The tokens that it has used."""
        return self._usage if self._member is None else self._member.home.usage

    @property
    def status(self) -> MemberStatus:
        """Where it stands."""
        return MemberStatus.ENDED if self._member is None else self._member.status

    def let_go(self) -> None:
        """Hold nothing of a teammate that has ended but what it has used."""
        if self._member is not None:
            self._usage, self._member = self._member.home.usage, None

    def tell(self, text: str) -> Delivery:
        """Send it a message from the host; it reaches it at its next turn.

        Raises:
            UsageError: The text is blank.
        """
        if not text.strip():
            raise UsageError("a message needs text; this one is blank")
        if self._member is not None:
            self._member.was_asked = True
        return self.ref.tell(Note(text), Lane.NEXT, size_bytes=len(text))

    def abort_turn(self, why: str = "aborted") -> AbortResult:
        """End its current work only; it stays alive and its item goes back to the board."""
        return self.ref.abort_turn(why=why)

    def kill(self, why: str = "killed") -> None:
        """End the teammate; its items go back to the board."""
        self.ref.kill(why)

    async def shutdown(self, reason: str = "", *, deadline_s: float | None = None) -> ShutdownOutcome:
        """Ask it to end and return what came of it: its model decides, up to the deadline; then it is ended.

        Cancelled, the request stands, and so does its deadline.

        Args:
            reason: What it reads.
            deadline_s: Seconds that it has; `math.inf` waits for its word, None is `teams.shutdown_s` of the settings.

        Raises:
            UsageError: The seconds are no number above 0.
        """
        if self._member is None:
            return ShutdownOutcome(state=ShutdownState.ENDED)
        return await self._shutdowns.end(self._member, reason, deadline_s)

    async def wait_ended(self) -> Down:
        """Wait until it is gone for good."""
        return await self.ref.wait_ended()


@final
class Team:
    """A board and its mates. Made by `session.open_team`."""

    def __init__(
        self,
        *,
        supervisor: Supervisor,
        roster: Roster,
        ground: MateGround,
        wall: Callable[[], datetime],
        record: TeamRecord | None,
        shutdown_s: float,
        messages_in_a_row: float,
    ) -> None:
        last = 0 if record is None else record.last_mail
        self.mail = TeamMail(roster, last=last, messages_in_a_row=messages_in_a_row)
        """What members send each other."""
        self.shutdowns = Shutdowns(self.mail, supervisor, wall, deadline_s=shutdown_s)
        """The requests to end that are open."""
        plans = 0 if record is None else max((one.plans for one in record.mates), default=0)
        self.plans = Plans(self.mail, wall, ground.write_plan, last=plans)
        """The plans of mates that wait for a word."""
        self.name = roster.team
        self.supervisor = supervisor
        self.board = BoardHandle(roster.home, roster.board)
        self.roster = roster
        self._ground = ground
        self._mates: dict[str, Mate] = {}
        self._joined = 0 if record is None else len(record.mates)
        self._parked = {} if record is None else {one.name: one for one in record.parked}
        self._coming: set[str] = set()
        """Names of those that are just being started."""
        self._unread = [] if record is None else list(record.mail)

    def __repr__(self) -> str:
        return f"<Team {self.name!r}: {len(self._mates)} mates>"

    @property
    def mates(self) -> Mapping[str, Mate]:
        """The teammates that were spawned, by name."""
        return dict(self._mates)

    def describe_mates(self) -> str:
        """Return who of the team lives, for a model that has lost sight of them; empty where nobody does."""
        alive = [f"- {name}: {mate.state.value}" for name, mate in self._mates.items() if not mate.ref.is_gone]
        if not alive:
            return ""
        return "\n".join([f"These teammates of the team {self.name} are there; do not spawn them again:", *alive])

    @property
    def has_work_to_hand_out(self) -> bool:
        """Whether an item waits although somebody is there who could take it, or will be after a restart."""
        return self.board.has_claimable and any(not mate.ref.is_gone for mate in self._mates.values())

    async def spawn(
        self,
        name: str,
        *,
        definition: AgentDefinition | str,
        prompt: str = "",
        model: str | None = None,
        plan_required: bool = False,
        restart: Restart | str = Restart.TRANSIENT,
    ) -> Mate:
        """Start a teammate; without a prompt it waits for mail or for an item that it can claim.

        A name that a member of the team ever had comes with a number; `name` of the result is the one it has. The name of one that
        is `parked` brings that one back, as it was.

        Args:
            name: What the others call it.
            definition: What kind of agent it is, or the name of that.
            prompt: What it is told first; of the lead's conversation it knows nothing.
            model: An alias or an id; by default as its definition says, else the lead's.
            plan_required: Whether it plans first, and works when the lead has approved of that.
            restart: When it comes back after its actor has ended, with its conversation and its items.

        Raises:
            UsageError: The name stands for somebody else, or cannot be a name; or the definition is not there.
            JournalError: The spawn could not be put on record.
            Stopping: The team is closing.
        """
        spec = agent_spec(restart)
        former = self._parked.get(name) if name not in self._coming else None
        if former is None:
            check_name(name)
            name = self.roster.reserve(name)
        else:  # it has all that it had, and reads what it has not read
            model, plan_required = None, former.is_plan_required
        wish = MateWish(
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
            mate = await self._start(wish, spec)
        finally:
            self._coming.discard(name)
        self._parked.pop(name, None)
        self.mail.take_up(self._take_unread(name))
        if prompt:
            mate.tell(prompt)
        return mate

    async def _start(self, wish: MateWish, spec: ChildSpec) -> Mate:
        """Start a teammate, and return when it is on record that there is one."""
        name, roster, former = wish.name, self.roster, wish.former
        try:
            home = await self._ground.make_mate(wish)
            member = self._make_member(name, home, former)
            plan = None
            if former is not None and former.plan:
                path, text = await self._ground.read_plan(former.plan_file)
                plan = PlanRequest(id=former.plan, name=name, plan=text, path=path)
            admit = partial(self._admit, member, plan, plan_required=wish.is_plan_required, restart=spec.restart)
            ref: Ref[Any] = await self.supervisor.spawn(MateAgent, member, roster, admit, name=name, spec=spec)
        except BaseException:
            if name not in roster.joined:
                roster.used.discard(name)  # nobody ever had it
            raise
        try:
            await roster.wait_durable()
        except BaseException:  # it is not on record that there is such a mate, so there must be none
            ref.kill("its start could not be put on record")
            raise
        mate = self._mates[name] = Mate(member, self.shutdowns)
        return mate

    def _make_member(self, name: str, home: AgentHome, former: MateView | None) -> Member:
        own = home.definition.color or color_of(self._joined)
        color, run = (own, 1) if former is None else (former.color, former.run + 1)
        self._joined += former is None
        return Member(name=name, id=self.roster.id_of(name), color=color, home=home, run=run)

    def _take_unread(self, name: str) -> list[Mail]:
        """Return what a member had not read when its team was closed, or its process ended."""
        mine = [one for one in self._unread if one.to == name]
        self._unread = [one for one in self._unread if one.to != name]
        return mine

    def _admit(self, member: Member, plan: PlanRequest | None, *, plan_required: bool, restart: Restart) -> None:
        """Let a teammate belong to the team, in the step in which it can begin."""
        home = member.home
        self.roster.join(member)
        self.roster.emit(
            MateJoined(
                actor=member.ref.id,
                team=self.name,
                name=member.name,
                agent=home.id,
                color=member.color,
                definition=home.definition.name,
                model=home.model,
                is_plan_required=plan_required,
                restart=restart.value,
            )
        )
        if plan is not None:
            self.plans.wait_again(member, plan)
        self._ground.adopt(member)
        member.ref.watch(partial(self._let_go, member))

    def _let_go(self, member: Member, down: Down) -> None:
        member.take(MateStep.LIFE_ENDED)
        self.roster.leave(member)
        mate = self._mates.get(member.name)  # none: its start was taken back, and the lead never heard of it
        ends_with_team = self._is_closing and (down.cause is None or down.cause.who == self.supervisor.id)
        if ends_with_team or member.name in self._parked:
            park(self.roster, member)
        else:
            self.plans.forget(member.name)
            tell_end(self.roster, member, down, is_told=mate is not None and not self._is_closing)
        self._ground.let_go(member, down)
        if mate is not None:
            mate.let_go()

    # --- what was there before ---------------------------------------------------------------------------------------

    @property
    def parked(self) -> tuple[MateView, ...]:
        """Teammates of an earlier time that have not come back; `spawn` under such a name brings that one back."""
        return tuple(self._parked.values())

    def settle_record(self) -> None:
        """Hand the lead what it has not read, and return or put back on the board what is for nobody who is there or may come back."""
        there = {LEAD, *self._mates, *self._parked}
        for name in dict.fromkeys([LEAD, *(one.to for one in self._unread if one.to not in there)]):
            self.mail.take_up(self._take_unread(name))
        for item in self.board.items():
            if item.owner and item.owner not in there and item.status is not ItemStatus.COMPLETED:
                self.board.ref.tell(GiveBack(member=item.owner, item=item.id, why="it has ended", is_failure=False))

    @property
    def _is_closing(self) -> bool:
        return _is_ending(self.supervisor)


async def make_team(
    name: str,
    *,
    supervisor: Supervisor,
    lead: Ref[Any],
    lead_home: AgentHome,
    ground: MateGround,
    check_open: Callable[[], None],
    wait_durable: Callable[[], Awaitable[None]],
    wall: Callable[[], datetime],
    one_each: bool = False,
    shutdown_s: float = SHUTDOWN_S,
    messages_in_a_row: float = MAX_MESSAGES,
    description: str = "",
    is_of_program: bool = True,
    record: TeamRecord | None = None,
) -> tuple[Team, tuple[Tool, ...]]:
    """Start a board below `supervisor`; returns the team, whose mates of an earlier time are still to be started, and its lead's tools."""
    state = BoardState() if record is None else BoardState(record.items, record.last_id)
    home = BoardHome(
        team=name,
        state=state,
        was_done=state.is_done,  # nobody is told of that again
        is_closing=partial(_is_ending, supervisor),
        one_each=one_each,
        cut={} if record is None else record.cut,
        tell_owner=lambda assignment: tell_assignment(roster, wall, assignment),
        tell_lead=lambda note: lead.tell(note, Lane.LATER, size_bytes=len(note.text)),
        check_open=check_open,
    )
    board: Ref[Any] = await supervisor.spawn(Board, home, name="board", spec=ChildSpec(restart=Restart.PERMANENT))
    home.board = board
    emit: Callable[[Event], int] = supervisor.cell.recorder.emit
    roster = Roster(
        team=name, board=board, home=home, emit=emit, check_open=check_open, wait_durable=wait_durable, wall=wall
    )
    leading = Member(name=LEAD, id=roster.id_of(LEAD), color="", home=lead_home)
    leading.ref = lead
    roster.join(leading)
    if record is not None:
        names = {one.name for one in record.mates}
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

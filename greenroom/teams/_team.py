"""A team: a board, a lead who is somebody's main agent, and mates that work on what the board hands them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

from greenroom.actors import AbortResult, Context, Down, Ref, State
from greenroom.agents import Agent, AgentDefinition, AgentHome, Input, Note, Work
from greenroom.core import UsageError
from greenroom.mailbox import Delivery, Lane
from greenroom.models import Usage
from greenroom.supervisor import ChildSpec, Restart, Supervisor
from greenroom.teams._board import Board, BoardHome, GiveBack, Idle, TurnOver
from greenroom.teams._items import LEAD, Item
from greenroom.teams._roster import Roster
from greenroom.teams._tools import member_tools
from greenroom.tools import Tool


@final
class MateAgent(Agent):
    """An agent that asks the board for work whenever it has nothing else to do."""

    goes_on = False  # an item whose turn was cut goes back to the board, which hands it out again

    def __init__(self, home: AgentHome, member: str, board: Ref[Any]) -> None:
        super().__init__(home)
        self._member = member
        self._board = board

    async def on_start(self, ctx: Context) -> None:
        """Start as an agent does, then say that there is nothing to do."""
        await super().on_start(ctx)
        self._tell_board(Idle(member=self._member, ref=ctx.ref))

    async def on_message(self, message: Input, ctx: Context) -> None:
        """Run one turn; an item whose turn did not end well goes back to the board."""
        try:
            await super().on_message(message, ctx)
            if isinstance(message, Work):
                self._tell_board(TurnOver(member=self._member, item=message.label))
        except BaseException as error:
            if isinstance(message, Work):
                is_failure = not ctx.turn.is_aborting
                why = f"its turn failed: {error}" if is_failure else "its turn was ended"
                self._tell_board(GiveBack(member=self._member, item=message.label, why=why, is_failure=is_failure))
            raise
        finally:
            self._tell_board(Idle(member=self._member, ref=ctx.ref))

    def _tell_board(self, message: Idle | GiveBack | TurnOver) -> None:
        # Lane `now`: a board that is full of commands must not miss who can work on them.
        self._board.tell(message, Lane.NOW)


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

    def __init__(self, name: str, ref: Ref[Any], home: AgentHome) -> None:
        self.name = name
        self.ref = ref
        self._home = home

    def __repr__(self) -> str:
        return f"<Mate {self.name!r} {self.state}>"

    @property
    def state(self) -> State:
        """The state of its actor."""
        return self.ref.state

    @property
    def usage(self) -> Usage:
        """The tokens that it has used."""
        return self._home.usage

    def tell(self, text: str) -> Delivery:
        """Send it a message from the host; it reaches it at its next turn.

        Raises:
            UsageError: The text is blank.
        """
        if not text.strip():
            raise UsageError("a message needs text; this one is blank")
        return self.ref.tell(Note(text), Lane.NEXT, size_bytes=len(text))

    def abort_turn(self, why: str = "aborted") -> AbortResult:
        """End its current work only; it stays alive and its item goes back to the board."""
        return self.ref.abort_turn(why=why)

    def kill(self, why: str = "killed") -> None:
        """End the teammate; its items go back to the board."""
        self.ref.kill(why)

    async def wait_ended(self) -> Down:
        """Wait until it is gone for good."""
        return await self.ref.wait_ended()


@final
class Team:
    """A board and its mates. Made by `session.open_team`."""

    def __init__(
        self,
        name: str,
        *,
        supervisor: Supervisor,
        home: BoardHome,
        roster: Roster,
        addresses: dict[str, Ref[Any]],
        make_home: Callable[[AgentDefinition, tuple[Tool, ...]], AgentHome],
        on_spawned: Callable[[Ref[Any], AgentHome], None],
    ) -> None:
        self.name = name
        self.supervisor = supervisor
        self.board = BoardHandle(home, roster.board)
        self._roster = roster
        self._addresses = addresses
        self._make_home = make_home
        self._on_spawned = on_spawned
        self._mates: dict[str, Mate] = {}

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

    async def spawn(self, name: str, *, definition: AgentDefinition, prompt: str = "") -> Mate:
        """Start a teammate; without a prompt it waits for mail or for an item that it can claim.

        Raises:
            UsageError: The name is the lead's, `*`, or cannot be a name.
            NameTaken: Another teammate has it.
            JournalError: The spawn could not be put on record.
            Stopping: The team is closing.
        """
        if name in {LEAD, "*"}:
            raise UsageError(f"a teammate cannot be called {name!r}: that stands for somebody else")
        home = self._make_home(definition, member_tools(self._roster, name))
        spec = ChildSpec(restart=Restart.TRANSIENT)
        ref: Ref[Any] = await self.supervisor.spawn(MateAgent, home, name, self._roster.board, name=name, spec=spec)
        try:
            await self._roster.wait_durable()
        except BaseException:  # it is not on record that there is such a mate, so there must be none
            ref.kill("its start could not be put on record")
            raise
        self._addresses[name] = ref
        ref.watch(lambda _: self._addresses.pop(name, None) and None)
        self._on_spawned(ref, home)
        self._roster.homes[name] = home
        mate = self._mates[name] = Mate(name, ref, home)
        if prompt:
            mate.tell(prompt)
        return mate


async def make_team(
    name: str,
    *,
    supervisor: Supervisor,
    lead: Ref[Any],
    make_home: Callable[[AgentDefinition, tuple[Tool, ...]], AgentHome],
    on_spawned: Callable[[Ref[Any], AgentHome], None],
    check_open: Callable[[], None],
    wait_durable: Callable[[], Any],
    lead_home: AgentHome | None = None,
) -> tuple[Team, tuple[Tool, ...]]:
    """Start a board below `supervisor`; returns the team and the tools of its lead."""
    home = BoardHome(
        team=name,
        tell_lead=lambda note: lead.tell(note, Lane.LATER, size_bytes=len(note.text)),
        check_open=check_open,
    )
    board: Ref[Any] = await supervisor.spawn(Board, home, name="board", spec=ChildSpec(restart=Restart.PERMANENT))
    home.board = board
    addresses: dict[str, Ref[Any]] = {LEAD: lead}
    recorder = supervisor.cell.recorder
    roster = Roster(
        board=board,
        home=home,
        addresses=addresses,
        emit=recorder.emit,
        check_open=check_open,
        wait_durable=wait_durable,
        team=name,
    )
    if lead_home is not None:
        roster.homes[LEAD] = lead_home
    team = Team(
        name,
        supervisor=supervisor,
        home=home,
        roster=roster,
        addresses=addresses,
        make_home=make_home,
        on_spawned=on_spawned,
    )
    return team, member_tools(roster, LEAD)

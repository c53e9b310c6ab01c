"""The actor of a teammate: an agent that asks the board for work whenever it has nothing else to do."""

from __future__ import annotations

from typing import final

from greenroom.actors import Context
from greenroom.agents import Agent, Input, Work
from greenroom.mailbox import Lane
from greenroom.teams._board import GiveBack, Idle, TurnOver
from greenroom.teams._roster import Member, Roster


@final
class MateAgent(Agent):
    """Takes what it is told, one turn after the other, and is handed an item of the board when nothing waits.

    Args:
        member: What belongs to the teammate.
        roster: Where it stands once it has started.
    """

    goes_on = False  # an item whose turn was cut goes back to the board, which hands it out again

    def __init__(self, member: Member, roster: Roster) -> None:
        super().__init__(member.home)
        self._mate = member
        self._roster = roster
        self._member = member.name
        self._board = roster.board

    async def on_start(self, ctx: Context) -> None:
        """Start as an agent does, then say that there is nothing to do."""
        if ctx.incarnation == 1:
            self._mate.ref = ctx.ref
        await super().on_start(ctx)
        if ctx.incarnation == 1:
            self._roster.join(self._mate)
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

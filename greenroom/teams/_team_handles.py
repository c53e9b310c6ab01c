"""Handles of a team for programs: its board, and its teammates."""

from __future__ import annotations

from typing import Any, final

from greenroom.actors import AbortResult, Down, Ref, State
from greenroom.agents import Note
from greenroom.core import UsageError
from greenroom.mailbox import Delivery, Lane
from greenroom.models import Usage
from greenroom.teams._board import BoardHome
from greenroom.teams._board_items import Item
from greenroom.teams._roster import Member
from greenroom.teams._shutdown_requests import ShutdownOutcome, Shutdowns, ShutdownState
from greenroom.teams._teammate_status import MemberStatus


@final
class BoardHandle:
    """Read access to a team's board."""

    def __init__(self, home: BoardHome, ref: Ref[Any]) -> None:
        self._home = home
        self.ref = ref

    def __repr__(self) -> str:
        return f"<BoardHandle of {len(self._home.state.items)} items>"

    def items(self) -> tuple[Item, ...]:
        """Return the current items, in the order of their ids."""
        return tuple(self._home.state.in_order())

    @property
    def has_claimable(self) -> bool:
        """True if an item is waiting to be claimed, and the claim could be recorded."""
        return self._home.has_claimable


@final
class Teammate:
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
        """Its status in the team."""
        return MemberStatus.ENDED if self._member is None else self._member.status

    @property
    def is_new(self) -> bool:
        """True if it has taken no turn yet, in an earlier process neither."""
        home = None if self._member is None else self._member.home
        return home is not None and home.turn is None and home.start.loaded is None

    def release(self) -> None:
        """Release everything of an ended teammate except its usage."""
        if self._member is not None:
            self._usage, self._member = self._member.home.usage, None

    def tell(self, text: str) -> Delivery:
        """Send it a message from the host, which it reads in its next turn.

        Raises:
            UsageError: The text is blank.
        """
        if not text.strip():
            raise UsageError("a message must not be blank")
        if self._member is not None:
            self._member.was_asked = True
        return self.ref.tell(Note(text), Lane.NEXT, size_bytes=len(text))

    def abort_turn(self, why: str = "aborted") -> AbortResult:
        """Abort its current turn; it stays alive and its item returns to the board."""
        return self.ref.abort_turn(why=why)

    def kill(self, why: str = "killed") -> None:
        """End the teammate; its items return to the board."""
        self.ref.kill(why)

    async def shutdown(self, reason: str = "", *, deadline_s: float | None = None) -> ShutdownOutcome:
        """Ask it to end and return the outcome: its model decides until the deadline; then it is ended.

        If cancelled, the request and its deadline remain.

        Args:
            reason: Text for its model.
            deadline_s: Its deadline in seconds; `math.inf` waits for the answer, None is `teams.shutdown_s` of the
                settings.

        Raises:
            UsageError: The seconds are not above 0.
        """
        if self._member is None:
            return ShutdownOutcome(state=ShutdownState.ENDED)
        return await self._shutdowns.end(self._member, reason, deadline_s)

    async def wait_ended(self) -> Down:
        """Wait until it has terminated."""
        return await self.ref.wait_ended()

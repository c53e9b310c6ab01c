"""The actor of a teammate: an agent that, whenever nothing waits for it, asks the board for work, and else is idle.

Rule 1: what it takes next, and what is news for the lead, say the tables of `_lifecycle`. Rule 2: hooks of `TeammateIdle` may keep it
going, or end it, where its turn ended well and nothing waits (agents 7.60). Rule 3: a turn that failed or was ended gives its item
back, and it lives on; a crash keeps the item, and the next incarnation goes on with it (DESIGN 12.17). Rule 4: one that crashes more
often than it may come back is ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import attrs

from greenroom.actors import Context, Outcome, State
from greenroom.agents import Agent, Hooking, Input, Note, StoppedByHook, Work
from greenroom.core import reminder
from greenroom.hooks import HookEvent, HookOutcome
from greenroom.hooks.inputs import TeammateIdleInput
from greenroom.inbox import AUTO_CONTINUATION, HOOK
from greenroom.mailbox import Delivery, Envelope, Lane
from greenroom.teams._board import Busy, GiveBack, Idle, Join, TurnOver
from greenroom.teams._board_hooks import refuse_idling
from greenroom.teams._lifecycle import LANE_OF, Idling, MateStep, MemberStatus, Source, plan_next, takes
from greenroom.teams._mate_events import MateWoke
from greenroom.teams._names import LEAD
from greenroom.teams._protocol import IdleReason
from greenroom.teams._roster import Member, Roster
from greenroom.teams._telling import tell_idling

_OWN: Final = (AUTO_CONTINUATION, HOOK)
"""Where that comes from with which it goes on with what it was at."""
_UNHEARD: Final = HookOutcome(event=HookEvent.TEAMMATE_IDLE)
"""What hooks say that are not there."""


def source_of(message: object) -> Source:
    """Return where something that was sent to a mate comes from."""
    if isinstance(message, Work):
        return Source.ITEM
    if isinstance(message, Note) and message.sender not in {"", LEAD}:
        return Source.PEER
    return Source.LEAD


@final
class MateAgent(Agent):
    """Takes what it is told, one turn after the other, and is handed an item of the board when nothing waits.

    Args:
        member: What belongs to the teammate.
        roster: Where it stands once it has started.
        admit: Lets it belong to the team; called in the step in which it can begin, of its first incarnation.
    """

    def __init__(self, member: Member, roster: Roster, admit: Callable[[], None]) -> None:
        super().__init__(member.home)
        self._admit = admit
        self._mate = member
        self._roster = roster
        self._is_in_turn = False
        """True from the step in which a turn takes its message until its end is settled with the board."""
        self._calls_before = 0
        """The tool calls that it had made when its turn began."""

    async def on_start(self, ctx: Context) -> None:
        """Start as an agent does, then say that there is nothing to do, unless something waits already."""
        mate = self._mate
        if ctx.incarnation == 1:
            mate.ref = ctx.ref
        await super().on_start(ctx)
        if ctx.incarnation == 1:
            self._admit()
        if mate.status is MemberStatus.WORKING or not mate.is_at_rest:
            # It crashed in a turn that nobody goes on with, unless something waits.
            mate.idling = Idling(reason=IdleReason.FAILED, failure="it crashed, and was started again")
        self._tell_board(Join(member=mate.name, ref=ctx.ref))
        self._rest(ctx)

    async def on_message(self, message: Input, ctx: Context) -> None:
        """Run one turn; an item whose turn did not end well goes back to the board."""
        mate, source = self._mate, source_of(message)
        if not takes(mate.status, source):
            ctx.postpone()
            self._rest(ctx)
            return
        if source is Source.ITEM and self._puts_behind(message, ctx):
            return
        if isinstance(message, Work) and not self._roster.home.holds(mate.name, message.label):
            self._rest(ctx)  # it was taken back before its turn began
            return
        if mate.answered:
            ctx.enter(mate.answered)  # what was postponed for the sake of a plan comes back when that was answered
        self._begin(message, source)
        await super().on_message(message, ctx)
        mate.was_active = mate.was_active or self._has_called
        if not await self._is_kept_going(ctx):
            self._end_well(ctx)
        self._is_in_turn = False

    def on_unfinished(self, message: Input, outcome: Outcome, ctx: Context) -> None:
        """Give the item of a turn that failed or was aborted back to the board, and be idle."""
        mate, was_cut = self._mate, self._home.is_cut
        super().on_unfinished(message, outcome, ctx)
        if not self._is_in_turn:
            return
        self._is_in_turn = False
        if outcome.must_crash and outcome.reraise is None:
            self._count_crash(outcome.error, ctx)
        elif ctx.is_ending and (outcome.state is State.KILLED or outcome.during_kill):
            self._home.is_cut = was_cut  # if this is a restart, the next incarnation goes on with it
        elif outcome.state is State.KILLED:
            self._end_badly(Idling(reason=IdleReason.INTERRUPTED, item=mate.item), ctx)
        else:
            failure = str(outcome.error) or type(outcome.error).__name__
            idling = Idling(reason=IdleReason.FAILED, item=mate.item, failure=failure)
            mate.was_active = mate.was_active or self._has_called
            tell_idling(self._roster, mate, idling)
            self._end_badly(idling, ctx)

    # --- the turn ---------------------------------------------------------------------------------------------------

    def _puts_behind(self, message: Input, ctx: Context) -> bool:
        """Put an item behind what goes before it and came since the board handed it out; says whether there is any."""
        others = [source for source in map(source_of, _mail(ctx)) if source is not Source.ITEM]
        if plan_next(self._mate.status, [*others, Source.ITEM]) == len(others):
            return False
        return ctx.tell_on_commit(ctx.ref, message, lane=LANE_OF[Source.ITEM]) is Delivery.ACCEPTED

    def _begin(self, message: Input, source: Source) -> None:
        mate = self._mate
        if isinstance(message, Work):
            mate.item = message.label
        else:
            self._tell_board(Busy(member=mate.name))
        is_own = isinstance(message, Note) and message.origin in _OWN
        if source is Source.LEAD and not is_own:
            mate.was_asked = True
        mate.idling = None
        if mate.is_at_rest:
            mate.is_at_rest = False
            self._roster.emit(MateWoke(actor=mate.ref.id, team=self._roster.team, name=mate.name))
        mate.take(MateStep.TURN_TAKEN)
        self._is_in_turn, self._calls_before = True, self._calls

    def _end_well(self, ctx: Context) -> None:
        mate, has_item = self._mate, self._is_done_with_item(ctx)
        mate.idling = Idling(reason=IdleReason.AVAILABLE, item=mate.item if has_item else "")
        if has_item:
            if self._roster.home.holds(mate.name, mate.item):
                self._tell_board(TurnOver(member=mate.name, item=mate.item))
            mate.item = ""
        self._rest(ctx)

    def _end_badly(self, idling: Idling, ctx: Context) -> None:
        mate, has_item = self._mate, self._is_done_with_item(ctx)
        mate.idling = idling if has_item else attrs.evolve(idling, item="")
        if has_item:
            is_failure = idling.reason is IdleReason.FAILED
            why = f"its turn failed: {idling.failure}" if is_failure else "its turn was ended"
            self._tell_board(GiveBack(member=mate.name, item=mate.item, why=why, is_failure=is_failure))
            mate.item = ""
        self._rest(ctx)

    def _is_done_with_item(self, ctx: Context) -> bool:
        """Whether it had an item, and no turn is still to come that goes on with it."""
        goes_on = any(isinstance(one, Note) and one.origin in _OWN for one in _mail(ctx))
        return self._mate.item != "" and not goes_on

    def _rest(self, ctx: Context) -> None:
        """Ask the board for something to do, unless something waits, or this is the end."""
        if not (ctx.is_ending or _mail(ctx)):
            takes_items = takes(self._mate.status, Source.ITEM)
            self._tell_board(Idle(member=self._mate.name, ref=ctx.ref, takes_items=takes_items))

    def _count_crash(self, error: BaseException | None, ctx: Context) -> None:
        crashes = self._mate.crashes
        if not crashes.spend(ctx.recorder.now()):
            ctx.ref.kill(f"it crashed more than {crashes.intensity} times in {crashes.period_s:g} s: {error}")

    @property
    def _has_called(self) -> bool:
        return self._calls != self._calls_before

    @property
    def _calls(self) -> int:
        progress = self._home.progress
        return 0 if progress is None else progress.tool_use_count

    # --- hooks ------------------------------------------------------------------------------------------------------

    async def _is_kept_going(self, ctx: Context) -> bool:
        """Ask hooks whether it may be idle; what they say instead begins another turn."""
        mate, roster = self._mate, self._roster
        if _mail(ctx) or ctx.is_ending:
            return False
        hooks = self._home.hooks
        if hooks is None or not (hooks.has(HookEvent.TEAMMATE_IDLE) or hooks.has(HookEvent.TASK_COMPLETED)):
            mate.guard.decide(_UNHEARD)
            return False
        hooking = Hooking(home=self._home, token=ctx.turn.token, seq=ctx.seq, recorder=ctx.recorder)
        try:
            said = [await refuse_idling(roster, mate.name)]
            if hooking.has(HookEvent.TEAMMATE_IDLE) and not said[0]:
                told = TeammateIdleInput(teammate_name=mate.name, team_name=roster.team)
                said += (await hooking.run(told)).block_reasons
        except StoppedByHook as error:
            ctx.ref.kill(str(error))
            return False
        reasons = tuple(filter(None, said))
        verdict = mate.guard.decide(HookOutcome(event=HookEvent.TEAMMATE_IDLE, block_reasons=reasons))
        if verdict.warning:
            hooking.notice(HookEvent.TEAMMATE_IDLE.value, verdict.warning)
        if verdict.goes_on:
            ctx.ref.tell(
                Note("\n".join(map(reminder, verdict.said)), is_hidden=True, origin=HOOK), LANE_OF[Source.LEAD]
            )
        return verdict.goes_on

    def _tell_board(self, message: Join | Idle | Busy | GiveBack | TurnOver) -> None:
        # Lane `now`: a board that is full of commands must not miss who can work on them.
        self._roster.board.tell(message, Lane.NOW)


def _mail(ctx: Context) -> list[object]:
    """Return what waits for an actor, save what somebody asks: that may be given up before it is taken."""
    found: list[object] = []

    def look(waiting: Sequence[Envelope[Any]]) -> Sequence[Envelope[Any]]:
        found.extend(one.message for one in waiting if one.reply is None)
        return ()

    if ctx.has_mail:
        with ctx.pick(look):
            pass
    return found

"""The actor of a teammate: an agent that asks the board for work when nothing is waiting for it, and otherwise is idle.

Rule 1: the tables of `_teammate_status` decide what it takes next, and what the lead is notified of. Rule 2: hooks of
`TeammateIdle` may keep it working, or end it, if its turn ended well and nothing is waiting. Rule 3: a failed or
aborted turn returns its item, and the teammate lives on; after a crash it keeps its item, and the next incarnation
resumes it. Rule 4: a teammate that exceeds its restart budget is ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import attrs

from greenroom.actors import Context, Outcome, State
from greenroom.agents import Agent, Hooking, Input, Note, StoppedByHook, TurnState, Work
from greenroom.core.texts import reminder
from greenroom.hooks import HookEvent, HookOutcome
from greenroom.hooks.inputs import TeammateIdleInput
from greenroom.inbox import AUTO_CONTINUATION, HOOK
from greenroom.mailbox import Delivery, Envelope, Lane
from greenroom.teams._board_hooks import refuse_idling
from greenroom.teams._board_messages import GiveBack, Idle, Join, Occupied, TurnOver
from greenroom.teams._idle_reasons import IdleReason
from greenroom.teams._member_names import LEAD
from greenroom.teams._notices import tell_idling
from greenroom.teams._roster import Member, Roster
from greenroom.teams._teammate_events import TeammateWoke
from greenroom.teams._teammate_status import LANE_OF, Idling, MemberStatus, TeammateStep, WorkSource, plan_next, takes

_OWN: Final = (AUTO_CONTINUATION, HOOK)
"""Origins of messages with which it resumes its own work."""
_UNHEARD: Final = HookOutcome(event=HookEvent.TEAMMATE_IDLE)
"""The result when there are no hooks."""


def source_of(message: object) -> WorkSource:
    """Return the origin of something that was sent to a teammate."""
    if isinstance(message, Work):
        return WorkSource.ITEM
    if isinstance(message, Note) and message.sender not in {"", LEAD}:
        return WorkSource.PEER
    return WorkSource.LEAD


@final
class TeammateAgent(Agent):
    """An agent that takes one message per turn, and an item of the board if no message is waiting.

    Args:
        member: State of the teammate.
        roster: The roster that it joins once it has started.
        admit: Adds it to the team; called in the step in which its first incarnation can begin.
    """

    def __init__(self, member: Member, roster: Roster, admit: Callable[[], None]) -> None:
        super().__init__(member.home)
        self._admit = admit
        self._teammate = member
        self._roster = roster
        self._is_in_turn = False
        """True from the step in which a turn takes its message until the board has been told of the turn's end."""
        self._calls_before = 0
        """Number of its tool calls when its turn began."""

    async def on_start(self, ctx: Context) -> None:
        """Start like any agent, then report as idle unless a message is already waiting."""
        teammate = self._teammate
        if ctx.incarnation == 1:
            teammate.ref = ctx.ref
        await super().on_start(ctx)
        if ctx.incarnation == 1:
            self._admit()
        if teammate.status is MemberStatus.WORKING or not teammate.is_at_rest:
            # It crashed during a turn. Unless a message is waiting, nothing resumes that turn.
            teammate.idling = Idling(reason=IdleReason.FAILED, failure="it crashed, and was restarted")
        self._tell_board(Join(member=teammate.name, ref=ctx.ref))
        self._rest(ctx)

    async def on_message(self, message: Input, ctx: Context) -> None:
        """Run one turn; an item whose turn did not end well is returned to the board."""
        teammate, source = self._teammate, source_of(message)
        if not takes(teammate.status, source):
            ctx.postpone()
            self._rest(ctx)
            return
        if source is WorkSource.ITEM and self._puts_behind(message, ctx):
            return
        if isinstance(message, Work) and not self._roster.home.holds(teammate.name, message.label):
            self._rest(ctx)  # it was taken back before its turn began
            return
        if teammate.answered:
            ctx.enter(teammate.answered)  # messages postponed because of a plan return once the plan is answered
        self._begin(message, source)
        if isinstance(message, Work) and message.is_fresh and self._home.conversation is not None:
            self._home.conversation.begin_anew()
        await super().on_message(message, ctx)
        teammate.was_active = teammate.was_active or self._has_called
        if not await self._is_kept_going(ctx):
            self._end_well(ctx)
        self._is_in_turn = False

    def on_unfinished(self, message: Input, outcome: Outcome, ctx: Context) -> None:
        """Return the item of a failed or aborted turn to the board, and be idle."""
        teammate, was_cut = self._teammate, self._home.is_cut
        super().on_unfinished(message, outcome, ctx)
        if not self._is_in_turn:
            return
        self._is_in_turn = False
        if outcome.must_crash and outcome.reraise is None:
            self._count_crash(outcome.error, ctx)
        elif ctx.is_ending and (outcome.state is State.KILLED or outcome.during_kill):
            self._home.set_cut(is_cut=was_cut)  # if this is a restart, the next incarnation resumes it
        elif outcome.state is State.KILLED:
            self._end_badly(Idling(reason=IdleReason.INTERRUPTED, item=teammate.item), ctx)
        else:
            failure = str(outcome.error) or type(outcome.error).__name__
            idling = Idling(reason=IdleReason.FAILED, item=teammate.item, failure=failure)
            teammate.was_active = teammate.was_active or self._has_called
            tell_idling(self._roster, teammate, idling)
            self._end_badly(idling, ctx)

    # --- the turn ---------------------------------------------------------------------------------------------------

    def _puts_behind(self, message: Input, ctx: Context) -> bool:
        """Requeue an item behind more urgent messages that arrived since it was handed out; return True if there are
        any.
        """
        others = [source for source in map(source_of, _mail(ctx)) if source is not WorkSource.ITEM]
        if plan_next(self._teammate.status, [*others, WorkSource.ITEM]) == len(others):
            return False
        return ctx.tell_on_commit(ctx.ref, message, lane=LANE_OF[WorkSource.ITEM]) is Delivery.ACCEPTED

    def _begin(self, message: Input, source: WorkSource) -> None:
        teammate = self._teammate
        if isinstance(message, Work):
            teammate.item = message.label
        else:
            self._tell_board(Occupied(member=teammate.name))
        is_own = isinstance(message, Note) and message.origin in _OWN
        if source is WorkSource.LEAD and not is_own:
            teammate.was_asked = True
        teammate.idling = None
        if teammate.is_at_rest:
            teammate.is_at_rest = False
            self._roster.emit(TeammateWoke(actor=teammate.ref.id, team=self._roster.team, name=teammate.name))
        teammate.take(TeammateStep.TURN_TAKEN)
        self._is_in_turn, self._calls_before = True, self._calls

    def _end_well(self, ctx: Context) -> None:
        teammate, has_item = self._teammate, self._is_done_with_item(ctx)
        teammate.idling = Idling(reason=IdleReason.AVAILABLE, item=teammate.item if has_item else "")
        if has_item:
            if self._roster.home.holds(teammate.name, teammate.item):
                self._tell_board(TurnOver(member=teammate.name, item=teammate.item))
            teammate.item = ""
        self._rest(ctx)

    def _end_badly(self, idling: Idling, ctx: Context) -> None:
        teammate, has_item = self._teammate, self._is_done_with_item(ctx)
        teammate.idling = idling if has_item else attrs.evolve(idling, item="")
        if has_item:
            is_failure = idling.reason is IdleReason.FAILED
            why = f"its turn failed: {idling.failure}" if is_failure else "its turn was ended"
            self._tell_board(GiveBack(member=teammate.name, item=teammate.item, why=why, is_failure=is_failure))
            teammate.item = ""
        self._rest(ctx)

    def _is_done_with_item(self, ctx: Context) -> bool:
        """Return True if it had an item and no further turn will resume it."""
        is_resumed = any(isinstance(message, Note) and message.origin in _OWN for message in _mail(ctx))
        return self._teammate.item != "" and not is_resumed

    def _rest(self, ctx: Context) -> None:
        """Ask the board for work, unless something is waiting or the actor is ending."""
        if not (ctx.is_ending or _mail(ctx)):
            takes_items = takes(self._teammate.status, WorkSource.ITEM)
            self._tell_board(Idle(member=self._teammate.name, ref=ctx.ref, takes_items=takes_items))

    def _count_crash(self, error: BaseException | None, ctx: Context) -> None:
        crashes = self._teammate.crashes
        if not crashes.spend(ctx.recorder.now()):
            ctx.ref.kill(f"it crashed more than {crashes.intensity} times in {crashes.period_s:g} s: {error}")

    @property
    def _has_called(self) -> bool:
        return self._calls != self._calls_before

    @property
    def _calls(self) -> int:
        progress = self._home.run.progress
        return 0 if progress is None else progress.tool_use_count

    # --- hooks ------------------------------------------------------------------------------------------------------

    async def _is_kept_going(self, ctx: Context) -> bool:
        """Run the hooks that may object to idling; return True if their reasons start another turn."""
        teammate, roster = self._teammate, self._roster
        if _mail(ctx) or ctx.is_ending:
            return False
        hooks = self._home.profile.hooks
        if hooks is None or not (hooks.has(HookEvent.TEAMMATE_IDLE) or hooks.has(HookEvent.TASK_COMPLETED)):
            teammate.guard.decide(_UNHEARD)
            return False
        hooking = Hooking(home=self._home, turn=TurnState(token=ctx.turn.token, seq=ctx.seq, recorder=ctx.recorder))
        try:
            said = [await refuse_idling(roster, teammate.name)]
            if hooking.has(HookEvent.TEAMMATE_IDLE) and not said[0]:
                told = TeammateIdleInput(teammate_name=teammate.name, team_name=roster.team)
                said += (await hooking.run(told)).block_reasons
        except StoppedByHook as error:
            ctx.ref.kill(str(error))
            return False
        reasons = tuple(filter(None, said))
        verdict = teammate.guard.decide(HookOutcome(event=HookEvent.TEAMMATE_IDLE, block_reasons=reasons))
        if verdict.warning:
            hooking.notice(HookEvent.TEAMMATE_IDLE.value, verdict.warning)
        if verdict.goes_on:
            ctx.ref.tell(
                Note("\n".join(map(reminder, verdict.said)), is_hidden=True, origin=HOOK), LANE_OF[WorkSource.LEAD]
            )
        return verdict.goes_on

    def _tell_board(self, message: Join | Idle | Occupied | GiveBack | TurnOver) -> None:
        # Lane `now`: a board that is full of commands must still learn who can work on them.
        self._roster.board.tell(message, Lane.NOW)


def _mail(ctx: Context) -> list[object]:
    """Return the messages that wait for an actor, except asks, which may be withdrawn before they are taken."""
    found: list[object] = []

    def look(waiting: Sequence[Envelope[Any]]) -> Sequence[Envelope[Any]]:
        found.extend(envelope.message for envelope in waiting if envelope.reply is None)
        return ()

    if ctx.has_mail:
        with ctx.pick(look):
            pass
    return found

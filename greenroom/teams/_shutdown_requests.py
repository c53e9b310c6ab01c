"""Shutdown requests to teammates: a request, its model's answer, and a deadline.

Rule 1: each request has exactly one outcome. Rule 2: an answer is a `shutdown_response`; plain text is not an answer.
Rule 3: an approved request ends only when the actor has ended. Rule 4: if there is a deadline, the teammate ends soon
after it in any case: its turn is aborted, it is stopped, it is killed. Rule 5: a teammate that has approved ends even
if its answer cannot be recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import Behavior, Context, Down, Ref
from greenroom.agents.delegation import SendMessageCall
from greenroom.agents.subagents import SendRefused, Told, not_recorded
from greenroom.core import IllegalTransition, JournalError, Stopping, UsageError
from greenroom.mailbox import Lane
from greenroom.supervisor import ChildSpec, Restart, Supervisor
from greenroom.teams._mail import TeamMail
from greenroom.teams._member_names import LEAD
from greenroom.teams._protocol_json import write_text
from greenroom.teams._request_events import ShutdownAnswered, ShutdownAsked, ShutdownSettled
from greenroom.teams._roster import Member
from greenroom.teams._team_protocol import (
    AnswerShutdown,
    AskShutdown,
    ShutdownApproved,
    ShutdownRejected,
    ShutdownRequest,
)
from greenroom.teams._teammate_status import MemberStatus, TeammateStep

FINISH_S: Final = 60.0
"""Seconds for the turn in which a teammate has approved; then it is aborted."""
FORCE_S: Final = 2.0
"""Seconds for a teammate's work after the deadline; then it is killed."""
_ROUNDING_S: Final = 1e-6
_HOW: Final = (
    "Your lead asks you to end. Answer with {tool}, to {lead}, with the message "
    '{{"type": "shutdown_response", "request_id": "{id}", "approve": true}}; or with "approve": false and a "reason", if you have to '
    "go on. Any other text is no answer."
)


# --- the states of a request, pure --------------------------------------------------------------------------------------


class ShutdownState(StrEnum):
    """State of a request; the last five are its outcomes."""

    ASKED = "asked"
    AGREED = "agreed"
    """Its teammate has approved, and has not ended yet."""
    OVERDUE = "overdue"
    """The deadline has passed, and the teammate is being ended."""
    APPROVED = "approved"
    REJECTED = "rejected"
    FORCED = "forced"
    ENDED = "ended"
    """The teammate ended before it answered: it was killed, it crashed permanently, or its team was closed."""
    WITHDRAWN = "withdrawn"
    """It could not be handed over; the teammate does not know of it."""


class ShutdownStep(StrEnum):
    """Steps in the life of a request."""

    APPROVE = "approve"
    REJECT = "reject"
    DEADLINE = "deadline"
    WITHDRAW = "withdraw"
    END = "end"
    """The teammate has ended."""


_S, _E = ShutdownState, ShutdownStep
TRANSITIONS: Final[Mapping[ShutdownState, Mapping[ShutdownStep, ShutdownState]]] = {
    _S.ASKED: {
        _E.APPROVE: _S.AGREED,
        _E.REJECT: _S.REJECTED,
        _E.DEADLINE: _S.OVERDUE,
        _E.WITHDRAW: _S.WITHDRAWN,
        _E.END: _S.ENDED,
    },
    _S.AGREED: {_E.DEADLINE: _S.OVERDUE, _E.END: _S.APPROVED},
    _S.OVERDUE: {_E.END: _S.FORCED},
    _S.APPROVED: {},
    _S.REJECTED: {},
    _S.FORCED: {},
    _S.ENDED: {},
    _S.WITHDRAWN: {},
}
_ENDING: Final = frozenset((_S.AGREED, _S.OVERDUE))
OUTCOMES: Final = frozenset(state for state, row in TRANSITIONS.items() if not row)


def step(state: ShutdownState, event: ShutdownStep) -> ShutdownState:
    """Return the state that follows.

    Raises:
        IllegalTransition: The table has no cell for this pair.
    """
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise IllegalTransition(state=state, event=event) from None


# --- one request --------------------------------------------------------------------------------------------------------


@final
@attrs.define(kw_only=True, eq=False, repr=False)
class ShutdownAsk:
    """One request. Made by `Shutdowns.ask`."""

    id: str
    name: str
    """Name of the teammate."""
    reason: str
    deadline_s: float = math.inf
    """Time on the run's clock at which the teammate is ended in any case."""
    state: ShutdownState = ShutdownState.ASKED
    answer: str = ""
    """Reason for a refusal."""
    settled: trio.Event = attrs.field(factory=trio.Event)

    def __repr__(self) -> str:
        return f"<ShutdownAsk {self.id}: {self.state}>"

    def can(self, event: ShutdownStep) -> bool:
        """Return True if a step is allowed now."""
        return event in TRANSITIONS[self.state]


@final
@attrs.frozen(kw_only=True)
class ShutdownOutcome:
    """Outcome of a shutdown request.

    Attributes:
        state: `approved`, `rejected`, `forced`, `ended` or `withdrawn`.
        reason: Reason for a refusal; else empty.
    """

    state: ShutdownState
    reason: str = ""

    @property
    def has_ended(self) -> bool:
        """True if the teammate has ended."""
        return self.state not in {ShutdownState.REJECTED, ShutdownState.WITHDRAWN}


# --- the requests of a team ---------------------------------------------------------------------------------------------


@final
class Shutdowns:
    """The shutdown requests of one team.

    Args:
        mail: Carries the requests and the answers.
        supervisor: The team's supervisor.
        wall: The date and time in UTC.
        deadline_s: Default deadline in seconds; `math.inf` waits for the answer.
    """

    def __init__(
        self, mail: TeamMail, supervisor: Supervisor, wall: Callable[[], datetime], *, deadline_s: float
    ) -> None:
        self.requests: dict[str, ShutdownAsk] = {}
        """Open requests, by id."""
        self._mail = mail
        self._roster = mail.roster
        self._supervisor = supervisor
        self._wall = wall
        self._deadline_s = deadline_s
        self._deadlines: Ref[Any] | None = None
        self._last_ms = 0
        mail.handlers[AskShutdown] = self._ask_by_tool
        mail.handlers[AnswerShutdown] = self._answer
        mail.again[ShutdownRequest] = lambda _: ""  # a request ends with the team

    def open_for(self, name: str) -> ShutdownAsk | None:
        """Return the open request to a teammate."""
        return next((request for request in self.requests.values() if request.name == name), None)

    @property
    def is_ending(self) -> bool:
        """True if a teammate is about to end, because it has approved or its deadline has passed."""
        return any(request.state in _ENDING for request in self.requests.values())

    async def ask(self, member: Member, reason: str = "", *, deadline_s: float | None = None) -> ShutdownAsk:
        """Ask a teammate to end; if it was asked already, that request counts, with the earlier deadline.

        Args:
            member: The teammate.
            reason: Text for its model.
            deadline_s: Seconds until it is ended in any case; None for the team's default.

        Raises:
            JournalError: The request could not be recorded; nobody was asked.
            SendRefused: It has ended.
            UsageError: The seconds are not above 0, or it is the lead.
        """
        deadline_s = self._deadline_s if deadline_s is None else deadline_s
        if not deadline_s > 0:
            raise UsageError(f"deadline_s must be more than 0, got {deadline_s!r}")
        if member.is_lead:
            raise UsageError("cannot shut down the lead: it is the session's main agent")
        request = self.open_for(member.name)
        if request is None:
            request = await self._send(member, reason)
        await self._bring_forward(request, deadline_s)
        return request

    async def end(self, member: Member, reason: str, deadline_s: float | None) -> ShutdownOutcome:
        """Ask a teammate to end and wait for the outcome; one that cannot be asked is ended at once.

        If cancelled, the request remains open.
        """
        try:
            request = await self.ask(member, reason, deadline_s=deadline_s)
        except JournalError:  # a failing disk must not keep it alive
            request = self.open_for(member.name) or self._register(member, reason)
            self._force(request)
        except SendRefused:
            return ShutdownOutcome(state=ShutdownState.ENDED)
        await request.settled.wait()
        return ShutdownOutcome(state=request.state, reason=request.answer)

    # --- asking ----------------------------------------------------------------------------------------------------

    async def _ask_by_tool(self, me: Member, letter: SendMessageCall, said: AskShutdown) -> Told:
        if not me.is_lead:
            raise SendRefused("not_yours", "only the lead can ask a member to end")
        (member,) = self._mail.targets(letter, me)
        try:
            request = await self.ask(member, said.reason)
        except JournalError as error:
            raise not_recorded(letter, member.name) from error
        left_s = request.deadline_s - trio.current_time()
        limit = "" if math.isinf(left_s) else f" In {left_s:.0f} s it is ended whatever it says."
        text = (
            f"Shutdown request {request.id} sent to {member.name}. It answers itself; TaskStop ends it at once.{limit}"
        )
        return Told(text=text, target=member.name, sender=me.name, more={"request_id": request.id})

    async def _send(self, member: Member, reason: str) -> ShutdownAsk:
        request = self._register(member, reason)
        message = ShutdownRequest(
            sender=LEAD, request_id=request.id, reason=reason, timestamp=self._wall().isoformat(timespec="milliseconds")
        )
        how = _HOW.format(tool="SendMessage", lead=LEAD, id=request.id)
        try:
            failed = await self._mail.hand_over(
                LEAD,
                [member],
                f"{write_text(message)}\n{how}",
                f"shutdown request: {reason}" if reason else "shutdown request",
                lane=Lane.NOW,
                message=message,
            )
            if failed:
                raise SendRefused("ended", f"{member.name} {failed[member.name]}")
        except BaseException:
            if request.can(ShutdownStep.WITHDRAW):
                self._settle(request, step(request.state, ShutdownStep.WITHDRAW), "it could not be handed over")
            raise
        if member.status is not MemberStatus.ENDED:
            member.take(TeammateStep.SHUTDOWN_ASKED)
        return request

    def _register(self, member: Member, reason: str) -> ShutdownAsk:
        """Create a request and watch its teammate; there is no checkpoint between looking for an open one and this."""
        self._last_ms = max(self._last_ms + 1, int(self._wall().timestamp() * 1000))
        request = ShutdownAsk(id=f"shutdown-{self._last_ms}@{member.name}", name=member.name, reason=reason)
        self.requests[request.id] = request
        self._roster.emit(
            ShutdownAsked(
                actor=member.home.profile.id, team=self._roster.team, request=request.id, to=member.name, reason=reason
            )
        )
        member.ref.watch(partial(self._note_end, request))
        return request

    # --- answering -------------------------------------------------------------------------------------------------

    async def _answer(self, me: Member, letter: SendMessageCall, said: AnswerShutdown) -> Told:
        request = self.requests.get(said.request_id)
        if request is None or request.name != me.name:
            mine = self.open_for(me.name)
            hint = f"; the request to you is {mine.id!r}" if mine is not None else "; you were not asked to end"
            raise SendRefused("unreadable", f"{said.request_id!r} is not a shutdown request to you{hint}")
        if said.approve:
            return await self._approve(me, letter, request)
        if not said.reason.strip():
            raise SendRefused("unreadable", "a refusal needs a reason; say why you continue")
        return await self._reject(me, letter, request, said.reason.strip())

    async def _approve(self, me: Member, letter: SendMessageCall, request: ShutdownAsk) -> Told:
        text = "You have approved, and end when this turn is over."
        if request.can(ShutdownStep.APPROVE):
            request.state = step(request.state, ShutdownStep.APPROVE)
            self._note_answer(me, request, is_approved=True)
            me.ref.stop(grace_s=FINISH_S, why="it has approved of its shutdown")
            message = ShutdownApproved(
                sender=me.name, request_id=request.id, timestamp=self._now(), backend_type="in-process"
            )
            try:
                await self._mail.hand_over(
                    me.name, [self._roster.lead], write_text(message), "shutdown approved", message=message
                )
            except JournalError:
                text += " The confirmation could not be written to team-lead's inbox."
        return Told(text=text, target=LEAD, sender=me.name, more={"request_id": request.id})

    async def _reject(self, me: Member, letter: SendMessageCall, request: ShutdownAsk, reason: str) -> Told:
        late = SendRefused("unreadable", "cannot refuse any more: you are being ended")
        if not request.can(ShutdownStep.REJECT):
            raise late
        message = ShutdownRejected(sender=me.name, request_id=request.id, timestamp=self._now(), reason=reason)
        try:
            await self._mail.hand_over(
                me.name,
                [self._roster.lead],
                write_text(message),
                f"shutdown rejected: {reason}",
                lane=Lane.NEXT,
                message=message,
            )
        except JournalError as error:
            raise not_recorded(letter, LEAD) from error
        if not request.can(ShutdownStep.REJECT):  # the deadline passed while it was recorded
            raise late
        request.answer = reason
        if me.status is MemberStatus.SHUTDOWN_REQUESTED:
            me.take(TeammateStep.SHUTDOWN_REFUSED)
        self._note_answer(me, request, is_approved=False)
        self._settle(request, step(request.state, ShutdownStep.REJECT), reason)
        text = f"Your lead is told that you go on: {reason}"
        return Told(text=text, target=LEAD, sender=me.name, more={"request_id": request.id})

    def _note_answer(self, me: Member, request: ShutdownAsk, *, is_approved: bool) -> None:
        self._roster.emit(
            ShutdownAnswered(
                actor=me.home.profile.id,
                team=self._roster.team,
                request=request.id,
                by=me.name,
                is_approved=is_approved,
                reason=request.answer,
            )
        )

    def _now(self) -> str:
        return self._wall().isoformat(timespec="milliseconds")

    # --- ends ------------------------------------------------------------------------------------------------------

    def _note_end(self, request: ShutdownAsk, _: Down) -> None:
        if request.can(ShutdownStep.END):
            self._settle(request, step(request.state, ShutdownStep.END), "")

    def _settle(self, request: ShutdownAsk, outcome: ShutdownState, reason: str) -> None:
        request.state = outcome
        self.requests.pop(request.id, None)
        self._roster.emit(
            ShutdownSettled(
                team=self._roster.team, request=request.id, to=request.name, outcome=outcome.value, reason=reason
            )
        )
        request.settled.set()

    async def _bring_forward(self, request: ShutdownAsk, deadline_s: float) -> None:
        at_s = trio.current_time() + deadline_s
        if at_s >= request.deadline_s or request.state in OUTCOMES:
            return
        request.deadline_s = at_s
        if self._deadlines is None or self._deadlines.is_gone:
            spec = ChildSpec(restart=Restart.TEMPORARY)
            try:
                self._deadlines = await self._supervisor.spawn(ShutdownDeadlines, self._on_deadline, spec=spec)
            except Stopping:  # all members are being ended
                return
        self._deadlines.tell(_Set(request, max(0.0, at_s - trio.current_time())), Lane.NOW)

    def _on_deadline(self, request: ShutdownAsk) -> None:
        if trio.current_time() + _ROUNDING_S >= request.deadline_s:  # otherwise the deadline was moved
            self._force(request)

    def _force(self, request: ShutdownAsk) -> None:
        """End a teammate: its turn, then itself, then by force; this does not wait."""
        if not request.can(ShutdownStep.DEADLINE):
            return
        request.state = step(request.state, ShutdownStep.DEADLINE)
        member = self._roster.members.get(request.name)
        if member is None:
            return
        why = f"it had not ended at the deadline of {request.id}"
        member.ref.abort_turn(why=why)
        member.ref.stop(grace_s=FORCE_S, why=why)


@final
@attrs.frozen
class _Set:
    request: ShutdownAsk
    after_s: float


@final
@attrs.frozen
class _Due:
    request: ShutdownAsk


@final
class ShutdownDeadlines(Behavior[_Set | _Due]):
    """Reports when the deadline of a request has passed."""

    def __init__(self, on_due: Callable[[ShutdownAsk], None]) -> None:
        self._on_due = on_due

    def on_message(self, message: _Set | _Due, ctx: Context) -> None:
        """Set a timer, or report that it has expired."""
        if isinstance(message, _Set):
            ctx.send_after(message.after_s, _Due(message.request), lane=Lane.NOW)
        else:
            self._on_due(message.request)

"""Plans of teammates that await the lead's approval: the tool `ExitPlanMode`, and the answers.

Rule 1: until its plan is approved a teammate changes nothing. Rule 2: only the lead or the host answers; the lead
decides without the user, and grants no more than it has itself. Rule 3: a plan or an answer that cannot be recorded
does not count. Rule 4: a plan waits until it is answered or its teammate has ended, also if the team is closed and
opened again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.agents.delegation import SendMessageCall
from greenroom.agents.subagents import SendRefused, Told, not_recorded
from greenroom.core import JournalError, UsageError
from greenroom.mailbox import Lane
from greenroom.permissions import Mode, Policy, parse_mode
from greenroom.teams._mail import TeamMail
from greenroom.teams._member_names import LEAD
from greenroom.teams._protocol_json import write_text
from greenroom.teams._request_events import PlanAnswered, PlanSubmitted
from greenroom.teams._roster import Member
from greenroom.teams._team_protocol import AnswerPlan, PlanApprovalRequest, PlanApprovalResponse
from greenroom.teams._teammate_status import MemberStatus, TeammateStep
from greenroom.tools import InvalidInput, Problem, ToolContext, ToolError, validate

EXIT_PLAN_MODE: Final = "ExitPlanMode"
CARRY_OUT: Final = "Your plan is approved: carry it out."
CHANGE: Final = "Your plan is not approved: change it, and hand it in again."
NOT_SUBMITTED: Final = "Failed to write the plan approval request to the lead's inbox — plan not submitted; try again. You are in plan mode still."
UNKNOWN_LATER: Final = "Your lead has your plan, but it could not be put on record that it waits. End your turn; if nobody answers, hand it in again."
_ABOUT: Final = (
    "Hand in your plan. You are in plan mode: you may look at things, and change nothing. Your lead reads the plan and approves it, or "
    "says what to change; end your turn and wait for its word. Until it has approved, nothing may be changed."
)
_HOW: Final = (
    "A teammate waits for your word on its plan. Answer with SendMessage, to {name}, with the message "
    '{{"type": "plan_approval_response", "request_id": "{id}", "approve": true}}; or with "approve": false and a "feedback".'
)
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"plan": {"type": "string", "description": "All of the plan, as Markdown."}},
    "required": ["plan"],
}

WritePlan = Callable[[str, int, str], Awaitable[Path]]
"""Writes a plan of an agent, given its id, the number of the plan and its text; raises `OSError`."""


@final
@attrs.define(kw_only=True, eq=False)
class PlanRequest:
    """A plan that awaits the lead's answer."""

    id: str
    name: str
    """Name of the teammate."""
    plan: str
    path: Path
    is_being_answered: bool = False


@final
class PlanRequests:
    """The plans of one team.

    Args:
        mail: Carries the plans and the answers.
        wall: The date and time in UTC.
        write: Writes a plan into the run folder.
        last: The highest number of a plan of this team.
    """

    def __init__(self, mail: TeamMail, wall: Callable[[], datetime], write: WritePlan, *, last: int = 0) -> None:
        self.requests: dict[str, PlanRequest] = {}
        """Waiting plans, by id."""
        self._mail = mail
        self._roster = mail.roster
        self._wall = wall
        self._write = write
        self._count = last
        mail.handlers[AnswerPlan] = self._answer_by_tool
        mail.again[PlanApprovalRequest] = self._say_again

    def open_for(self, name: str) -> PlanRequest | None:
        """Return the waiting plan of a teammate."""
        return next((request for request in self.requests.values() if request.name == name), None)

    # --- handing in ------------------------------------------------------------------------------------------------

    async def submit(self, me: Member, plan: str) -> PlanRequest:
        """Submit the plan of a teammate, which then waits for an answer.

        If cancelled before it is on its way, it was not submitted.

        Raises:
            ToolError: The teammate is not in plan mode, has a waiting plan already, or nothing could be recorded.
        """
        if me.home.profile.policy is None or not me.home.profile.must_plan:
            raise ToolError("you are not in plan mode any more: your plan was approved, so go on with the work")
        waiting = self.open_for(me.name)
        if waiting is not None:
            raise ToolError(f"plan {waiting.id} is already awaiting approval; end your turn")
        self._count += 1
        number, ms = self._count, int(self._wall().timestamp() * 1000)
        try:
            path = await self._write(me.home.profile.id, number, plan)
            request = PlanRequest(id=f"plan-{ms}-{number}@{me.name}", name=me.name, plan=plan, path=path)
            message = PlanApprovalRequest(
                sender=me.name,
                request_id=request.id,
                plan_content=plan,
                plan_file_path=str(path),
                timestamp=self._wall().isoformat(timespec="milliseconds"),
            )
            how = _HOW.format(name=me.name, id=request.id)
            text = f"{write_text(message)}\n{how}"
            failed = await self._mail.hand_over(
                me.name, [self._roster.lead], text, f"plan of {me.name}", message=message
            )
        except (JournalError, OSError) as error:
            raise ToolError(NOT_SUBMITTED) from error
        if failed:
            raise ToolError(f"{NOT_SUBMITTED} ({failed[LEAD]})")
        self.requests[request.id] = request
        if me.status is not MemberStatus.ENDED:
            me.take(TeammateStep.PLAN_HANDED_IN)
        self._roster.emit(
            PlanSubmitted(
                actor=me.home.profile.id,
                team=self._roster.team,
                request=request.id,
                by=me.name,
                path=path.name,
                number=number,
            )
        )
        try:
            await self._roster.wait_durable()
        except JournalError as error:
            raise ToolError(UNKNOWN_LATER) from error
        return request

    def wait_again(self, me: Member, request: PlanRequest) -> None:
        """Restore a plan that was already waiting when its team was closed, for a teammate that has just returned."""
        self.requests[request.id] = request
        me.take(TeammateStep.PLAN_HANDED_IN)

    def forget(self, name: str) -> None:
        """Drop the waiting plans of an ended teammate: nobody can answer them."""
        self.requests = {number: request for number, request in self.requests.items() if request.name != name}

    def tool(self, name: str) -> ExitPlanMode:
        """Return the tool with which the teammate of that name submits its plan."""

        async def submit(plan: str) -> PlanRequest:
            member = self._roster.members.get(name)
            if member is None:
                raise ToolError("you are no longer a member of this team")
            return await self.submit(member, plan)

        return ExitPlanMode(submit)

    def _say_again(self, message: PlanApprovalRequest) -> str:
        """Return the text of a plan that was unread when the team was closed; empty if the plan no longer waits."""
        if message.request_id not in self.requests:
            return ""
        return f"{write_text(message)}\n{_HOW.format(name=message.sender, id=message.request_id)}"

    # --- answering -------------------------------------------------------------------------------------------------

    async def answer(
        self, request_id: str, *, approve: bool, feedback: str = "", permission_mode: str | None = None
    ) -> Mode:
        """Answer a waiting plan, and return its teammate's new permission mode.

        If cancelled before it is on its way, it was not answered.

        Args:
            request_id: Id of the request.
            approve: True if the teammate may work as planned; else it plans again.
            feedback: Text for the teammate.
            permission_mode: The mode that it works in; None for the lead's.

        Raises:
            UsageError: No such plan is waiting, or the mode is unknown.
            JournalError: It could not be recorded.
        """
        request, member = self._waiting(request_id)
        policy = member.home.profile.policy
        assert policy is not None
        after = self._policy_after(policy, permission_mode) if approve else policy
        message = PlanApprovalResponse(
            request_id=request_id,
            approved=approve,
            feedback=feedback,
            permission_mode=after.mode.value if approve else "",
            timestamp=self._wall().isoformat(timespec="milliseconds"),
        )
        goes_on, summary = (CARRY_OUT, "plan approved") if approve else (CHANGE, "plan rejected")
        text = f"{write_text(message)}\n{goes_on}"
        request.is_being_answered = True
        try:
            failed = await self._mail.hand_over(LEAD, [member], text, summary, lane=Lane.NEXT, message=message)
        finally:
            request.is_being_answered = False
        self.requests.pop(request_id, None)
        if failed:
            raise UsageError(f"{member.name}: {failed[member.name]}")
        self._go_on(member, after, must_plan=not approve)
        self._roster.emit(
            PlanAnswered(
                actor=self._roster.lead.home.profile.id,
                team=self._roster.team,
                request=request_id,
                to=member.name,
                is_approved=approve,
                mode=after.mode.value,
                feedback=feedback,
            )
        )
        await self._roster.wait_durable()
        return after.mode

    def _waiting(self, request_id: str) -> tuple[PlanRequest, Member]:
        """Return a waiting plan and its teammate."""
        request = self.requests.get(request_id)
        member = None if request is None else self._roster.members.get(request.name)
        if request is None or member is None or request.is_being_answered:
            waiting = ", ".join(self.requests) or "none"
            raise UsageError(f"no plan {request_id!r} is awaiting approval; waiting: {waiting}")
        return request, member

    def _go_on(self, member: Member, policy: Policy, *, must_plan: bool) -> None:
        """Resume a teammate that waited for the answer to its plan."""
        member.home.replace(policy=policy, must_plan=must_plan)
        if member.status is MemberStatus.AWAITING_PLAN:
            member.take(TeammateStep.PLAN_ANSWERED)
        member.answered += 1
        if member.home.context is not None:
            member.home.context.enter(member.answered)

    def _policy_after(self, policy: Policy, permission_mode: str | None) -> Policy:
        leading = self._roster.lead.home.profile.policy
        if permission_mode is not None:
            return policy.with_mode(parse_mode(permission_mode))
        return policy.with_mode(Mode.DEFAULT if leading is None else leading.mode)

    async def _answer_by_tool(self, me: Member, letter: SendMessageCall, said: AnswerPlan) -> Told:
        if not me.is_lead:
            raise SendRefused("not_yours", "only the lead answers plans")
        request = self.requests.get(said.request_id)
        name = "" if request is None else request.name
        try:
            mode = await self.answer(said.request_id, approve=said.approve, feedback=said.feedback)
        except UsageError as error:
            raise SendRefused("unreadable", str(error)) from error
        except JournalError as error:
            raise not_recorded(letter, name) from error
        what = f"approved; {name} works in mode {mode.value}" if said.approve else f"rejected; {name} plans anew"
        return Told(text=f"Plan {what}.", target=name, sender=me.name, more={"request_id": said.request_id})


@final
@attrs.frozen(eq=False, repr=False)
class ExitPlanMode:
    """The tool with which a teammate submits its plan; made by `PlanRequests.tool`."""

    submit: Callable[[str], Awaitable[PlanRequest]]
    name: str = EXIT_PLAN_MODE
    description: str = _ABOUT
    input_schema: Mapping[str, Any] = attrs.field(factory=lambda: _SCHEMA)
    is_read_only: bool = False
    records_itself: bool = True
    acts_on_session: bool = True
    """The lead decides; no person is asked."""

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Submit the plan.

        Raises:
            ToolError: It was not submitted.
        """
        problems = validate(_SCHEMA, input)
        if not problems and not str(input["plan"]).strip():
            problems = [Problem("plan", "", "what you are going to do")]
        if problems:
            raise InvalidInput(self.name, tuple(problems))
        request = await self.submit(str(input["plan"]))
        ctx.attach(
            {
                "plan": request.plan,
                "isAgent": True,
                "filePath": str(request.path),
                "awaitingLeaderApproval": True,
                "requestId": request.id,
            }
        )
        return (
            f"Your plan was handed in to your lead ({request.path}) and waits for its word; request {request.id}. End your turn now: "
            "you are told whether it is approved. Until then you may change nothing."
        )

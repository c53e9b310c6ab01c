"""Plans of mates that wait for the lead's word: the tool `ExitPlanMode`, and the answers (agents 7H).

Rule 1: until its plan is approved a mate changes nothing. Rule 2: only the lead's word counts, or the host's; it decides without the
user, and gives no more than it has itself. Rule 3: a plan that cannot be put on record was not handed in, and an answer that cannot
be was not given. Rule 4: a plan waits until it is answered or its mate has ended, also where the team is closed and opened again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.agents.crew import SendRefused, Told, not_recorded
from greenroom.agents.delegation import Letter
from greenroom.core import JournalError, UsageError
from greenroom.mailbox import Lane
from greenroom.permissions import Mode, Policy, parse_mode
from greenroom.teams._lifecycle import MateStep, MemberStatus
from greenroom.teams._mail import TeamMail
from greenroom.teams._names import LEAD
from greenroom.teams._protocol import AnswerPlan, PlanApprovalRequest, PlanApprovalResponse
from greenroom.teams._request_events import PlanAnswered, PlanSubmitted
from greenroom.teams._roster import Member
from greenroom.teams._wire import write_text
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
    "A mate waits for your word on its plan. Answer with SendMessage, to {name}, with the message "
    '{{"type": "plan_approval_response", "request_id": "{id}", "approve": true}}; or with "approve": false and a "feedback".'
)
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"plan": {"type": "string", "description": "All of the plan, as Markdown."}},
    "required": ["plan"],
}

WritePlan = Callable[[str, int, str], Awaitable[Path]]
"""Writes the plan of an agent, given its id, the number of the plan and its text; raises `OSError`."""


@final
@attrs.define(kw_only=True, eq=False)
class PlanRequest:
    """A plan that waits for the lead's word."""

    id: str
    name: str
    """Of the mate."""
    plan: str
    path: Path
    is_being_answered: bool = False


@final
class Plans:
    """The plans of one team.

    Args:
        mail: What they and the answers travel by.
        wall: The date and time in UTC.
        write: Writes a plan into the run folder.
        last: The highest number of a plan of this team.
    """

    def __init__(self, mail: TeamMail, wall: Callable[[], datetime], write: WritePlan, *, last: int = 0) -> None:
        self.requests: dict[str, PlanRequest] = {}
        """Those that wait, by their ids."""
        self._mail = mail
        self._roster = mail.roster
        self._wall = wall
        self._write = write
        self._count = last
        mail.handlers[AnswerPlan] = self._answer_by_tool
        mail.again[PlanApprovalRequest] = self._say_again

    def open_for(self, name: str) -> PlanRequest | None:
        """Return the plan of a mate that waits."""
        return next((one for one in self.requests.values() if one.name == name), None)

    # --- handing in ------------------------------------------------------------------------------------------------

    async def submit(self, me: Member, plan: str) -> PlanRequest:
        """Hand in the plan of a mate; it waits from then on.

        Cancelled before it is on its way, it was not handed in.

        Raises:
            ToolError: The mate is in no plan mode, a plan of it waits already, or nothing could be put on record.
        """
        if me.home.profile.policy is None or not me.home.profile.must_plan:
            raise ToolError("you are not in plan mode any more: your plan was approved, so go on with the work")
        waiting = self.open_for(me.name)
        if waiting is not None:
            raise ToolError(f"your plan {waiting.id} waits for your lead's word already; end your turn")
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
            me.take(MateStep.PLAN_HANDED_IN)
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
        """Let a mate wait for the word on a plan that waited already when its team was closed; it is just there again."""
        self.requests[request.id] = request
        me.take(MateStep.PLAN_HANDED_IN)

    def forget(self, name: str) -> None:
        """Let no plan of a mate wait any more that has ended: nobody can answer it."""
        self.requests = {number: one for number, one in self.requests.items() if one.name != name}

    def tool(self, name: str) -> ExitPlanMode:
        """Return the tool with which the mate of that name hands its plan in."""

        async def submit(plan: str) -> PlanRequest:
            member = self._roster.members.get(name)
            if member is None:
                raise ToolError("you are no member of this team any more")
            return await self.submit(member, plan)

        return ExitPlanMode(submit)

    def _say_again(self, message: PlanApprovalRequest) -> str:
        """Return what the lead reads of a plan that it had not read when the team was closed; nothing where none waits."""
        if message.request_id not in self.requests:
            return ""
        return f"{write_text(message)}\n{_HOW.format(name=message.sender, id=message.request_id)}"

    # --- answering -------------------------------------------------------------------------------------------------

    async def answer(
        self, request_id: str, *, approve: bool, feedback: str = "", permission_mode: str | None = None
    ) -> Mode:
        """Give the word on a plan that waits, and return the mode that its mate goes on in.

        Cancelled before it is on its way, it was not given.

        Args:
            request_id: Id of the request.
            approve: Whether the mate works as it has planned; else it plans anew.
            feedback: What it reads besides.
            permission_mode: The mode that it works in; None for the lead's.

        Raises:
            UsageError: No such plan waits, or there is no such mode.
            JournalError: It could not be put on record.
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
        """Return a plan that waits for an answer, and whose it is."""
        request = self.requests.get(request_id)
        member = None if request is None else self._roster.members.get(request.name)
        if request is None or member is None or request.is_being_answered:
            there_are = ", ".join(self.requests) or "none"
            raise UsageError(f"no plan {request_id!r} waits for an answer; these do: {there_are}")
        return request, member

    def _go_on(self, member: Member, policy: Policy, *, must_plan: bool) -> None:
        """Let a mate go on that waited for the word on its plan."""
        member.home.replace(policy=policy, must_plan=must_plan)
        if member.status is MemberStatus.AWAITING_PLAN:
            member.take(MateStep.PLAN_ANSWERED)
        member.answered += 1
        if member.home.context is not None:
            member.home.context.enter(member.answered)

    def _policy_after(self, policy: Policy, permission_mode: str | None) -> Policy:
        leading = self._roster.lead.home.profile.policy
        if permission_mode is not None:
            return policy.with_mode(parse_mode(permission_mode))
        return policy.with_mode(Mode.DEFAULT if leading is None else leading.mode)

    async def _answer_by_tool(self, me: Member, letter: Letter, said: AnswerPlan) -> Told:
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
    """The tool with which a mate hands its plan in; made by `Plans.tool`."""

    submit: Callable[[str], Awaitable[PlanRequest]]
    name: str = EXIT_PLAN_MODE
    description: str = _ABOUT
    input_schema: Mapping[str, Any] = attrs.field(factory=lambda: _SCHEMA)
    is_read_only: bool = False
    records_itself: bool = True
    acts_on_session: bool = True
    """The lead decides, and no person is asked."""

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Hand the plan in.

        Raises:
            ToolError: It was not handed in.
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

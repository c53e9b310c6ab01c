"""The decision about a tool call before it runs: hooks, rules, the reviewer, and people.

The order: PreToolUse hooks, which may rewrite the input; the rules and the mode, about what they made of it; in
the mode auto, the reviewer; where these say ask, PermissionRequest hooks, then the host's function, then the queue of the session. A refusal is
an error result, and the agent continues. An input that was put in the place of the model's is decided about anew.
Nobody's text counts as consent: an answer comes through the host. A reviewer allows a call by saying so, and by nothing
else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.agents._agent_run import Denial
from greenroom.agents._call_hooks import CallHooks
from greenroom.agents._effect_calls import ask_person
from greenroom.agents._review_requests import review_call
from greenroom.agents._services import PermissionQuestion
from greenroom.agents._state import AgentState
from greenroom.agents._turn_hooks import Hooking
from greenroom.agents.events._agent_events import (
    CallDeferred,
    PermissionAnswered,
    PermissionAsked,
    PermissionDenied,
    PermissionReviewed,
)
from greenroom.agents.review import AutoMode, Review, ReviewOutcome
from greenroom.hooks import HookEvent, HookOutcome, Permission
from greenroom.hooks.inputs import NotificationInput, PermissionRequestInput, PreToolUseInput
from greenroom.mcp import McpTool, names_tool
from greenroom.models import ToolUseBlock
from greenroom.permissions import (
    Allow,
    Deny,
    Effect,
    Request,
    ToolKind,
    ToolTraits,
    Update,
    Verdict,
    check,
    files_hidden_from,
    read_update,
    traits_of,
)
from greenroom.tools import Tool, ToolError, acts_on_session
from greenroom.worktrees import Worktree, confine_path, why_refused

REASON_CHARS: Final = 500
REMARKS: Final = 100
"""Maximum number of remarks of hooks that a reviewer is shown."""
REMARK_CHARS: Final = 2_000
NOBODY: Final = "nobody"
"""The value of `who` for a question that nobody could be asked."""
_MAX_ROUNDS: Final = 3
"""Maximum number of decisions about one call, when each answer rewrites it."""

Emit: TypeAlias = Callable[..., int]


@final
class Refused(ToolError):
    """A call may not run; the model reads why."""


@final
class Deferred(Exception):
    """No error, but the way out of a turn whose only call is put off."""

    def __init__(self, call: ToolUseBlock) -> None:
        super().__init__(call.id)
        self.call = call


@final
@attrs.define(kw_only=True, eq=False)
class Guard:
    """Stands before the calls of one turn."""

    home: AgentState
    hooking: Hooking
    interrupt: Callable[[str], object]
    """Ends the turn, when a person wants that together with a refusal."""
    hooks: CallHooks = attrs.field(init=False)
    """The hooks of the calls."""
    _place: tuple[str, int, int, int] = attrs.field(init=False)
    """Agent, incarnation, `seq` of the turn's begin, turn: the fields that each event begins with."""
    _emit: Emit = attrs.field(init=False)
    _given: dict[str, Allow] = attrs.field(factory=dict)
    """The answers of a person that were given before the call was decided about, by its id; used once, where the rules ask."""
    _is_alone: bool = False
    """True if the message makes one call only."""
    _paths: dict[str, tuple[Path, ...]] = attrs.field(factory=dict)
    """The places that the paths of each call led to when it was decided about, by its id."""

    def __attrs_post_init__(self) -> None:
        turn = self.hooking.turn
        agent, incarnation, number = turn.token
        self._place, self._emit = (agent, incarnation, turn.seq, number), turn.recorder.emit_fields
        self.hooks = CallHooks(self.home, self.hooking)

    def expect(self, calls: Sequence[ToolUseBlock]) -> None:
        """Note the calls of a message, before they are run."""
        self._is_alone = len(calls) == 1

    def give(self, call_id: str, answer: Allow) -> None:
        """Note a person's answer about a call that is decided about later."""
        self._given[call_id] = answer

    async def _ask_hooks(self, call: ToolUseBlock, round_number: int) -> tuple[Mapping[str, Any], Effect | None]:
        """Return the input that hooks leave or make of a call's, and what they want to become of it.

        Raises as `admit` does.
        """
        values: Mapping[str, Any] = call.input
        if not self.hooking.has(HookEvent.PRE_TOOL_USE):
            return values, None
        told = PreToolUseInput(tool_name=call.name, tool_input=self.hooks.told(call, values), tool_use_id=call.id)
        outcome = await self.hooking.run(told)
        if outcome.is_blocked or outcome.permission is Permission.DENY:
            why = outcome.reason or outcome.permission_reason or "no reason was given"
            raise self._refused(call, values, f"a hook denies it: {why}", round_number)
        if outcome.permission is Permission.DEFER and self._is_alone and self.home.profile.may_defer:
            agent, incarnation, began, turn = self._place
            self._emit(CallDeferred, agent, incarnation, began, turn, round_number, call.id, call.name)
            raise Deferred(call)
        if outcome.updated_input is not None:
            values = outcome.updated_input
        return values, _EFFECT_OF.get(outcome.permission) if outcome.permission is not None else None

    async def admit(self, call: ToolUseBlock, tool: Tool, round_number: int) -> Mapping[str, Any]:
        """Return the input that a call is to run with.

        Cancelled, a question that waits is withdrawn.

        Raises:
            Refused: It may not run.
            Deferred: A hook puts it off.
            StoppedByHook: Nothing may.
            AutoModeEnded: It may not, after too many others, and nobody can be asked.
        """
        self.hooks.stand(call)
        values, hook = await self._ask_hooks(call, round_number)
        why = await self._why_never(call.name, values)
        if why:
            raise self._refused(call, values, why, round_number)
        policy = self.home.policy_now
        if policy is None:
            return values
        traits = _traits(call.name, tool)
        if hook is not Effect.ASK and policy.always_allows(call.name, traits):
            return values
        for _ in range(_MAX_ROUNDS):
            verdict = await self._decide(call, traits, values, hook)
            if verdict.effect is Effect.ALLOW:
                return values
            if verdict.effect is Effect.DENY:
                await self.hooks.tell_denied(call, values, verdict.reason)
                raise self._refused(call, values, verdict.reason, round_number)
            if self.home.profile.must_plan and traits.kind not in _LOOKS:
                why = "your plan is not approved yet: until then you may look at things, and change nothing"
                raise self._refused(call, values, why, round_number)
            decide = partial(self._decide, call, traits, values, hook)
            rewritten = await self._settle(call, values, verdict, round_number, decide)
            if rewritten is None:
                return values
            values, hook = rewritten, Effect.ALLOW
        raise self._refused(call, values, "it was rewritten again and again", round_number)

    async def _why_never(self, name: str, values: Mapping[str, Any]) -> str:
        """Return why a call may not run whatever rules say; empty if it may."""
        home = self.home
        for tool_name, skill in home.grants.removed:
            if names_tool(tool_name, name):
                return f"the skill {skill} takes it away until the user says something"
        refused = "" if home.profile.refusals is None else home.profile.refusals.refused(home.profile.id, name, values)
        if refused:
            return f"the user refused this very call to {refused}, and it stays refused until the user says otherwise"
        if home.profile.checkout is None:
            return ""
        return await home.services.blocking.run(why_outside, home, home.profile.checkout, name, values)

    def granted(self, call_id: str) -> tuple[Path, ...]:
        """Return where the paths of an admitted call led when it was decided about; once.

        They are what the call may reach, also outside of the agent's folders. Nothing where no path was judged.
        """
        return self._paths.pop(call_id, ())

    def hides(self, call: ToolUseBlock) -> Callable[[str], bool] | None:
        """Return what says which files a search must leave out; None for a call that searches nothing, or where nothing is hidden."""
        policy = self.home.policy_now
        if policy is None or not traits_of(call.name).searches:
            return None
        return files_hidden_from(call.name, policy, str(self.home.cwd))

    async def _decide(
        self, call: ToolUseBlock, traits: ToolTraits, values: Mapping[str, Any], hook: Effect | None
    ) -> Verdict:
        home = self.home
        policy = home.policy_now
        assert policy is not None
        request = Request(
            tool=call.name,
            input=values,
            cwd=str(home.cwd),
            policy=policy,
            traits=traits,
            hook=hook,
        )
        verdict = await check(request, home.services.blocking)
        if verdict.paths:
            self._paths[call.id] = tuple(map(Path, verdict.paths))
        return verdict

    async def _settle(
        self,
        call: ToolUseBlock,
        values: Mapping[str, Any],
        verdict: Verdict,
        round_number: int,
        decide: Callable[[], Awaitable[Verdict]],
    ) -> Mapping[str, Any] | None:
        """Ask whom the verdict names: the reviewer, or a person, also where the reviewer is paused. Returns what `_ask` does.

        Raises:
            Refused: The call may not run.
            AutoModeEnded: It may not, the reviewer is paused, and nobody can be asked.
        """
        auto = self.home.services.auto
        if verdict.reviewer != "classifier" or auto is None or call.id in self._given:
            return await self._ask(call, values, verdict, round_number)
        why = ""
        if not auto.count.is_paused:
            agent, incarnation, began, turn = self._place
            with self.home.doing(f"is reviewed: {call.name}"):
                review = await review_call(self.home, auto, agent=agent, emit=self._emit, call=call, values=values)
            place = (agent, incarnation, began, turn, round_number, call.id, call.name)
            self._emit(PermissionReviewed, *place, review.outcome.value, review.reason)
            if review.outcome is ReviewOutcome.ALLOWED:
                never = await self._why_never(call.name, values)
                if never:
                    raise self._refused(call, values, never, round_number)
                now = await decide()  # what was asked for may have changed in the meantime: rules, the mode, links
                if now.effect is Effect.ALLOW or now == verdict:
                    return None
                why = f"what counts was changed while it was reviewed ({now.reason}); you may try it again"
                raise self._refused(call, values, why, round_number)
            why = _not_allowed(review)
            if not auto.count.is_paused:
                may_retry = await self.hooks.tell_denied(call, values, why)
                retry = "; a hook says that you may try it again" if may_retry else ""
                raise self._refused(call, values, f"{why}{retry}", round_number)
        reason = f"{why or verdict.reason}; {_PAUSED}"
        return await self._ask(call, values, attrs.evolve(verdict, reason=reason), round_number, auto)

    async def _ask(
        self,
        call: ToolUseBlock,
        values: Mapping[str, Any],
        verdict: Verdict,
        round_number: int,
        auto: AutoMode | None = None,
    ) -> Mapping[str, Any] | None:
        """Return None if the call may run as it is, or the input that it is to run with instead.

        Args:
            call: The call.
            values: What it would run with.
            verdict: Why it is asked.
            round_number: The round of the call.
            auto: The reviewer in whose place somebody is asked.

        Raises:
            Refused: It may not.
            AutoModeEnded: Nobody can be asked, and that in the place of a reviewer.
        """
        agent, incarnation, began, turn = self._place
        began = self._emit(
            PermissionAsked, agent, incarnation, began, turn, round_number, call.id, call.name, verdict.reason
        )
        progress = self.home.run.progress
        if progress is not None:
            progress.note_question(call.id, call.name, trio.current_time())
        answer: Allow | Deny | None = None
        who = ""
        try:
            with self.home.doing(f"waits for permission: {call.name}"):
                ask = partial(self._answer, call, values, verdict)
                answer, who = await ask_person(call, values, verdict.reason, self.home, ask)
        finally:
            if progress is not None:
                progress.note_answer(call.id, trio.current_time())
            how = "withdrawn" if answer is None else "allowed" if isinstance(answer, Allow) else "denied"
            self._emit(PermissionAnswered, agent, incarnation, began, turn, round_number, call.id, call.name, how, who)
        self._note_word(call.name, values, answer, who)
        if isinstance(answer, Deny):
            if answer.interrupts:
                self.interrupt(answer.message)
            refused = self._refused(call, values, answer.message, round_number)
            if auto is not None and who == NOBODY:
                raise auto.end(call.name, verdict.reason) from refused
            raise refused
        if auto is not None and who in _USER:
            auto.resume()
        if answer.updates:
            await self.home.ports.keep_updates(self.home, answer.updates)
        return answer.input

    async def _answer(
        self, call: ToolUseBlock, values: Mapping[str, Any], verdict: Verdict
    ) -> tuple[Allow | Deny, str]:
        services = self.home.services
        if call.id in self._given:
            return self._given.pop(call.id), "person"
        if self.hooking.has(HookEvent.PERMISSION_REQUEST):
            suggestions = [suggestion.to_json() for suggestion in verdict.suggestions]
            shown = self.hooks.told(call, values)
            told = PermissionRequestInput(tool_name=call.name, tool_input=shown, permission_suggestions=suggestions)
            answer = _read_decision(await self.hooking.run(told))
            if answer is not None:
                return answer, "hook"
        label = self.home.profile.display_name
        if services.can_use_tool is not None or (services.approvals is not None and services.approvals.has_approver):
            message = f"{label} needs your permission to use {call.name}"
            self.hooking.tell(NotificationInput(message=message, notification_type="permission_prompt"))
        if services.can_use_tool is not None:
            question = PermissionQuestion(
                agent=self.home.profile.id, label=label, tool=call.name, input=values, verdict=verdict, call_id=call.id
            )
            answer = await services.can_use_tool(question)
            if answer is not None:
                return answer, "deadline" if isinstance(answer, Deny) and answer.cause == "deadline" else "host"
        if services.approvals is None:
            return Deny(message=f"{verdict.reason}, and nobody can be asked in this session", cause="closed"), NOBODY
        ended = await services.approvals.ask(
            agent=self.home.profile.id, label=label, tool=call.name, input=values, verdict=verdict, call_id=call.id
        )
        if ended.answer is None:
            return Deny(message="the question was withdrawn", cause="closed"), NOBODY
        if isinstance(ended.answer, Allow):
            return ended.answer, "person"
        who = {"person": "person", "deadline": "deadline", "closed": NOBODY}[ended.answer.cause]
        why = f"{verdict.reason}; {ended.answer.message}" if who != "person" else ended.answer.message
        return attrs.evolve(ended.answer, message=why), who

    def _note_word(self, name: str, values: Mapping[str, Any], answer: Allow | Deny, who: str) -> None:
        """Apply the user's answer about a call to the others of the team as well."""
        home = self.home
        if home.profile.refusals is None or who not in _USER:
            return
        if isinstance(answer, Allow):
            home.profile.refusals.lift(name, values)
        elif answer.cause == "person":  # else nobody decided
            home.profile.refusals.note(home.profile.id, home.profile.display_name, name, values)

    def refusal(self, call: ToolUseBlock, why: str, round_number: int) -> str:
        """Return what the model reads of a call that a person refused before it was decided about; it is recorded."""
        return str(self._refused(call, call.input, why, round_number))

    def _refused(self, call: ToolUseBlock, values: Mapping[str, Any], why: str, round_number: int) -> Refused:
        agent, incarnation, began, turn = self._place
        self.home.run.refuse(Denial(tool=call.name, call=call.id, input=values))
        self._emit(
            PermissionDenied, agent, incarnation, began, turn, round_number, call.id, call.name, why[:REASON_CHARS]
        )
        return Refused(
            f"{call.name} was not run: {why}. The refusal is about this call alone; go on another way, or say what you need."
        )


_PAUSED: Final = "auto mode is paused because it did not allow too many calls, so a person has to decide"
_ASKS: Final = ToolTraits(kind=ToolKind.INTERACTIVE)
_USER: Final = frozenset(("person", "host"))
"""The values of `who` that stand for the user."""
_ACTS_ON_SESSION: Final = ToolTraits(kind=ToolKind.SESSION)
_LOOKS: Final = frozenset((ToolKind.READ, ToolKind.NETWORK, ToolKind.SESSION))
_EFFECT_OF: Final = {
    Permission.ALLOW: Effect.ALLOW,
    Permission.ASK: Effect.ASK,
    Permission.DEFER: Effect.ASK,  # where it cannot be put off, people are asked
}


def _not_allowed(review: Review) -> str:
    if review.outcome is ReviewOutcome.BLOCKED:
        return f"auto mode blocks it: {review.reason}"
    return f"auto mode could not review it, and what is not reviewed does not run: {review.reason}"


def _traits(name: str, tool: Tool) -> ToolTraits:
    if acts_on_session(tool):
        return _ACTS_ON_SESSION
    is_asking = isinstance(tool, McpTool) and tool.needs_user
    return _ASKS if is_asking else traits_of(name, is_read_only=tool.is_read_only)


def _read_decision(outcome: HookOutcome) -> Allow | Deny | None:
    decision = outcome.decision
    if decision is None:
        return None
    if not decision.is_allowed:
        return Deny(message=decision.message or "a hook denies it", interrupts=decision.interrupt)
    updates: tuple[Update, ...] = tuple(
        read_update(updated_permission) for updated_permission in decision.updated_permissions
    )
    return Allow(input=decision.updated_input, updates=updates)


def why_outside(home: AgentState, tree: Worktree, tool: str, values: Mapping[str, Any]) -> str:
    """Return why a call must not run for an agent in its worktree; empty if it may. Looks at the disk."""
    traits = traits_of(tool)
    subject = values.get(traits.subject) if traits.subject else None
    if traits.kind is ToolKind.SHELL:
        return why_refused(str(values.get("command", "")), cwd=home.cwd, worktree=tree)
    if traits.kind is not ToolKind.EDIT or not isinstance(subject, str):
        return ""
    path = (home.cwd / subject).resolve()
    own = () if home.profile.policy is None else home.profile.policy.own_folders
    if any(path.is_relative_to(Path(folder).resolve()) for folder in own):
        return ""
    return confine_path(path, tree)

"""One turn of an agent: rounds of a model request and its tool calls, until the model has said what it had to say.

Rule 1: what is drained is appended to the conversation and acknowledged in one step. Rule 2: the conversation is one
that the provider accepts at every instant at which something is waited for, save while its last calls run; and however
the turn ends, these get their results before it does. Rule 3: a requested abort always ends the turn: it is looked for
after every batch and before the end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, final

import attrs
import trio
from trio.lowlevel import checkpoint_if_cancelled

from greenroom.actors import Context
from greenroom.agents._asking import Keep, ask_model
from greenroom.agents._blocks import open_calls
from greenroom.agents._calls import run_calls
from greenroom.agents._compacting import compact, make_room, make_small
from greenroom.agents._compaction import Compact, CompactionTrigger
from greenroom.agents._conversation import Appended, Conversation
from greenroom.agents._displaying import is_shown_later, show
from greenroom.agents._events import AgentSpoke
from greenroom.agents._fold import THINKING, retry_text
from greenroom.agents._forked import make_request
from greenroom.agents._guard import Deferred, Guard
from greenroom.agents._hooking import Hooking, PromptBlocked, StoppedByHook, running_tasks
from greenroom.agents._inputs import Answer, Input, Prompt, origin_of, prompt_id_of
from greenroom.agents._repetition import Repetition
from greenroom.agents._services import NO_USAGE, AgentHome
from greenroom.agents._taking_in import (
    WAITS_CUT,
    carry_out,
    run_skill,
    say_results,
    take_at_edge,
    take_in,
    take_while_waiting,
)
from greenroom.agents.review import AutoModeEnded
from greenroom.core import PeerError, ProviderError, UsageError, message_of, reminder
from greenroom.hooks import HookEvent, StopGuard
from greenroom.hooks.inputs import (
    BatchedCall,
    HookInput,
    PostToolBatchInput,
    StopFailureInput,
    StopInput,
    SubagentStopInput,
    UserPromptSubmitInput,
)
from greenroom.inbox import ALONE, Entry, Item
from greenroom.models import (
    LongAnswer,
    ModelRequest,
    ModelResponse,
    Next,
    StreamRestarted,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    error_category,
    fault_of,
    next_after,
)
from greenroom.skills import Rendered
from greenroom.tools import ToolContext

EMPTY: Final = "Your answer was empty. Give your answer now, as text; if all is done, say so in a sentence."
"""What the model is told once in a turn that somebody waits for, when it ends without a word."""
NOT_RUN: Final = "This call was not run: the answer that made it was not complete."
TOOL_DEFERRED: Final = "tool_deferred"
"""The `stop_reason` of a turn whose only call a hook has put off."""
TOOL_UNAVAILABLE: Final = "tool_deferred_unavailable"
"""The `stop_reason` where that call is to run, and its tool is not there."""


@final
class OutOfTurns(PeerError):
    """The model asked for more requests than its definition allows in one turn.

    Attributes:
        limit: The model requests that one turn may make.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(f"the agent used all of its {limit} model requests without coming to an end")
        self.limit = limit


@final
@attrs.define(kw_only=True, eq=False)
class AgentTurn:
    """The state of one turn while it runs."""

    home: AgentHome
    ctx: Context
    conversation: Conversation
    round: int = 0
    usage: Usage = NO_USAGE
    """What the requests of this turn have used."""
    agent: str = attrs.field(init=False)
    incarnation: int = attrs.field(init=False)
    turn: int = attrs.field(init=False)
    seq: int = attrs.field(init=False)
    """Number of the event with which this turn began."""
    emit: Callable[..., int] = attrs.field(init=False)
    tool_context: ToolContext = attrs.field(init=False)
    hooking: Hooking = attrs.field(init=False)
    guard: Guard | None = attrs.field(init=False, default=None)
    stopped: StoppedByHook | AutoModeEnded | None = attrs.field(init=False, default=None)
    stop_guard: StopGuard = attrs.field(init=False)
    repetition: Repetition = attrs.field(init=False, factory=Repetition)
    has_put_off: bool = attrs.field(init=False, default=False)
    """Whether it ends with a call that is put off, and stays open."""
    unseen: Appended | None = attrs.field(init=False, default=None)
    """The message that hooks have to look at before it is shown."""
    is_awaited: bool = attrs.field(init=False, default=False)
    """Whether somebody waits for its answer, and the model was not asked for one yet."""
    waits_cut: int = attrs.field(init=False, default=0)
    """How many waits of the request that runs were made shorter by mail."""

    def __attrs_post_init__(self) -> None:
        self.agent, self.incarnation, self.turn = self.ctx.turn.token
        self.seq = self.ctx.seq
        self.emit = self.ctx.recorder.emit_fields
        home = self.home
        self.tool_context = home.tool_context()
        self.stop_guard = StopGuard(home.services.stop_blocks)
        self.hooking = home.hooking = Hooking(
            home=home, token=self.ctx.turn.token, seq=self.seq, recorder=self.ctx.recorder
        )
        if home.policy is not None or home.hooks is not None:
            self.guard = Guard(
                home=home,
                hooking=self.hooking,
                place=(self.agent, self.incarnation, self.seq, self.turn),
                emit=self.emit,
                interrupt=lambda why: self.ctx.ref.abort_turn(why=why),
            )

    async def run(self, message: Input) -> None:
        """Take the message and run rounds until the model has finished; a prompt is answered.

        Cancelled or failed, it leaves a conversation that can be gone on with.

        Raises:
            ProviderError: The model could not be asked.
            OutOfTurns: The definition's `max_turns` were used up.
            NoStructuredAnswer: The model gave no answer in the form that the definition asks for.
            PromptBlocked: A hook refused the prompt; the conversation does not hold it.
            StoppedByHook: A hook wanted an end.
            AutoModeEnded: Auto mode did not allow too many calls, and nobody can be asked.
            RepeatedCall: A call failed too often in the same way; its results are in the conversation.
        """
        home = self.home
        home.last_text = ""
        if home.answer_tool is not None:
            is_asked = isinstance(message, Prompt) or (
                not isinstance(message, Compact) and origin_of(message).is_consent
            )
            home.answer_tool.begin(is_wanted=is_asked)
        if isinstance(message, Entry) and message.is_expired(trio.current_time()):
            return
        self.hooking.prompt_id = prompt_id_of(message)
        self.is_awaited = isinstance(message, Prompt)
        work = await self._begin(message)
        if work is None:
            return
        failure: ProviderError | None = None
        try:
            try:
                answer = await work()
            except Deferred as put_off:
                answer = self._put_off(put_off.call, TOOL_DEFERRED)
            if isinstance(message, Prompt):
                self.ctx.reply(answer)
        except ProviderError as error:
            failure = error
        finally:
            home.activity = ""
            if not self.has_put_off:
                home.deferred = None
                self.conversation.close_open_calls()
            if isinstance(message, Prompt):
                message.said.append(home.last_text)
        if failure is not None:
            await self._tell_of_failure(failure)
            raise failure

    async def _begin(self, message: Input) -> Callable[[], Awaitable[Answer]] | None:
        """Take the message; return what is done about it, or None if that was all."""
        if isinstance(message, Prompt) and message.settles:
            return partial(self._settle, message.settles)
        if isinstance(message, Item) and message.kind in ALONE:
            if await carry_out(self, message):
                return self._run_rounds
            await checkpoint_if_cancelled()
            return None
        self.conversation.close_open_calls()
        if isinstance(message, Compact):
            compacted = await compact(self, CompactionTrigger.MANUAL, message.text)
            await checkpoint_if_cancelled()
            self.ctx.reply(compacted)
            return None
        if origin_of(message).is_consent and self.hooking.has(HookEvent.USER_PROMPT_SUBMIT):
            await self._submit(message.text)
        forks = await take_in(self, message)
        return self._run_rounds if forks is None else partial(self._run_skill, message, forks)

    async def _run_rounds(self) -> Answer:
        """Ask and run calls in turn. What is awaited here directly is one coroutine less that waits in every agent.

        Raises:
            ContextRefilled: The conversation was full again right after each of the last compactions.
            ProviderError: The model could not be asked, or its answer is not whole.
        """
        home, conversation = self.home, self.conversation
        while True:
            if home.compactions.is_due(conversation.tokens, home.services.compaction):
                await make_small(self)
            request = self._next_request(home.definition.max_tokens)
            response: ModelResponse | ProviderError
            try:
                response = await ask_model(self, request, self._keep, self.seq, renew=self._renew)
            except ProviderError as error:
                if error.kind != "too_large":
                    raise
                response = error
            if isinstance(response, ProviderError):
                if not await make_room(self):
                    raise response
                continue
            if self.unseen is not None:
                await self._show()
            step = next_after(response)
            if step is Next.CONTINUE or step is Next.RESUME:
                response = await self._ask_for_the_rest(response)
                step = next_after(response)
            if step is Next.RUN_CALLS:
                await self._run_tools(response.tool_uses)
                if home.answer_tool is not None:
                    home.answer_tool.check()
                continue
            await checkpoint_if_cancelled()
            if await self._is_over(response, step) and not await self._goes_on(response):
                return self._finish(response)

    async def _is_over(self, response: ModelResponse, step: Next) -> bool:
        """Return whether the model has come to its end; else it is to be asked again.

        Raises:
            ProviderError: Its answer is not whole, and nothing makes it so.
        """
        if step is Next.FINISH:
            return True
        if step is Next.REMIND:
            if not self.is_awaited or self.home.answer_tool is not None:
                return True
            self.is_awaited = False
            self.conversation.say([reminder(EMPTY)], is_hidden=True)
            return False
        if step is Next.SHRINK and await make_room(self):
            return False
        self.home.last_text = response.text or self.home.last_text
        not_run = {call.id: ToolResultBlock(call.id, NOT_RUN, is_error=True) for call in response.tool_uses}
        self.conversation.close_open_calls(not_run)
        raise fault_of(response)

    async def _run_skill(self, message: Input, rendered: Rendered) -> Answer:
        """Let a skill run in the place of the model."""
        assert not isinstance(message, Compact)
        text = await run_skill(self, message, rendered)
        await checkpoint_if_cancelled()
        return Answer(text=text, usage=self.usage, rounds=0, stop_reason="")

    # --- hooks of the turn -----------------------------------------------------------------------------------------

    async def _submit(self, prompt: str) -> None:
        """Let hooks see what a person said, before the model does."""
        self.hooking.name_prompt()
        outcome = await self.hooking.run(UserPromptSubmitInput(prompt=prompt))
        if outcome.is_blocked:
            raise PromptBlocked(outcome.reason)

    async def _goes_on(self, response: ModelResponse) -> bool:
        """Say whether hooks keep a turn going that has said its last word, or an answer that it still has to give."""
        if self.home.answer_tool is not None and (text := self.home.answer_tool.remind()):
            self.conversation.say([reminder(text)], is_hidden=True)
            await checkpoint_if_cancelled()
            return True
        event = HookEvent.SUBAGENT_STOP if self.home.is_child else HookEvent.STOP
        if not self.hooking.has(event):
            return False
        is_active, text = self.stop_guard.is_active, response.text
        told: HookInput
        if self.home.is_child:
            told = SubagentStopInput(
                stop_hook_active=is_active,
                last_assistant_message=text,
                background_tasks=running_tasks(self.home),
                agent_id=self.home.id,
                agent_type=self.home.definition.name,
                agent_transcript_path=self.conversation.path or Path(),
            )
        else:
            told = StopInput(
                stop_hook_active=is_active, last_assistant_message=text, background_tasks=running_tasks(self.home)
            )
        before = list(self.hooking.reminders)
        verdict = self.stop_guard.decide(await self.hooking.run(told))
        self.hooking.reminders[:] = before  # what it says is in the verdict
        if verdict.warning:
            self.hooking.notice(event.value, verdict.warning)
        if verdict.goes_on:
            self.conversation.say([reminder(text) for text in verdict.said], is_hidden=True)
            await checkpoint_if_cancelled()
        return verdict.goes_on

    async def _tell_of_failure(self, error: ProviderError) -> None:
        if self.hooking.has(HookEvent.STOP_FAILURE):
            text = self.home.last_text
            await self.hooking.run(
                StopFailureInput(
                    error=error_category(error.kind),
                    error_details=message_of(error),
                    last_assistant_message=text or None,
                )
            )

    # --- the model -------------------------------------------------------------------------------------------------

    async def _ask_for_the_rest(self, response: ModelResponse) -> ModelResponse:
        """Ask until an answer is whole that was cut, or may not be longer."""
        answer = LongAnswer(self.home.definition.max_tokens, self.home.services.continuation)
        while (go_on := answer.add(response)) is not None:
            if go_on.prompt:
                self.conversation.say([go_on.prompt], is_hidden=True)
            request = self._next_request(go_on.max_tokens)
            response = await ask_model(self, request, self._keep, self.seq, renew=self._renew)
            if self.unseen is not None:
                await self._show()
        return answer.response

    def _next_request(self, max_tokens: int) -> ModelRequest:
        """Begin a round and return its request.

        Raises:
            OutOfTurns: The definition's `max_turns` are used up.
        """
        home = self.home
        most = home.definition.max_turns
        if self.round >= most:
            raise OutOfTurns(most)
        self.round += 1
        self.waits_cut = 0
        home.activity = THINKING
        return self._request(max_tokens)

    def _request(self, max_tokens: int) -> ModelRequest:
        """Return the request of this round; whoever watches the session hears the answer come."""
        home = self.home
        request = make_request(home, self.conversation.messages, max_tokens=max_tokens)
        on_stream = home.services.on_stream
        return request if on_stream is None else attrs.evolve(request, on_event=partial(on_stream, home.id))

    async def _renew(self, request: ModelRequest, restart: StreamRestarted) -> ModelRequest | None:
        """Wait for the next attempt; return what to send then, if something was sent to the agent meanwhile."""
        home, until_s = self.home, trio.current_time() + restart.wait_s
        home.activity = retry_text(restart.reason, restart.wait_s)
        must_wait = restart.is_told or self.waits_cut >= WAITS_CUT
        has_news = await take_while_waiting(self, until_s, must_wait=must_wait)
        home.activity = THINKING
        if not has_news:
            return None
        self.waits_cut += trio.current_time() < until_s
        return self._request(request.max_tokens)

    async def ask(self, request: ModelRequest, keep: Keep, parent: int) -> ModelResponse:
        """Ask the model once, on record and counted; `keep` gets what it said, as far as it came."""
        return await ask_model(self, request, keep, parent)

    def _keep(self, response: ModelResponse) -> ModelResponse:
        """Append what the model said, as far as it came, and return it as it was appended."""
        response = self.conversation.admit(response)
        if response.content:
            self.home.last_text = response.text or self.home.last_text
            is_later = self.home.hooks is not None and is_shown_later(self, response)
            appended = self.conversation.answer(response, is_shown_later=is_later)
            self.unseen = appended if is_later else None
        if response.stop_reason is not None:
            self.conversation.note_tokens(response.usage.total)
            self.home.compactions.note_request()
        return response

    async def _show(self) -> None:
        """Show a message at which hooks have to look first."""
        unseen, self.unseen = self.unseen, None
        assert unseen is not None
        await show(self, unseen)

    def _finish(self, response: ModelResponse) -> Answer:
        text = response.text
        self.emit(AgentSpoke, self.agent, self.incarnation, self.seq, self.turn, self.round, text[:200])
        return Answer(
            text=text,
            usage=self.usage,
            rounds=self.round,
            stop_reason=response.stop_reason or "",
            structured=None if self.home.answer_tool is None else self.home.answer_tool.given,
        )

    def _put_off(self, call: ToolUseBlock, why: str) -> Answer:
        """End the turn with a call that is open."""
        self.home.deferred, self.has_put_off = call, True
        return Answer(text=self.home.last_text, usage=self.usage, rounds=self.round, stop_reason=why, deferred=call)

    async def _settle(self, call_id: str) -> Answer:
        """Run the call that was put off, and then rounds; hooks are asked about it once more.

        It runs at most once, whatever becomes of the process.
        """
        call = next((one for one in open_calls(self.conversation.messages) if one.id == call_id), None)
        if call is None or self.home.deferred is None:
            raise UsageError(f"the call {call_id!r} is not put off any more")
        if call.name not in self.home.tools:
            return self._put_off(call, TOOL_UNAVAILABLE)
        self.ctx.acknowledge()
        await self._run_tools((call,))
        return await self._run_rounds()

    # --- the tools -------------------------------------------------------------------------------------------------

    async def _run_tools(self, calls: tuple[ToolUseBlock, ...]) -> None:
        results: dict[str, ToolResultBlock] = {}
        if self.guard is not None:
            self.guard.is_alone = len(calls) == 1
        try:
            await run_calls(calls, self, results)
            done = [call for call in calls if not results[call.id].is_error]
            self.hooking.reminders += await self.home.ports.follow(done)
        except Deferred:
            raise
        except BaseException:
            self.conversation.close_open_calls(results)
            raise
        in_order = [results[call.id] for call in calls]
        if self.hooking.has(HookEvent.POST_TOOL_BATCH):
            await self._tell_of_batch(calls, in_order)
        text, too_often = self.repetition.note(zip(calls, in_order, strict=True), self.home.services.repetition)
        if text:
            self.hooking.reminders.append(text)
        if self.ctx.has_mail:
            await take_at_edge(self, in_order)
        else:
            say_results(self, in_order)
        if too_often is not None:
            self.hooking.notice("repetition", str(too_often))
            raise too_often

    async def _tell_of_batch(self, calls: tuple[ToolUseBlock, ...], results: list[ToolResultBlock]) -> None:
        guard = self.guard
        batch = [
            BatchedCall(
                tool_name=call.name,
                tool_input=call.input if guard is None else guard.told(call, call.input),
                tool_use_id=call.id,
                tool_response=result.content,
            )
            for call, result in zip(calls, results, strict=True)
        ]
        try:
            outcome = await self.hooking.run(PostToolBatchInput(tool_calls=tuple(batch)))
            if outcome.is_blocked:
                raise StoppedByHook(outcome.reason)
        except BaseException:
            self.conversation.say(self.hooking.take_reminders(), results)
            raise

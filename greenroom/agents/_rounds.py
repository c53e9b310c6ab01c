"""One turn of an agent: rounds of a model request and its tool calls, until the model has said what it had to say.

What is drained is appended to the conversation and acknowledged in one step. The conversation is one
that the provider accepts at every instant at which something is waited for, save while its last calls run; and however
the turn ends, these get their results before it does. A requested abort always ends the turn: it is looked for
after every batch and before the end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, final

import trio
from trio.lowlevel import checkpoint_if_cancelled

from greenroom.agents._agent_turn import AgentTurn
from greenroom.agents._answers import Answer
from greenroom.agents._blocks import open_calls
from greenroom.agents._call_batches import run_calls
from greenroom.agents._forked import make_request
from greenroom.agents._guard import Deferred
from greenroom.agents._inputs import Input, Note, Prompt, origin_of, prompt_id_of
from greenroom.agents._intake import (
    WAITS_CUT,
    carry_out,
    run_skill,
    say_results,
    take_at_edge,
    take_in,
    take_while_waiting,
)
from greenroom.agents._message_display import is_shown_later, show
from greenroom.agents._model_request import ask_model
from greenroom.agents._repetition import RepeatedCall
from greenroom.agents._turn_hooks import PromptBlocked, StoppedByHook, running_tasks
from greenroom.agents.compaction._compaction import Compact
from greenroom.agents.compaction._compactor import compact, make_room, make_small
from greenroom.agents.compaction._triggers import CompactionTrigger
from greenroom.agents.events._agent_events import AgentSpoke
from greenroom.agents.events._agent_view import THINKING, retry_text
from greenroom.core import PeerError, ProviderError, UsageError
from greenroom.core.texts import message_of, reminder
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import (
    BatchedCall,
    HookInput,
    PostToolBatchInput,
    StopFailureInput,
    StopInput,
    SubagentStopInput,
    UserPromptSubmitInput,
)
from greenroom.inbox import ALONE, InboxItem, WaitingEntry
from greenroom.models import (
    LongAnswer,
    ModelRequest,
    ModelResponse,
    Next,
    StreamRestarted,
    ToolResultBlock,
    ToolUseBlock,
    error_category,
    fault_of,
    next_after,
)
from greenroom.skills import Rendered

EMPTY: Final = "Your answer was empty. Give your answer now, as text; if all is done, say so in a sentence."
"""The reminder to a model that ends a turn without a word, once in a turn that somebody waits for."""
NOT_RUN: Final = "This call was not run: the answer that made it was not complete."
CUT_SHORT: Final = frozenset((Next.CONTINUE, Next.RESUME))
"""The steps after an answer of which the rest is requested."""
# Used once per round: reading a member from its class costs 90 ns before Python 3.12.
RUN_CALLS: Final = Next.RUN_CALLS
POST_TOOL_BATCH: Final = HookEvent.POST_TOOL_BATCH
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
class Rounds:
    """Runs one turn: takes its message, asks the model and runs its calls until it has finished.

    Args:
        turn: The turn; it is used up.
    """

    def __init__(self, turn: AgentTurn) -> None:
        self._turn = turn

    async def run(self, message: Input) -> None:
        """Take the message and run rounds until the model has finished; a prompt is answered.

        Cancelled or failed, it leaves a conversation that can be continued.

        Raises:
            ProviderError: The model could not be asked.
            OutOfTurns: The definition's `max_turns` were used up.
            NoStructuredAnswer: The model gave no answer in the form that the definition asks for.
            PromptBlocked: A hook refused the prompt; the conversation does not hold it.
            StoppedByHook: A hook wanted an end.
            AutoModeEnded: Auto mode did not allow too many calls, and nobody can be asked.
            RepeatedCall: A call failed too often in the same way; its results are in the conversation.
        """
        turn = self._turn
        async with turn.home.ports.place(turn.home):
            failure: ProviderError | None = None
            try:
                work = await self._begin(message)
                if work is not None:
                    try:
                        try:
                            answer = await work()
                        except Deferred as put_off:
                            answer = self._put_off(put_off.call, TOOL_DEFERRED)
                        if isinstance(message, Prompt):
                            turn.ctx.reply(answer)
                        elif isinstance(message, Note) and message.resumption is not None:
                            message.resumption.settle(answer)
                    except ProviderError as error:
                        failure = error
                    finally:
                        self._end(message)
                if failure is not None:
                    await self._tell_of_failure(failure)
                    raise failure
            finally:
                turn.state.name_prompt(None)  # others run hooks in its place when no turn runs
            turn.home.set_cut(is_cut=False)

    def _end(self, message: Input) -> None:
        """Leave a conversation that can be continued."""
        turn, home = self._turn, self._turn.home
        home.note_activity("")
        if not turn.has_put_off:
            home.put_off(None)
            turn.conversation.close_open_calls()
        if isinstance(message, Prompt):
            message.said.append(home.last_text)

    async def _begin(self, message: Input) -> Callable[[], Awaitable[Answer]] | None:
        """Take the message; return what is done about it, or None if that was all."""
        turn, home = self._turn, self._turn.home
        if isinstance(message, InboxItem):
            home.ports.note_begun(message.uuid)
        home.note_text("")
        if home.answer_tool is not None:
            is_asked = isinstance(message, Prompt) or (
                not isinstance(message, Compact) and origin_of(message).is_consent
            )
            home.answer_tool.begin(is_wanted=is_asked)
        if isinstance(message, WaitingEntry) and message.is_expired(trio.current_time()):
            if isinstance(message, InboxItem):
                home.ports.note_dropped(message.uuid, "")
            return None
        turn.state.name_prompt(prompt_id_of(message))
        turn.set_awaited(is_awaited=isinstance(message, Prompt))
        if isinstance(message, Prompt) and message.settles:
            return partial(self._settle, message.settles)
        if isinstance(message, InboxItem) and message.kind in ALONE:
            if await carry_out(turn, message):
                return self._run_rounds
            await checkpoint_if_cancelled()
            return None
        turn.conversation.close_open_calls()
        if isinstance(message, Compact):
            compacted = await compact(turn, CompactionTrigger.MANUAL, message.text)
            await checkpoint_if_cancelled()
            turn.ctx.reply(compacted)
            return None
        if origin_of(message).is_consent and turn.hooking.has(HookEvent.USER_PROMPT_SUBMIT):
            await self._submit(message.text)
        if home.services.effects is not None:
            await home.services.effects.wait_edge(turn.agent)
        forks = await take_in(turn, message)
        return self._run_rounds if forks is None else partial(self._run_skill, message, forks)

    async def _run_rounds(self) -> Answer:
        """Ask and run calls in turn. What is awaited here directly is one coroutine less that waits in every agent.

        Raises:
            ContextRefilled: The conversation was full again right after each of the last compactions.
            ProviderError: The model could not be asked, or its answer is not whole.
        """
        turn = self._turn
        home, conversation = turn.home, turn.conversation
        while True:
            if home.compactions.is_due(conversation.tokens, home.services.settings.compaction):
                await make_small(turn)
            request = self._next_request()
            response: ModelResponse | ProviderError
            try:
                response = await ask_model(turn, request, self._keep, turn.seq, renew=self._renew)
            except ProviderError as error:
                if error.kind != "too_large":
                    raise
                response = error
            if isinstance(response, ProviderError):
                if not await make_room(turn):
                    raise response
                continue
            if turn.unseen is not None:
                await self._show()
            step = next_after(response)
            if step is not RUN_CALLS and step in CUT_SHORT:
                response = await self._ask_for_the_rest(response)
                step = next_after(response)
            if step is RUN_CALLS:
                is_over = await self._run_tools(response.tool_uses)
                if is_over and not await self._goes_on(response):
                    return await self._finish(response)
                continue
            await checkpoint_if_cancelled()
            if await self._is_over(response, step) and not await self._goes_on(response):
                return await self._finish(response)

    async def _is_over(self, response: ModelResponse, step: Next) -> bool:
        """Return whether the model has come to its end; else it is to be asked again.

        Raises:
            ProviderError: Its answer is not whole, and nothing makes it so.
        """
        turn = self._turn
        if step is Next.FINISH:
            return True
        if step is Next.REMIND:
            if not turn.is_awaited or turn.home.answer_tool is not None:
                return True
            turn.set_awaited(is_awaited=False)
            turn.conversation.say([reminder(EMPTY)], is_hidden=True)
            return False
        if step is Next.SHRINK and await make_room(turn):
            return False
        turn.home.note_response(response)
        not_run = {call.id: ToolResultBlock(call.id, NOT_RUN, is_error=True) for call in response.tool_uses}
        turn.conversation.close_open_calls(not_run)
        raise fault_of(response)

    async def _run_skill(self, message: Input, rendered: Rendered) -> Answer:
        """Run a skill in the place of the model."""
        assert not isinstance(message, Compact)
        text = await run_skill(self._turn, message, rendered)
        await checkpoint_if_cancelled()
        return Answer(text=text, usage=self._turn.usage, rounds=0, stop_reason="")

    # --- hooks of the turn -----------------------------------------------------------------------------------------

    async def _submit(self, prompt: str) -> None:
        """Run the hooks that see what a person said, before the model does."""
        hooking = self._turn.hooking
        hooking.name_prompt()
        outcome = await hooking.run(UserPromptSubmitInput(prompt=prompt))
        if outcome.is_blocked:
            raise PromptBlocked(outcome.reason)

    async def _goes_on(self, response: ModelResponse) -> bool:
        """Say whether hooks keep a turn going that has said its last word, or an answer that it still has to give."""
        turn, home, hooking = self._turn, self._turn.home, self._turn.hooking
        if home.answer_tool is not None and (text := home.answer_tool.remind()):
            turn.conversation.say([reminder(text)], is_hidden=True)
            await checkpoint_if_cancelled()
            return True
        event = HookEvent.SUBAGENT_STOP if home.profile.is_child else HookEvent.STOP
        if not hooking.has(event):
            return False
        is_active, text = turn.stop_guard.is_active, response.text
        told: HookInput
        if home.profile.is_child:
            told = SubagentStopInput(
                stop_hook_active=is_active,
                last_assistant_message=text,
                background_tasks=running_tasks(home),
                agent_id=home.profile.id,
                agent_type=home.profile.definition.name,
                agent_transcript_path=turn.conversation.path or Path(),
            )
        else:
            told = StopInput(
                stop_hook_active=is_active,
                last_assistant_message=text,
                background_tasks=running_tasks(home),
                session_crons=tuple(home.ports.scheduled(home)),
            )
        with turn.state.apart():  # what it says is in the verdict
            verdict = turn.stop_guard.decide(await hooking.run(told))
        if verdict.warning:
            hooking.notice(event.value, verdict.warning)
        if verdict.goes_on:
            turn.conversation.say([reminder(text) for text in verdict.said], is_hidden=True)
            await checkpoint_if_cancelled()
        return verdict.goes_on

    async def _tell_of_failure(self, error: ProviderError) -> None:
        hooking = self._turn.hooking
        if hooking.has(HookEvent.STOP_FAILURE):
            text = self._turn.home.last_text
            await hooking.run(
                StopFailureInput(
                    error=error_category(error.kind),
                    error_details=message_of(error),
                    last_assistant_message=text or None,
                )
            )

    # --- the model -------------------------------------------------------------------------------------------------

    async def _ask_for_the_rest(self, response: ModelResponse) -> ModelResponse:
        """Ask until an answer is whole that was cut, or may not be longer."""
        turn = self._turn
        answer = LongAnswer(turn.home.profile.definition.max_tokens, turn.home.services.settings.continuation)
        while (go_on := answer.add(response)) is not None:
            if go_on.prompt:
                turn.conversation.say([go_on.prompt], is_hidden=True)
            request = self._next_request(go_on.max_tokens)
            response = await ask_model(turn, request, self._keep, turn.seq, renew=self._renew)
            if turn.unseen is not None:
                await self._show()
        return answer.response

    def _next_request(self, max_tokens: int | None = None) -> ModelRequest:
        """Begin a round and return its request.

        Args:
            max_tokens: The most that the model may write, where it is not what the definition says.

        Raises:
            OutOfTurns: The definition's `max_turns` are used up.
        """
        turn = self._turn
        home, conversation = turn.home, turn.conversation
        if not turn.begin_round(home.profile.definition.max_turns):
            raise OutOfTurns(turn.round)
        home.note_activity(THINKING)
        return make_request(home, conversation.messages, max_tokens=max_tokens, check=conversation.soundness)

    async def _renew(self, request: ModelRequest, restart: StreamRestarted) -> ModelRequest | None:
        """Wait for the next attempt; return what to send then, if something was sent to the agent meanwhile."""
        turn, home, until_s = self._turn, self._turn.home, trio.current_time() + restart.wait_s
        home.note_activity(retry_text(restart.reason, restart.wait_s))
        must_wait = restart.is_told or turn.waits_cut >= WAITS_CUT
        has_news = await take_while_waiting(turn, until_s, must_wait=must_wait)
        home.note_activity(THINKING)
        if not has_news:
            return None
        if trio.current_time() < until_s:
            turn.note_wait_cut()
        conversation = turn.conversation
        return make_request(home, conversation.messages, max_tokens=request.max_tokens, check=conversation.soundness)

    def _keep(self, response: ModelResponse) -> ModelResponse:
        """Append what the model said, as far as it came, and return it as it was appended."""
        turn = self._turn
        home, conversation = turn.home, turn.conversation
        response = conversation.admit(response)
        if response.content:
            home.note_response(response)
            is_later = home.profile.hooks is not None and is_shown_later(turn, response)
            appended = conversation.answer(response, is_shown_later=is_later)
            if is_later:
                turn.hide(appended)
        if response.stop_reason is not None:
            conversation.note_tokens(response.usage.total)
            home.compactions.note_request()
        return response

    async def _show(self) -> None:
        """Show a message at which hooks have to look first."""
        unseen = self._turn.take_unseen()
        assert unseen is not None
        await show(self._turn, unseen)

    async def _finish(self, response: ModelResponse) -> Answer:
        turn, text = self._turn, response.text
        if turn.home.services.effects is not None:
            await turn.home.services.effects.wait_edge(turn.agent)
        turn.emit(AgentSpoke, turn.agent, turn.incarnation, turn.seq, turn.turn, turn.round, text[:200])
        return Answer(
            text=text,
            usage=turn.usage,
            rounds=turn.round,
            stop_reason=response.stop_reason or "",
            structured=None if turn.home.answer_tool is None else turn.home.answer_tool.given,
        )

    def _put_off(self, call: ToolUseBlock, why: str) -> Answer:
        """End the turn with a call that is open."""
        turn = self._turn
        turn.put_off(call)
        return Answer(text=turn.home.last_text, usage=turn.usage, rounds=turn.round, stop_reason=why, deferred=call)

    async def _settle(self, call_id: str) -> Answer:
        """Run the call that was put off, and then rounds; hooks are asked about it once more.

        It runs at most once, whatever becomes of the process.
        """
        turn = self._turn
        call = next((each for each in open_calls(turn.conversation.messages) if each.id == call_id), None)
        if call is None or turn.home.deferred is None:
            raise UsageError(f"the call {call_id!r} has been decided already or was never deferred")
        if call.name not in turn.home.profile.tools:
            return self._put_off(call, TOOL_UNAVAILABLE)
        turn.ctx.acknowledge()
        await self._run_tools((call,))
        return await self._run_rounds()

    # --- the tools -------------------------------------------------------------------------------------------------

    async def _run_tools(self, calls: tuple[ToolUseBlock, ...]) -> bool:
        """Run calls and append their results; return whether one of them ends the turn, and none has failed."""
        turn, home = self._turn, self._turn.home
        asked_to_end = home.workspace.ending
        asked_to_end.clear()
        results: dict[str, ToolResultBlock] = {}
        if turn.guard is not None:
            turn.guard.expect(calls)
        try:
            await run_calls(calls, turn, results)
            in_order = [results[call.id] for call in calls]
            done = [call for call, result in zip(calls, in_order, strict=True) if not result.is_error]
            reminders = await home.ports.follow(done)
            if reminders:
                turn.state.remind(reminders)
        except Deferred:
            raise
        except BaseException:
            turn.conversation.close_open_calls(results)
            raise
        if home.profile.hooks is not None and turn.hooking.has(POST_TOOL_BATCH):
            await self._tell_of_batch(calls, in_order)
        too_often: RepeatedCall | None = None
        if len(done) < len(calls) or turn.repetition is not None:
            too_often = turn.note_failures(calls, in_order)
        is_over = bool(asked_to_end) and len(done) == len(calls)
        if home.services.effects is not None:
            await home.services.effects.wait_edge(turn.agent)
        if turn.ctx.has_mail and not is_over:
            await take_at_edge(turn, in_order)
        else:
            say_results(turn, in_order, is_at_rest=is_over)
        if too_often is not None or home.answer_tool is not None:
            self._check_results(too_often)
        return is_over

    def _check_results(self, too_often: RepeatedCall | None) -> None:
        """Refuse to continue with a turn whose calls have failed too often.

        Raises:
            NoStructuredAnswer: They did not give the answer that it has to give.
            RepeatedCall: They failed in the same way.
        """
        if too_often is not None:
            self._turn.hooking.notice("repetition", str(too_often))
            raise too_often
        if self._turn.home.answer_tool is not None:
            self._turn.home.answer_tool.check()

    async def _tell_of_batch(self, calls: tuple[ToolUseBlock, ...], results: list[ToolResultBlock]) -> None:
        guard, hooking = self._turn.guard, self._turn.hooking
        batch = [
            BatchedCall(
                tool_name=call.name,
                tool_input=call.input if guard is None else guard.hooks.told(call, call.input),
                tool_use_id=call.id,
                tool_response=result.content,
            )
            for call, result in zip(calls, results, strict=True)
        ]
        try:
            outcome = await hooking.run(PostToolBatchInput(tool_calls=tuple(batch)))
            if outcome.is_blocked:
                raise StoppedByHook(outcome.reason)
        except BaseException:
            self._turn.conversation.say(hooking.take_reminders(), results)
            raise

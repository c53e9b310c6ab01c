"""Compacting a conversation: hooks are asked, a forked run writes the summary, and one step puts it in the place of the rest.

Until that step the conversation is as it was, whatever fails or is cancelled; after it, resume begins there. An
automatic compaction that fails ends no turn: the model is asked all the same. What runs, the agent's list and its
skills are the engine's to tell of: they are put behind the summary as they are then.
"""

from __future__ import annotations

from typing import Final

import attrs
from trio.lowlevel import checkpoint_if_cancelled

from greenroom.agents._agent_turn import AgentTurn
from greenroom.agents._forked import ForkedResult, ForkFailed, run_forked
from greenroom.agents._repair import repair
from greenroom.agents.compaction._compaction import (
    Compacted,
    CompactionBlocked,
    CompactionFailed,
    beginning_after,
    said_in_this_turn,
    summary_directive,
    summary_in,
)
from greenroom.agents.compaction._triggers import CompactionTrigger
from greenroom.agents.events._agent_events import COMPLETED, FAILED, KILLED, CompactBegan, CompactEnded
from greenroom.agents.review import call_lines
from greenroom.core import ProviderError, UsageError
from greenroom.core.texts import error_text, escape_text, reminder
from greenroom.hooks import HookEvent, HookOutcome
from greenroom.hooks.inputs import HookInput, PostCompactInput, PreCompactInput, SessionStartInput

PURPOSE: Final = "compaction"
LEAST_SUMMARIZED: Final = 4
"""Messages below which a conversation that is too long to be summarized is not halved any more."""
_MARKS: Final = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


async def make_small(turn: AgentTurn) -> None:
    """Compact the conversation of a turn that has come near its limit, if it can be done.

    Cancelled, it leaves the conversation as it was, or compacted.

    Raises:
        StoppedByHook: A hook wants an end of everything.
    """
    try:
        await compact(turn, CompactionTrigger.AUTO)
    except (CompactionFailed, ForkFailed, ProviderError) as error:
        turn.home.compactions.note_failure()
        turn.hooking.notice(PURPOSE, f"the conversation could not be compacted: {error}")
    except CompactionBlocked as blocked:
        turn.hooking.notice(PURPOSE, str(blocked))


async def make_room(turn: AgentTurn) -> bool:
    """Compact the conversation of a turn that the provider found too long, if it can be done; return whether it was.

    It is not done twice without an answer in between. Cancelled, it leaves the conversation as it was, or compacted.

    Raises:
        StoppedByHook: A hook wants an end of everything.
    """
    record, settings = turn.home.compactions, turn.home.services.settings.compaction
    was_just_done = record.requests == 0
    if not (settings.enabled and settings.auto) or was_just_done or len(turn.conversation) < 2:
        return False
    await make_small(turn)
    return record.requests == 0


async def compact(turn: AgentTurn, trigger: CompactionTrigger, focus: str = "") -> Compacted:
    """Replace the conversation by a summary; it has no open calls.

    Cancelled, it leaves the conversation as it was, or compacted.

    Raises:
        CompactionBlocked: A hook refused it.
        CompactionFailed: The model wrote no summary, or did not come to its end.
        ProviderError: The model could not be asked.
        UsageError: Compaction is switched off, or there is nothing to compact.
    """
    home, conversation = turn.home, turn.conversation
    if not home.services.settings.compaction.enabled:
        raise UsageError("compaction is switched off in the settings")
    if not len(conversation):
        raise UsageError("there is nothing to compact: the conversation has not begun")
    pre_tokens = conversation.tokens
    place = (turn.agent, turn.incarnation)
    began = turn.emit(CompactBegan, *place, turn.seq, turn.turn, turn.round, trigger.value, pre_tokens)
    state, error, post_tokens = KILLED, "", pre_tokens
    try:
        summary = await _summarize(turn, trigger, focus)
        prompt = await home.ports.renew_prompt(home)
        said = said_in_this_turn(conversation.messages) if trigger is CompactionTrigger.AUTO else []
        started = SessionStartInput(source="compact", agent_type=home.profile.hook_type)
        contexts = () if home.profile.is_child else await _contexts_of(turn, started)
        survivors = [*_survivors(turn), *map(reminder, contexts)]
        await checkpoint_if_cancelled()
        calls = [call for message in conversation.messages for call in message.tool_uses]
        conversation.compact(
            beginning_after(summary, said=said, survivors=survivors),
            trigger=trigger.value,
            pre_tokens=pre_tokens,
            is_turn_open=trigger is CompactionTrigger.AUTO,
        )
        # No checkpoint between here and the step above: they are one.
        home.compactions.note_done()
        if home.services.auto is not None:
            home.review.note_compacted(call_lines(home.review.earlier_calls, calls))
        if prompt is not None:
            home.replace(definition=attrs.evolve(home.profile.definition, system_prompt=prompt))
        post_tokens = conversation.tokens
        state = COMPLETED
        if turn.hooking.has(HookEvent.POST_COMPACT):
            await turn.hooking.run(PostCompactInput(trigger=trigger.value, compact_summary=summary))
    except Exception as problem:
        if state is KILLED:
            state, error = FAILED, error_text(problem)
        raise
    finally:
        turn.emit(
            CompactEnded, *place, began, turn.turn, turn.round, trigger.value, state, pre_tokens, post_tokens, error
        )
    return Compacted(trigger=trigger, summary=summary, pre_tokens=pre_tokens, post_tokens=post_tokens)


async def _summarize(turn: AgentTurn, trigger: CompactionTrigger, focus: str) -> str:
    wanted = [focus]
    told = PreCompactInput(trigger=trigger.value, custom_instructions=focus)
    if turn.hooking.has(told.event):
        outcome, contexts = await _ask_hooks(turn, told)
        if outcome.is_blocked:
            raise CompactionBlocked(outcome.reason)
        wanted += map(escape_text, contexts)
    tokens = turn.home.services.settings.compaction.summary_tokens
    result = await _ask_for_summary(turn, summary_directive(wanted), tokens)
    summary = summary_in(result.text)
    if not summary:
        raise CompactionFailed("the model wrote no summary")
    if result.stop_reason == "max_tokens":
        raise CompactionFailed(f"the summary was cut off: it would have taken more than {tokens:,} tokens")
    return summary


async def _ask_for_summary(turn: AgentTurn, directive: str, tokens: int) -> ForkedResult:
    """Ask for the summary of the conversation; of its newer half where all of it is too long, and so on.

    Raises:
        ProviderError: The model could not be asked.
        ForkFailed: It went on calling tools.
    """
    messages = turn.conversation.messages
    while True:
        try:
            return await run_forked(turn, directive, purpose=PURPOSE, max_tokens=tokens, messages=messages)
        except ProviderError as error:
            if error.kind != "too_large" or len(messages) < LEAST_SUMMARIZED:
                raise
        messages = repair(messages[len(messages) // 2 :], closes=False).messages


async def _contexts_of(turn: AgentTurn, told: HookInput) -> tuple[str, ...]:
    if not turn.hooking.has(told.event):
        return ()
    return (await _ask_hooks(turn, told))[1]


async def _ask_hooks(turn: AgentTurn, told: HookInput) -> tuple[HookOutcome, tuple[str, ...]]:
    """Run hooks whose contexts do not go into the next message, but where the caller says."""
    with turn.state.apart():
        outcome = await turn.hooking.run(told)
    return outcome, outcome.contexts


def _survivors(turn: AgentTurn) -> list[str]:
    """Return what the engine knows and the model has to know again, each as a reminder."""
    home = turn.home
    running = [] if home.services.background is None else home.services.background.running(home.profile.id)
    tasks = [
        f"- {task.info.id} ({task.info.kind}): {task.info.description or task.info.command}; "
        f"its output goes to {task.info.output_file}"
        for task in running
        if task.is_background
    ]
    todos = [f"{_MARKS[todo.status]} {todo.content}" for todo in home.workspace.todos]
    skills = home.profile.skill_tool.invoked.texts_after_compaction() if home.profile.skill_tool is not None else ()
    texts = [
        "\n".join(["These run in the background; do not start them again:", *tasks]) if tasks else "",
        "\n".join(["Your list of what is to be done:", *todos]) if todos else "",
        *(f"A skill that you had taken up:\n\n{text}" for text in skills),
        *home.ports.survivors(home),
    ]
    return [reminder(text) for text in texts if text.strip()]

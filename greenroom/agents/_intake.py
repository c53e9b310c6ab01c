"""The intake of messages into a conversation: at the beginning of a turn, at the edge of a round, and without a model.

What is taken is appended and acknowledged in one step. Each message of the user's is a line of its own, under
the id that it was sent with. Hooks see what the user says before the model does; what they refuse, the model never
sees. A late answer is for a call that is open at the end of the conversation, and for no other: it runs once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import trio

from greenroom.agents._agent_turn import AgentTurn
from greenroom.agents._blocks import open_calls
from greenroom.agents._call_batches import run_calls
from greenroom.agents._grants import NOTHING_GRANTED
from greenroom.agents._inputs import Note, Prompt, Work, is_meta, notices_of, origin_of, render
from greenroom.agents._state import AgentState
from greenroom.agents._turn_hooks import PromptBlocked
from greenroom.core import GreenroomError, JournalError
from greenroom.core.texts import REMINDER, fields, reminder, wrap
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import UserPromptExpansionInput, UserPromptSubmitInput
from greenroom.inbox import EntryKind, InboxItem, WaitingEntry, plan_edge, plan_messages, plan_turn
from greenroom.mailbox import Envelope
from greenroom.models import ToolResultBlock, ToolUseBlock
from greenroom.permissions import Allow, Deny, Mode
from greenroom.skills import Rendered
from greenroom.tools import ToolError
from greenroom.tools.builtin import bash_tool

CUT_OFF: Final = "it was interrupted"
WAITS_CUT: Final = 3
"""Maximum number of waits of one request that mail shortens: frequent mail must not use up its attempts."""


# --- what the model reads -----------------------------------------------------------------------------------------------


async def take_in(turn: AgentTurn, message: Note | Work | Prompt | InboxItem) -> Rendered | None:
    """Append what a turn begins with, and what it takes up beside it; a long turn never feeds an input twice.

    It waits only where a command is read or hooks are asked. Cancelled, it has taken nothing.

    Returns:
        The skill of the user's that is to run as an agent of its own, and of which nothing was appended; or None.

    Raises:
        UsageError: It is a command that cannot be taken up.
        PromptBlocked: A hook refused one.
        StoppedByHook: A hook wanted an end.
    """
    home, origin = turn.home, origin_of(message)
    text, skills = render(message), message.skills if isinstance(message, Prompt) else ()
    if isinstance(message, InboxItem) and message.is_command:
        text, skills = await home.ports.read_prompt(home, message.text)
    limit = message.permission_mode if isinstance(message, InboxItem) else ""
    turn.state.begin_with(origin, Mode(limit) if limit else None)
    if origin.is_consent:  # notices and teammates do not end permissions that the user's words gave
        await _expand(turn, skills)
        home.grant(NOTHING_GRANTED)
        if skills and skills[0].skill.is_fork:  # always alone
            turn.ctx.acknowledge()
            _tell_taken(turn, [message])
            return skills[0]
        for rendered in skills:
            home.ports.take_up(home, rendered)
    first = message if isinstance(message, WaitingEntry) else None
    is_hidden = is_meta(message)

    def plan(waiting: Sequence[Envelope[Any]]) -> Sequence[Envelope[Any]]:
        is_by_itself = first is None and is_hidden
        return () if is_by_itself else plan_turn(first, waiting, trio.current_time())

    with turn.ctx.pick(plan) as lease:
        others: list[Note | InboxItem] = []
        if origin.is_consent:  # else it is said first: an interrupt while hooks look at the others must not lose it
            others = await _admit(turn, lease.messages)
        quiet = home.pending.take_quiet()
        said = [text] if text or not is_hidden else []  # else the conversation is to be answered as it is
        texts = [*said, *turn.hooking.take_reminders(), *(wrap(REMINDER, note.text) for note in quiet)]
        typed = "" if _words(message) == text else _words(message)
        if home.profile.definition.initial_prompt and not len(turn.conversation):
            texts.insert(0, home.profile.definition.initial_prompt)
            typed = _words(message)
        texts[:0] = map(reminder, home.pending.take_openings())
        if home.profile.definition.critical_reminder and said:
            texts.append(reminder(home.profile.definition.critical_reminder))
        if texts:
            _say_first(turn, message, texts, notices=notices_of((message, *quiet)), typed=typed)
        if origin.is_consent:
            turn.state.name_prompt(turn.conversation.last_uuid)
        turn.ctx.acknowledge()
        _tell_taken(turn, [message])
        if not origin.is_consent:
            others = await _admit(turn, lease.messages)
            _say_reminders(turn)
        _say(turn, others)
    return None


def _say_first(
    turn: AgentTurn,
    message: Note | Work | Prompt | InboxItem,
    texts: Sequence[str],
    *,
    notices: dict[str, str],
    typed: str,
) -> None:
    """Append the message with which a turn begins."""
    turn.conversation.say(
        texts,
        is_hidden=is_meta(message),
        origin=origin_of(message),
        uuid=_uuid_of(turn, message),
        notices=notices,
        typed=typed,
        items=_items_of([message]),
    )


def _uuid_of(turn: AgentTurn, message: Note | Work | Prompt | InboxItem) -> str:
    """Return the uuid for the line of the message with which a turn begins; empty where any will do."""
    return turn.state.prompt_id or (message.uuid if isinstance(message, InboxItem | Prompt) else "")


async def _expand(turn: AgentTurn, skills: Iterable[Rendered]) -> None:
    """Run the hooks that look at the skills that the user called by `/name`.

    Raises:
        PromptBlocked: A hook refused one.
        StoppedByHook: A hook wanted an end.
    """
    if not turn.hooking.has(HookEvent.USER_PROMPT_EXPANSION):
        return
    turn.hooking.name_prompt()
    for skill in skills:
        told = UserPromptExpansionInput(
            expansion_type="slash_command",
            command_name=skill.skill.name,
            command_args=skill.arguments,
            command_source=skill.skill.scope.value,
            prompt=skill.text,
        )
        outcome = await turn.hooking.run(told)
        if outcome.is_blocked:
            raise PromptBlocked(f"/{skill.skill.name}: {outcome.reason}")


async def take_at_edge(turn: AgentTurn, results: Sequence[ToolResultBlock]) -> None:
    """Append the results of a batch, and behind them what was sent meanwhile and may share the turn.

    To be called where something waits; else `say_results` does. Whatever happens, the results are appended.
    """
    with turn.ctx.pick(lambda waiting: plan_edge(waiting, trio.current_time())) as lease:
        try:
            taken = await _admit(turn, lease.messages)
        finally:
            say_results(turn, results)
        _say(turn, taken)


async def take_while_waiting(turn: AgentTurn, until_s: float, *, must_wait: bool) -> bool:
    """Wait; what is sent meanwhile and may share the turn is appended, and ends the wait.

    Args:
        turn: Its conversation has no open calls.
        until_s: How long it waits at most, on the run's clock.
        must_wait: Whether it waits so long in any case; what was sent is appended then.

    Returns:
        Whether anything was appended.

    Raises:
        StoppedByHook: A hook wanted an end.
    """
    if must_wait:
        await trio.sleep_until(until_s)
    while not await _take_now(turn):
        with trio.move_on_at(until_s) as scope:
            await turn.ctx.wait_mail()
        if scope.cancelled_caught:
            return False
    return True


async def _take_now(turn: AgentTurn) -> bool:
    """Append what waits and may share the turn; says whether anything was appended."""
    if not turn.ctx.has_mail:
        return False
    with turn.ctx.pick(lambda waiting: plan_edge(waiting, trio.current_time())) as lease:
        taken = await _admit(turn, lease.messages)
        was_reminded = _say_reminders(turn)
        _say(turn, taken)
    return was_reminded or bool(taken)


def _say_reminders(turn: AgentTurn) -> bool:
    """Append what hooks said to the model, as a message of its own; says whether there was anything."""
    reminders = turn.hooking.take_reminders()
    if reminders:
        turn.conversation.say(reminders, is_hidden=True)
    return bool(reminders)


def say_results(turn: AgentTurn, results: Sequence[ToolResultBlock], *, is_at_rest: bool = False) -> None:
    """Append the results of a batch, and behind them what waited to be read with the next message.

    Args:
        turn: The turn.
        results: Of its calls.
        is_at_rest: True if the turn ends with them: nobody is to answer, and what waits is left to the next one.
    """
    texts = turn.hooking.take_reminders()
    if not turn.home.pending.quiet or is_at_rest:
        turn.conversation.say(texts, results, is_at_rest=is_at_rest)
        return
    quiet = turn.home.pending.take_quiet()
    texts += [wrap(REMINDER, note.text) for note in quiet]
    turn.conversation.say(texts, results, notices=notices_of(quiet))


async def _admit(turn: AgentTurn, entries: Sequence[Note | InboxItem]) -> list[Note | InboxItem]:
    """Return those of the entries that still count, and that hooks let the model see."""
    if not entries:
        return []
    now_s = trio.current_time()
    kept: list[Note | InboxItem] = []
    for entry in entries:
        if entry.is_expired(now_s):
            _drop(turn, entry, "")
            continue
        if entry.origin.is_consent and turn.hooking.has(HookEvent.USER_PROMPT_SUBMIT):
            outcome = await turn.hooking.run(UserPromptSubmitInput(prompt=render(entry)), about=entry)
            if outcome.is_blocked:
                turn.hooking.notice(HookEvent.USER_PROMPT_SUBMIT.value, f"the prompt was refused: {outcome.reason}")
                _drop(turn, entry, f"a hook refused it: {outcome.reason}")
                continue
        kept.append(entry)
    return kept


def _drop(turn: AgentTurn, entry: Note | InboxItem, why: str) -> None:
    if isinstance(entry, InboxItem):
        turn.home.ports.note_dropped(entry.uuid, why)


def _items_of(messages: Iterable[object]) -> list[str]:
    return [message.id for message in messages if isinstance(message, InboxItem)]


def _say(turn: AgentTurn, entries: Sequence[Note | InboxItem]) -> None:
    for group in plan_messages(entries):
        one = group[0]
        uuid = one.uuid if isinstance(one, InboxItem) and len(group) == 1 else ""
        turn.conversation.say(
            [*map(render, group)],
            is_hidden=one.is_meta,
            origin=one.origin,
            uuid=uuid,
            notices=notices_of(group),
            items=_items_of(group),
        )
    _tell_taken(turn, entries)


def _tell_taken(turn: AgentTurn, messages: Iterable[object]) -> None:
    """Report items of the session's queue as taken, and notices and mail as read."""
    home = turn.home
    for message in messages:
        _note_words(home, message)
        if (
            home.profile.refusals is not None
            and isinstance(message, InboxItem | Prompt)
            and origin_of(message).is_consent
        ):
            home.profile.refusals.clear()
        if isinstance(message, InboxItem | Prompt) and message.uuid and origin_of(message).is_consent:
            home.ports.note_said(message.uuid)
        if isinstance(message, Note):
            home.pending.note_read(message.notice)
            if message.on_read is not None:
                message.on_read()
        elif isinstance(message, InboxItem):
            home.ports.note_taken(message.uuid)


def _note_words(home: AgentState, message: object) -> None:
    """Record user and peer messages for the reviewer of auto mode, by their origin."""
    auto = home.services.auto
    if auto is None or not isinstance(message, Note | Work | Prompt | InboxItem) or is_meta(message):
        return
    if isinstance(message, InboxItem) and message.kind is EntryKind.ORPHANED_PERMISSION:
        return  # its text is the id of a call, which a model has made up
    if origin_of(message).is_consent:
        auto.hear(_words(message))
    elif home.profile.is_child and not (isinstance(message, Note) and message.notice):
        home.review.add_task(render(message))


def _words(message: Note | Work | Prompt | InboxItem) -> str:
    """Return what the user typed: of a command by `/name` the command, not the text that it stands for."""
    if isinstance(message, Prompt) and message.typed:
        return message.typed
    if isinstance(message, InboxItem) and message.kind is EntryKind.BASH:
        return f"! {message.text}"
    return message.text


# --- what is not for the model -----------------------------------------------------------------------------------------


async def carry_out(turn: AgentTurn, item: InboxItem) -> bool:
    """Do what the user wants done, and say whether the model is to go on from there. It is never done twice.

    Raises:
        StoppedByHook: A hook wants an end; the result of the call is there.
    """
    turn.ctx.acknowledge()
    _tell_taken(turn, [item])
    if item.kind is EntryKind.BASH:
        turn.conversation.close_open_calls()
        await _run_entry(turn, item)
        return False
    call = next((open_call for open_call in open_calls(turn.conversation.messages) if open_call.id == item.text), None)
    return call is not None and await _settle(turn, call, item.answer)


async def _run_entry(turn: AgentTurn, item: InboxItem) -> None:
    """Run a command line of the user's; the model reads with the next message what came of it."""
    out, error = "", CUT_OFF
    turn.home.note_activity(item.text)
    try:
        if turn.home.services.wait_durable is not None:
            await turn.home.services.wait_durable()
        out, error = await bash_tool.call({"command": item.text}, turn.tool_context), ""
    except (ToolError, JournalError) as problem:
        error = str(problem)
    finally:
        turn.home.note_activity("")
        parts = {"bash-input": item.text, "bash-stdout": out, "bash-stderr": error}
        text = "".join(fields(parts))
        turn.conversation.say([text], origin=item.origin, uuid=item.uuid, is_at_rest=True)


async def run_skill(turn: AgentTurn, message: Note | Work | Prompt | InboxItem, rendered: Rendered) -> str:
    """Run a skill of the user's as an agent of its own and return what it said; the model reads it with the next message.

    Raises:
        UsageError: It may not be run here.
        PeerError: Its agent did not come to its end.
    """
    home = turn.home
    out, error = "", CUT_OFF
    name = f"/{rendered.skill.name}"
    home.note_activity(name)
    try:
        out, error = await home.ports.run_skill(home, rendered), ""
    except GreenroomError as problem:
        out, error = str(getattr(problem, "partial", "")), str(problem)
        raise
    finally:
        home.note_activity("")
        home.note_text(out)
        parts = {"command-name": name, "command-args": rendered.arguments, "local-command-stdout": out}
        parts |= {"local-command-stderr": error} if error else {}
        text = "".join(fields(parts))
        uuid = _uuid_of(turn, message)
        turn.conversation.say([text], origin=origin_of(message), uuid=uuid, is_at_rest=True)
    return out


async def _settle(turn: AgentTurn, call: ToolUseBlock, answer: object) -> bool:
    """Carry out a person's answer about an open call.

    The other calls that are open with it get `interrupted` results: nobody has answered them.
    """
    results: dict[str, ToolResultBlock] = {}
    goes_on = True
    try:
        if isinstance(answer, Deny):
            why = answer.message if turn.guard is None else turn.guard.refusal(call, answer.message, turn.round)
            results[call.id] = ToolResultBlock(call.id, why, is_error=True)
            goes_on = not answer.interrupts
        else:
            if turn.guard is not None and isinstance(answer, Allow):
                turn.guard.give(call.id, answer)
            await run_calls((call,), turn, results)
    finally:
        turn.conversation.close_open_calls(results)
    return goes_on

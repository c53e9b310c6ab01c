"""Commands of chats, carried out: the step that a plan names, by the part of the gateway that it belongs to, and the answer.

    commands = ChatCommands(CommandHost(state=..., stop_chat=..., ...))
    text = await commands.run(key, "/subagents list", caller)      # the `run_command` of the reception

Rule 1: a command needs no place in a lane, and begins no turn. Rule 2: it is answered when it is done: what is said to be stopped has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, final

import attrs

from greenroom.core import GreenroomError, JournalError
from greenroom.gateway.commands import _chat_state as steps
from greenroom.gateway.commands._command_table import plan_command
from greenroom.gateway.commands._command_texts import (
    SendOutcome,
    StopOutcome,
    answer_text,
    pairing_result_text,
    send_text,
    stop_runs_text,
    stop_text,
)
from greenroom.gateway.commands._subagent_texts import LogMessage, log_text
from greenroom.gateway.record._rows import Pairing
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.trust._approval_desk import AnswerReceipt, ApprovalWord, QuestionEnd
from greenroom.gateway.trust._chat_admission import command_name
from greenroom.gateway.trust._pairing import PairingResult
from greenroom.gateway.trust._reception import CommandCaller
from greenroom.models.budgets import Spent


@final
@attrs.frozen(kw_only=True)
class CommandHost:
    """The parts of the gateway, as commands use them. What raises is answered with its message."""

    state: Callable[[SessionKey, CommandCaller], steps.ChatState]
    """Returns the state of a chat."""
    stop_chat: Callable[[str, bool, str], Awaitable[StopOutcome]]
    """Ends the turn of a session, and with True its sub-agents; called with the key, that, and who asks."""
    stop_runs: Callable[[Sequence[str], str], Awaitable[StopOutcome]]
    """Stops runs; called with their ids and who asks."""
    reset: Callable[[str, str], Awaitable[object]]
    """Begins a new conversation; called with the key and who asks."""
    patch: Callable[[str, Mapping[str, Any]], Awaitable[object]]
    """Changes settings of a session."""
    spent: Callable[[str], Awaitable[Spent]]
    """Returns what the conversation of a session has used."""
    compact: Callable[[str, str], Awaitable[bool]]
    """Compacts a conversation; called with the key and who asks. Returns False if that goes on behind the answer."""
    send: Callable[[str, str, CommandCaller], Awaitable[SendOutcome]]
    """Gives a text to the session of a sub-agent as a run of its own, and waits at most 30 s for the reply."""
    log: Callable[[str, int, bool], Awaitable[Sequence[LogMessage]]]
    """Returns at least the newest messages of a session, the oldest of them first; called with the key, their number, and True if
    calls of tools count.
    """
    answer: Callable[[str, ApprovalWord, str], Awaitable[tuple[AnswerReceipt, QuestionEnd | None]]]
    """Answers a question; called with its id, the answer, and who answers."""
    change_pairing: Callable[[steps.ChangePairing, CommandCaller], Awaitable[tuple[PairingResult, Pairing | None]]]
    """Approves or rejects a code, or removes a person; called with the step and who asks."""


def with_spent(facts: steps.StatusFacts, spent: Spent) -> steps.StatusFacts:
    """Return the figures of a session with what it has used; the cost is known only if each model has a price."""
    return attrs.evolve(
        facts,
        sent_tokens=spent.usage.prompt_tokens,
        received_tokens=spent.usage.output_tokens,
        cost=spent.usd if spent.calls and not spent.unpriced_calls else None,
    )


@final
class ChatCommands:
    """The commands of chats.

    Args:
        host: The parts of the gateway.
    """

    def __init__(self, host: CommandHost) -> None:
        self._host = host

    def __repr__(self) -> str:
        return "<ChatCommands>"

    async def run(self, key: SessionKey, text: str, caller: CommandCaller) -> str:
        """Carry out a command and return the answer; empty for none.

        Cancelled, it may have been carried out.

        Args:
            key: The session of the chat.
            text: The command, with its `/`.
            caller: Who gives it.

        Raises:
            JournalError: What it does cannot be recorded.
        """
        state = self._host.state(key, caller)
        if command_name(text) == "status":
            state = attrs.evolve(state, facts=with_spent(state.facts, await self._host.spent(str(key))))
        step = plan_command(state, text)
        try:
            return await self.carry_out(step, str(key), caller)
        except JournalError:
            raise
        except GreenroomError as error:
            return f"Not done: {error}"

    async def carry_out(self, step: steps.CommandStep, key: str, caller: CommandCaller) -> str:
        """Carry out a step, and return the answer.

        Raises:
            GreenroomError: It is not possible.
        """
        return await self._STEPS[type(step)](self, step, key, caller)

    async def _say(self, step: steps.PlainAnswer, key: str, caller: CommandCaller) -> str:
        return step.text

    async def _stop_chat(self, step: steps.StopChat, key: str, caller: CommandCaller) -> str:
        return stop_text(await self._host.stop_chat(key, step.with_children, caller.who))

    async def _stop_runs(self, step: steps.StopRuns, key: str, caller: CommandCaller) -> str:
        return stop_runs_text(await self._host.stop_runs(step.runs, caller.who) if step.runs else StopOutcome())

    async def _reset(self, step: steps.ResetChat, key: str, caller: CommandCaller) -> str:
        await self._host.reset(key, caller.who)
        return "A new conversation begins."

    async def _patch(self, step: steps.PatchChat, key: str, caller: CommandCaller) -> str:
        await self._host.patch(key, step.settings)
        return step.said

    async def _compact(self, step: steps.CompactChat, key: str, caller: CommandCaller) -> str:
        if await self._host.compact(key, caller.who):
            return "The conversation is compacted."
        return "The conversation will be compacted when its turn has ended; that takes a while."

    async def _send(self, step: steps.SendToRun, key: str, caller: CommandCaller) -> str:
        return send_text(await self._host.send(step.session, step.text, caller))

    async def _log(self, step: steps.ReadLog, key: str, caller: CommandCaller) -> str:
        messages = await self._host.log(step.session, step.limit, step.with_tools)
        return log_text(messages, limit=step.limit, with_tools=step.with_tools)

    async def _answer(self, step: steps.AnswerQuestion, key: str, caller: CommandCaller) -> str:
        receipt, end = await self._host.answer(step.id, step.answer, caller.who)
        return answer_text(step.id, receipt, end)

    async def _pair(self, step: steps.ChangePairing, key: str, caller: CommandCaller) -> str:
        result, row = await self._host.change_pairing(step, caller)
        channel, sender = (row.channel, row.sender) if row is not None else (step.channel, step.sender)
        return pairing_result_text(step.verb, result, f"{channel}:{sender}")

    _STEPS: ClassVar[Mapping[type, Callable[..., Awaitable[str]]]] = {
        steps.PlainAnswer: _say,
        steps.StopChat: _stop_chat,
        steps.StopRuns: _stop_runs,
        steps.ResetChat: _reset,
        steps.PatchChat: _patch,
        steps.CompactChat: _compact,
        steps.SendToRun: _send,
        steps.ReadLog: _log,
        steps.AnswerQuestion: _answer,
        steps.ChangePairing: _pair,
    }

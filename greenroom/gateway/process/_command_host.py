"""The parts of a gateway as commands of chats use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, final

from greenroom.core import UsageError
from greenroom.gateway.commands import _chat_state as steps
from greenroom.gateway.commands._chat_commands import CommandHost
from greenroom.gateway.commands._command_texts import SEND_WAIT_S, SendOutcome, StopOutcome
from greenroom.gateway.commands._subagent_texts import LogMessage
from greenroom.gateway.keepers._agent_setup import lane_of, sessions_folder
from greenroom.gateway.keepers._session_history import TOOL_RESULT
from greenroom.gateway.keepers._session_models import gateway_pricing
from greenroom.gateway.process._gateway_parts import GatewayParts
from greenroom.gateway.record._machines import EndCause
from greenroom.gateway.record._rows import Pairing
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.runs._child_models import own_model, own_thinking
from greenroom.gateway.runs._completions import TRANSCRIPT, transcript_place
from greenroom.gateway.runs._run_ids import run_of_item
from greenroom.gateway.trust._approval_desk import AnswerReceipt, ApprovalWord, QuestionEnd
from greenroom.gateway.trust._pairing import PairingResult
from greenroom.gateway.trust._reception import CommandCaller
from greenroom.inbox import HUMAN
from greenroom.models.budgets import Spent
from greenroom.session.assembly._model_layers import read_spent

COMPACT_WAIT_S: Final = 30.0
"""Seconds that `/compact` waits for the summary."""


def command_host(find_parts: Callable[[], GatewayParts]) -> CommandHost:
    """Return the parts as commands use them.

    Args:
        find_parts: Returns the parts, when a command is carried out.
    """
    wired = _Wired(find_parts)
    return CommandHost(
        state=wired.state,
        stop_chat=wired.stop_chat,
        stop_runs=wired.stop_runs,
        reset=wired.reset,
        patch=wired.patch,
        spent=wired.spent,
        compact=wired.compact,
        send=wired.send,
        log=wired.log,
        answer=wired.answer,
        change_pairing=wired.change_pairing,
    )


@final
class _Wired:
    def __init__(self, find_parts: Callable[[], GatewayParts]) -> None:
        self._find = find_parts

    def state(self, key: SessionKey, caller: CommandCaller) -> steps.ChatState:
        parts = self._find()
        return steps.ChatState(
            key=str(key),
            caller=caller,
            now_s=parts.now_s(),
            registry=parts.registry,
            is_busy=parts.keepers.is_busy(str(key)),
            turn_senders=self._senders(parts, str(key)),
            facts=self._facts(parts, key),
            questions=parts.approvals.open_questions(),
            models=tuple(parts.settings.models.aliases),
            transcript_of=lambda session: self._transcript(parts, session),
        )

    @staticmethod
    def _senders(parts: GatewayParts, key: str) -> frozenset[str]:
        items = tuple(row.item for row in parts.registry.inbound.values() if row.session == key and row.is_taken)
        return parts.reception.senders.of(items)

    @staticmethod
    def _facts(parts: GatewayParts, key: SessionKey) -> steps.StatusFacts:
        row = parts.registry.sessions.get(str(key))
        settings: Mapping[str, Any] = row.settings if row is not None else {}
        lane = lane_of(key)
        figures = parts.lanes.statistics()[lane]
        waiting = [each for each in parts.registry.inbound.values() if each.session == str(key) and not each.is_taken]
        return steps.StatusFacts(
            model=own_model(parts.settings, key.agent, settings).primary,
            thinking=own_thinking(parts.settings, key.agent, settings),
            queue=str(settings.get("queue") or parts.settings.messages.queue.mode),
            waiting=len(waiting),
            lane=lane,
            lane_active=figures.active,
            lane_width=figures.width,
            lane_waiting=figures.waiting,
        )

    @staticmethod
    def _transcript(parts: GatewayParts, session: str) -> str:
        row = parts.registry.sessions.get(session)
        if row is None:
            return ""
        return str(transcript_place(parts.folder.path, row.key, row.session_id, row.transcript or TRANSCRIPT))

    async def stop_chat(self, key: str, with_children: bool, who: str) -> StopOutcome:  # noqa: FBT001 - as the host says
        parts = self._find()
        had_turn = parts.keepers.is_busy(key)
        has_ended = await parts.keepers.stop_turn(key, who=who, cause=EndCause.STOP)
        is_left = had_turn and parts.keepers.is_busy(key)
        turn: Literal["ended", "none", "failed"] = "ended" if has_ended else "failed" if is_left else "none"
        if not with_children or key not in parts.registry.sessions:
            return StopOutcome(turn=turn)
        stopped = await parts.runs.stop(key, who)
        return StopOutcome(turn=turn, stopped=stopped.stopped, failed=stopped.failed, ended_before=stopped.ended_before)

    async def stop_runs(self, runs: Sequence[str], who: str) -> StopOutcome:
        stopped = await self._find().runs.stop(runs, who)
        return StopOutcome(stopped=stopped.stopped, failed=stopped.failed, ended_before=stopped.ended_before)

    async def reset(self, key: str, who: str) -> object:
        return await self._find().keepers.reset(key, who=who)

    async def patch(self, key: str, settings: Mapping[str, Any]) -> object:
        await self._find().keepers.patch(key, settings)
        return None

    async def spent(self, key: str) -> Spent:
        parts = self._find()
        row = parts.registry.sessions.get(key)
        if row is None:
            return Spent()
        folder = sessions_folder(parts.folder.path, SessionKey.parse(key)) / row.session_id
        return await parts.ports.blocking.run(read_spent, folder, gateway_pricing(parts.settings))

    async def compact(self, key: str, who: str) -> bool:
        parts = self._find()
        if key not in parts.registry.sessions:
            raise UsageError("there is nothing to compact: the conversation has not begun")
        return await parts.keepers.compact(key, within_s=COMPACT_WAIT_S)

    async def send(self, session: str, text: str, caller: CommandCaller) -> SendOutcome:
        runs = self._find().runs
        run = await runs.begin(SessionKey.parse(session), text, HUMAN, run=run_of_item(caller.item))
        ended = await runs.wait(run, SEND_WAIT_S)
        if not ended.is_ended:
            return SendOutcome(state="running", run=run)
        if ended.error:
            return SendOutcome(state="failed", run=run, text=ended.error)
        return SendOutcome(state="replied", run=run, text=await runs.reply_of(run))

    async def log(self, session: str, limit: int, with_tools: bool) -> Sequence[LogMessage]:  # noqa: FBT001 - likewise
        parts = self._find()
        row = parts.registry.sessions[session]
        page = await parts.view.read_page(row, limit=limit, detail="results" if with_tools else "texts")
        shown = [each for message in page.messages for each in message.as_texts()]
        return [
            LogMessage(is_user=each["role"] == "user", text=each["text"], is_tool=each["role"] == TOOL_RESULT)
            for each in shown
        ]

    async def answer(self, id_: str, answer: ApprovalWord, who: str) -> tuple[AnswerReceipt, QuestionEnd | None]:
        desk = self._find().approvals
        return await desk.answer(id_, answer, who=who), desk.end_of(id_)

    async def change_pairing(
        self, step: steps.ChangePairing, caller: CommandCaller
    ) -> tuple[PairingResult, Pairing | None]:
        desk = self._find().pairing
        match step.verb:
            case "approve":
                return await desk.approve(step.code, who=caller.who, item=caller.item)
            case "reject":
                return await desk.reject(step.code, who=caller.who)
        is_done = await desk.remove(step.channel, "default", step.sender, who=caller.who)
        return (PairingResult.DONE if is_done else PairingResult.UNKNOWN), None

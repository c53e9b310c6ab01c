"""The wires between parts that are made before each other: each looks the parts up when it is used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final, final

import trio

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import open_bare_nursery
from greenroom.core.ports import Ports
from greenroom.gateway.commands._chat_commands import CommandHost
from greenroom.gateway.keepers._kept_session import KeptSession, OpenOrder, open_kept
from greenroom.gateway.process._command_host import command_host
from greenroom.gateway.process._gateway_parts import GatewayParts
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.routing._chat_messages import Inbound
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.tools._session_tools import session_tools
from greenroom.gateway.trust._approval_desk import ApprovalDesk, QuestionEnd, ToolQuestion, question_text
from greenroom.gateway.trust._chat_admission import may_invite
from greenroom.gateway.trust._question_relay import QuestionRelay
from greenroom.gateway.trust._reception import CommandCaller
from greenroom.tools import Tool
from greenroom.tools.builtin import STANDARD_TOOLS

FULL: Final = "too many deliveries are due (limits.dueDeliveries)"


@final
class HostWiring:
    """The wires.

    Args:
        find_parts: Returns the parts; None until they are open.
        record: The gateway's record.
        ports: Source of ids.
        now: Returns the wall clock, in seconds since 1970.
    """

    def __init__(
        self,
        find_parts: Callable[[], GatewayParts | None],
        *,
        record: GatewayRecord,
        ports: Ports,
        now: Callable[[], float],
    ) -> None:
        self._find = find_parts

        def open_desk(settle: Callable[[QuestionEnd], object]) -> ApprovalDesk:
            return ApprovalDesk(record=record, ids=ports.ids, wall=now, settle=settle, tell=self._tell)

        self.questions = QuestionRelay(record, open_desk)
        """The questions of open sessions."""
        self.nursery: trio.Nursery | None = None
        """For what a wire begins without waiting for it."""
        self.is_recovered = False
        """True once the plan of the start was carried out: before that, nobody else looks at old deliveries."""

    @property
    def _parts(self) -> GatewayParts:
        parts = self._find()
        assert parts is not None, "the parts are open before they are used"
        return parts

    # --- channels ----------------------------------------------------------------------------------------------------

    async def hear(self, inbound: Inbound) -> None:
        """Hand a message of a channel to the reception."""
        await self._parts.reception.hear(inbound)

    def may_invite(self, channel: str, account: str, person: str) -> bool:
        """True if an account follows a person's invitation into a room."""
        parts = self._parts
        return may_invite(parts.config(), parts.registry.services.pairings, channel, account, person)

    def channel_is_back(self, channel: str, account: str) -> None:
        """Have what waits for an account tried again."""
        if self.nursery is not None and self.is_recovered:
            self.nursery.start_soon(self._parts.deliveries.channel_is_back, channel, account)

    def note_waiting(self, channel: str, account: str) -> None:
        """Shut the gate of an account while too many texts wait for it."""
        parts = self._find()
        gate = None if parts is None else parts.accounts.intake_of(channel, account)
        if parts is not None and gate is not None:
            is_full = parts.deliveries.due_count(channel, account) >= parts.settings.limits.due_deliveries
            (gate.shut if is_full else gate.reopen)(FULL)

    # --- sessions ----------------------------------------------------------------------------------------------------

    def tools_for(self, key: SessionKey) -> Iterable[Tool]:
        """Return the tools that there are for a session."""
        parts = self._parts
        crew = AGENT_TOOLS if parts.settings.tools.vocabulary == "agent" else ()
        return (*STANDARD_TOOLS, *crew, *session_tools(key, parts.runs, parts.view))

    def command_host(self) -> CommandHost:
        """Return the parts as commands of chats use them."""
        return command_host(lambda: self._parts)

    async def run_command(self, key: SessionKey, text: str, caller: CommandCaller) -> str:
        """Carry out a command of a chat."""
        return await self._parts.commands.run(key, text, caller)

    # --- questions ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def open_asking(self, order: OpenOrder) -> AsyncIterator[KeptSession]:
        """Open a session whose questions about calls stand in the one queue."""
        async with open_kept(order) as kept, open_bare_nursery() as nursery:
            nursery.start_soon(self.questions.relay, order.key, kept.questions)
            try:
                yield kept
            finally:
                nursery.cancel_scope.cancel("the session closes")

    async def _tell(self, question: ToolQuestion) -> None:
        """Tell an owner about a question, in the direct chat where one wrote last; clients hear about it by its event."""
        parts = self._find()
        route = None if parts is None else parts.reception.owner_route
        if parts is not None and route is not None:
            await parts.deliveries.post(route, question_text(question), f"question:{question.id}")

    def note_lag(self, worst_s: float) -> None:
        """Log that the event loop was late for long, with what ran."""
        busy = [key for key in self._parts.registry.sessions if self._parts.keepers.is_busy(key)]
        self._parts.log.alert(f"the event loop was late by {worst_s:.1f} s", sessions=busy[:20])

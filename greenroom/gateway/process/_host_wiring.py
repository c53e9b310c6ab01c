"""The wires between parts that are made before each other: each looks the parts up when it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

import trio

from greenroom.core.ports import Ports
from greenroom.gateway.commands._chat_commands import CommandHost
from greenroom.gateway.process._command_host import command_host
from greenroom.gateway.process._gateway_parts import GatewayParts
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.routing._messages import Inbound
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.trust._approval_desk import ApprovalDesk, QuestionEnd, ToolQuestion
from greenroom.gateway.trust._reception import CommandCaller
from greenroom.tools import Tool
from greenroom.tools.builtin import STANDARD_TOOLS


@final
class HostWiring:
    """The wires.

    Args:
        find_parts: Returns the parts; None until they are open.
    """

    def __init__(self, find_parts: Callable[[], GatewayParts | None]) -> None:
        self._find = find_parts
        self.nursery: trio.Nursery | None = None
        """For what a wire begins without waiting for it."""

    @property
    def _parts(self) -> GatewayParts:
        parts = self._find()
        assert parts is not None, "the parts are open before they are used"
        return parts

    # --- channels ----------------------------------------------------------------------------------------------------

    async def hear(self, inbound: Inbound) -> None:
        """Hand a message of a channel to the reception."""
        await self._parts.reception.hear(inbound)

    def channel_is_back(self, channel: str, account: str) -> None:
        """Have what waits for an account tried again."""
        if self.nursery is not None:
            self.nursery.start_soon(self._parts.deliveries.channel_is_back, channel, account)

    # --- sessions ----------------------------------------------------------------------------------------------------

    def tools_for(self, key: SessionKey) -> Iterable[Tool]:
        """Return the tools that there are for a session."""
        return STANDARD_TOOLS

    def command_host(self) -> CommandHost:
        """Return the parts as commands of chats use them."""
        return command_host(lambda: self._parts)

    async def run_command(self, key: SessionKey, text: str, caller: CommandCaller) -> str:
        """Carry out a command of a chat."""
        return await self._parts.commands.run(key, text, caller)

    # --- questions ---------------------------------------------------------------------------------------------------

    def approvals(self, record: GatewayRecord, ports: Ports, now: Callable[[], float]) -> ApprovalDesk:
        """Return the queue of questions."""
        return ApprovalDesk(record=record, ids=ports.ids, wall=now, settle=self._settle, tell=self._tell)

    def _settle(self, end: QuestionEnd) -> None:
        """Hand the answer to the session that asked."""

    async def _tell(self, question: ToolQuestion) -> None:
        """Tell owners about a question."""

    def note_lag(self, worst_s: float) -> None:
        """Log that the event loop was late for long, with what ran."""
        busy = [key for key in self._parts.registry.sessions if self._parts.keepers.is_busy(key)]
        self._parts.log.alert(f"the event loop was late by {worst_s:.1f} s", sessions=busy[:20])

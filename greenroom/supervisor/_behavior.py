"""The behavior of a supervisor: carries out its decisions, one after another.

A decision must not be lost or repeated, so it is acknowledged before it is carried out. Other messages are dead letters:
sending one to a supervisor does not end it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs

from greenroom.actors import Context, Outcome, Parent, Request, State
from greenroom.core import SupervisorFailed
from greenroom.mailbox import DeadReason
from greenroom.supervisor._strategy import Batch

if TYPE_CHECKING:
    from greenroom.supervisor._supervisor import Supervisor


@final
@attrs.frozen
class RestartChild(Request[None]):
    """A request to restart a child; answered when it is ready, or has terminated."""

    child: str


@final
@attrs.frozen
class Escalation:
    """The decision to fail after too many restarts."""

    error: SupervisorFailed


@final
class SupervisorBehavior(Parent[object]):
    """The behavior of a supervisor."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def on_start(self, ctx: Context) -> None:
        """Open the supervisor for children."""
        self._supervisor.open()

    async def on_message(self, message: object, ctx: Context) -> None:
        """Carry out a decision; dead-letter any other message."""
        ctx.acknowledge()
        match message:
            case Escalation(error=error):
                await self._supervisor.stop_children()
                raise error
            case Batch():
                await self._supervisor.carry_out(message)
            case RestartChild(child=child):
                await self._supervisor.restart_now(child)
                ctx.reply(None)
            case _:
                assert ctx.turn.envelope is not None
                self._supervisor.cell.note_refused(message, ctx.turn.envelope.lane, DeadReason.UNHANDLED)

    def on_unfinished(self, message: object, outcome: Outcome, ctx: Context) -> None:
        """Resume an escalation whose turn was aborted while the children were stopped."""
        if isinstance(message, Escalation) and outcome.state is State.KILLED:
            self._supervisor.resume_decision(message)

    async def stop_children(self) -> None:
        """Stop all children in order, at the supervisor's own end."""
        await self._supervisor.stop_children()

    def end_children(self) -> None:
        """Kill all remaining children: the last guard at every end."""
        self._supervisor.end_children()

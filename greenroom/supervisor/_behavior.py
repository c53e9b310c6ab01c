"""The actor side of a supervisor: what it is told, one decision after another.

Rule 1: a decision is no letter that could get lost, so it is acknowledged before it is carried out. Rule 2: anybody may
write to a supervisor, and nobody may end it that way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs

from greenroom.actors import Context, Outcome, Parent, Request, State
from greenroom.core import SupervisorFailed
from greenroom.supervisor._plans import Batch

if TYPE_CHECKING:
    from greenroom.supervisor._supervisor import Supervisor


@final
@attrs.frozen
class RestartChild(Request[None]):
    """Somebody wants a child's next incarnation; answered when it is ready, or gone."""

    child: str


@final
@attrs.frozen
class Escalation:
    """There were too many restarts: fail."""

    error: SupervisorFailed


@final
class SupervisorBehavior(Parent[object]):
    """Takes one decision after another."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def on_start(self, ctx: Context) -> None:
        """Be ready for children."""
        assert ctx.nursery is not None
        self._supervisor.open(ctx.nursery)

    async def on_message(self, message: object, ctx: Context) -> None:
        """Carry out a decision."""
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
                self._supervisor.refuse(message)

    def on_unfinished(self, message: object, outcome: Outcome, ctx: Context) -> None:
        """Take an escalation again if its turn was aborted while the children were stopped."""
        if isinstance(message, Escalation) and outcome.state is State.KILLED:
            self._supervisor.go_on_with(message)

    async def stop_children(self) -> None:
        """End all children in order, at the supervisor's own end."""
        await self._supervisor.stop_children()

    def end_children(self) -> None:
        """Be the last guard (kernel 9.6)."""
        self._supervisor.end_children()

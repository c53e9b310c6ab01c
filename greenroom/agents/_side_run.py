"""The place beside all turns of an agent, where the runtime's own services let its model answer.

What runs there begins like the agent's own requests (`run_forked`), and touches neither its turn nor its conversation,
transcript, mailbox and activity. It is recorded as turn 0 of incarnation 0, so that it may outlast both, and counts as
the agent's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar, final

import attrs

from greenroom.agents._conversation import Conversation
from greenroom.agents._model_request import Keep, ask_model
from greenroom.agents._state import AgentState
from greenroom.agents._turn_hooks import NOTICE_CHARS
from greenroom.agents.events._agent_events import AgentNoticed
from greenroom.core import UsageError
from greenroom.core.texts import error_text
from greenroom.models import ModelRequest, ModelResponse, Usage

T = TypeVar("T")
Emit: TypeAlias = Callable[..., int]
"""`Recorder.emit_fields`."""


@final
@attrs.define(kw_only=True, eq=False)
class SideRun:
    """One run beside the turns of an agent; made by `open_side_run`."""

    home: AgentState
    conversation: Conversation
    agent: str
    emit: Emit
    incarnation: int = 0
    turn: int = 0
    round: int
    seq: int = 0
    usage: Usage = attrs.field(factory=Usage)
    began: int = 0
    """Number of the event with which the run began that asked last."""

    def count(self, usage: Usage) -> None:
        """Count what a request has used."""
        self.usage += usage

    async def ask(self, request: ModelRequest, keep: Keep, parent: int) -> ModelResponse:
        """Ask the model once, and record the request and its usage; `keep` gets the answer, as far as it arrived."""
        self.began = parent
        self.round = self.home.next_side_run()
        return await ask_model(self, request, keep, parent)


def open_side_run(home: AgentState, agent: str, emit: Emit) -> SideRun:
    """Return a place for one run beside the turns of an agent.

    Args:
        home: The agent's.
        agent: The agent's id.
        emit: Records an event.

    Raises:
        UsageError: The agent has not started yet: it has no conversation.
    """
    if home.conversation is None:
        raise UsageError(f"the agent {agent!r} has not started yet, so there is no conversation to look at")
    return SideRun(home=home, conversation=home.conversation, agent=agent, emit=emit, round=home.next_side_run())


def notice(agent: str, emit: Emit, source: str, text: str) -> None:
    """Tell people what became of a service that nobody waits for."""
    emit(AgentNoticed, agent, 0, 0, source, text[:NOTICE_CHARS])


async def quietly(agent: str, emit: Emit, source: str, run: Callable[[], Awaitable[T]]) -> T | None:
    """Run a service that nobody waits for: its failure is a notice, and None."""
    try:
        return await run()
    except Exception as error:  # noqa: BLE001 - the boundary of a service: it ends nothing, and is recorded
        notice(agent, emit, source, error_text(error))
        return None

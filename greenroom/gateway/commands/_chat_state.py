"""The state that commands of a chat read, and the steps that they plan.

Rule 1: a state is read once, and a plan is made of nothing else. Rule 2: a step names ids that the plan has resolved, never what a person
typed for them. Rule 3: each step is what one method for clients does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias, final

import attrs

from greenroom.gateway.record._registry import Registry
from greenroom.gateway.record._rows import Run, SessionRow
from greenroom.gateway.trust._approval_desk import ApprovalWord, ToolQuestion
from greenroom.gateway.trust._reception import CommandCaller


@final
@attrs.frozen(kw_only=True)
class StatusFacts:
    """Figures of a session."""

    model: str = ""
    thinking: str = ""
    sent_tokens: int = 0
    received_tokens: int = 0
    cost: Decimal | None = None
    """None if a model has no price."""
    queue: str = ""
    """Queue mode."""
    waiting: int = 0
    """Inputs that wait."""
    lane: str = ""
    lane_active: int = 0
    lane_width: int = 0
    lane_waiting: int = 0


@final
@attrs.frozen(kw_only=True)
class ChatState:
    """The state of a chat at the moment of a command."""

    key: str
    """Key of its session."""
    caller: CommandCaller
    now_s: float
    """The wall clock."""
    registry: Registry
    """It is only read."""
    is_busy: bool = False
    """True if a turn of the session runs or waits for a place."""
    turn_senders: frozenset[str] = frozenset()
    """The senders of what the running turn is about, as `channel:id`."""
    facts: StatusFacts = StatusFacts()
    questions: tuple[ToolQuestion, ...] = ()
    """Questions that wait, of all sessions."""
    models: tuple[str, ...] = ()
    """Names of models that the configuration knows."""
    transcript_of: Callable[[str], str] = str
    """Returns where the transcript of a session is."""

    @property
    def row(self) -> SessionRow | None:
        """The session; None before its first message."""
        return self.registry.sessions.get(self.key)

    @property
    def runs(self) -> list[Run]:
        """The runs of sub-agents that the session asked for, the newest first."""
        return [run for run in self.registry.runs_of(self.key) if run.announce != "none"]


# --- steps ------------------------------------------------------------------------------------------------------------


@final
@attrs.frozen
class PlainAnswer:
    """Answer, and change nothing."""

    text: str


@final
@attrs.frozen(kw_only=True)
class StopChat:
    """End the turn of the session, and its sub-agents."""

    with_children: bool
    """False for the turn alone."""


@final
@attrs.frozen
class StopRuns:
    """Stop runs of sub-agents."""

    runs: tuple[str, ...]


@final
@attrs.frozen
class ResetChat:
    """Begin a new conversation."""


@final
@attrs.frozen(kw_only=True)
class PatchChat:
    """Change settings of the session; None takes one away."""

    settings: Mapping[str, Any]
    said: str
    """The answer."""


@final
@attrs.frozen(kw_only=True)
class SendToRun:
    """Give a message to the session of a sub-agent, and wait a while for the reply."""

    run: str
    session: str
    text: str


@final
@attrs.frozen(kw_only=True)
class ReadLog:
    """Read the messages of a sub-agent."""

    session: str
    limit: int
    with_tools: bool


@final
@attrs.frozen
class AnswerQuestion:
    """Answer a question about a call."""

    id: str
    answer: ApprovalWord


@final
@attrs.frozen(kw_only=True)
class ChangePairing:
    """Approve or reject a code, or remove a person."""

    verb: str
    """`approve`, `reject` or `remove`."""
    code: str = ""
    channel: str = ""
    sender: str = ""


@final
@attrs.frozen
class CompactChat:
    """Compact the conversation."""


CommandStep: TypeAlias = (
    PlainAnswer
    | StopChat
    | StopRuns
    | ResetChat
    | PatchChat
    | SendToRun
    | ReadLog
    | AnswerQuestion
    | ChangePairing
    | CompactChat
)
"""The plan of a command: one step."""

"""The ports of an agent that runs without a session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import final

import attrs

from greenroom.actors import Context
from greenroom.agents import AgentState
from greenroom.core import UsageError
from greenroom.hooks.inputs import SessionCron
from greenroom.models import ToolUseBlock
from greenroom.permissions import Update
from greenroom.skills import Rendered


@final
@attrs.define(kw_only=True, eq=False)
class BareAgentPorts:
    """The ports of an agent without a session: it reads nothing, runs no skills, and what it reports is kept in lists."""

    prompt: str | None = None
    """The system prompt of its conversation once that was compacted; None to keep the one it has."""
    again: Sequence[str] = ()
    """The text that it gets again after a compaction."""
    taken: list[str] = attrs.field(factory=list)
    """The uuids of items that it has taken up."""
    said: list[str] = attrs.field(factory=list)
    """The uuids of messages of the user's that it has taken up."""
    updates: list[Update] = attrs.field(factory=list)
    """Lasting answers about permissions."""

    async def admit(self, agent: AgentState) -> None:
        """Return at once."""

    async def prepare(self, agent: AgentState, ctx: Context) -> None:
        """Return at once."""

    async def renew_prompt(self, agent: AgentState) -> str | None:
        """Return `prompt`."""
        return self.prompt

    def survivors(self, agent: AgentState) -> Sequence[str]:
        """Return `again`."""
        return self.again

    def scheduled(self, agent: AgentState) -> Sequence[SessionCron]:
        """Return nothing."""
        return ()

    async def follow(self, calls: Sequence[ToolUseBlock]) -> list[str]:
        """Return nothing."""
        return []

    def take_up(self, agent: AgentState, rendered: Rendered) -> None:
        """Grant nothing."""

    async def read_prompt(self, agent: AgentState, text: str) -> tuple[str, tuple[Rendered, ...]]:
        """Return the text as it is."""
        return text, ()

    async def run_skill(self, agent: AgentState, rendered: Rendered) -> str:
        """Refuse.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"/{rendered.skill.name} runs as an agent of its own, and no agent can be started here")

    def place(self, agent: AgentState) -> AbstractAsyncContextManager[object]:
        """Nothing to wait for."""
        return nullcontext()

    def note_begun(self, uuid: str) -> None:
        """Do nothing."""

    def note_dropped(self, uuid: str, why: str) -> None:
        """Do nothing."""

    def note_taken(self, uuid: str) -> None:
        """Keep the uuid."""
        self.taken.append(uuid)

    def note_said(self, uuid: str) -> None:
        """Keep the uuid."""
        self.said.append(uuid)

    async def keep_updates(self, agent: AgentState, updates: Sequence[Update]) -> None:
        """Keep the answers."""
        self.updates += updates

    def of_fork(self, parent: AgentState) -> BareAgentPorts:
        """Return the same ports."""
        return self

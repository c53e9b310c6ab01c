"""The ports of the sub-agents of a session: what makes them, and the records of earlier processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import Ref
from greenroom.agents import AgentState, Loaded
from greenroom.agents.definitions import Definitions
from greenroom.agents.subagents import SubagentSpec
from greenroom.core import ActorEnded, JournalError, Undelivered, UsageError
from greenroom.core.ports import Blocking
from greenroom.inbox import MONITOR, BoxFull
from greenroom.mailbox import Lane
from greenroom.models.budgets import Budget
from greenroom.session.equipment._composition import Composition
from greenroom.session.parts._known_agents import KnownAgents
from greenroom.session.parts._session_inbox import SessionInbox
from greenroom.session.record._recovery import read_record
from greenroom.session.record._resume import load_agent

MAX_REPORTS: Final = 50
"""Maximum number of reports of running tasks that wait for the main agent, so that there is room for everybody else."""
FORWARD_S: Final = 1.0
"""Maximum seconds that a report waits to be forwarded."""


@final
class SessionGround:
    """Makes the sub-agents of one session.

    Args:
        composition: Makes their records.
        known: The agents of the session, teammates included.
        budget: The session's.
        inbox: The messages that wait for the main agent.
    """

    def __init__(self, composition: Composition, known: KnownAgents, budget: Budget, inbox: SessionInbox) -> None:
        self._composition = composition
        self._known = known
        self._budget = budget
        self._inbox = inbox

    def adopt(self, ref: Ref[Any], home: AgentState) -> None:
        """Add an agent that was started; lasting answers apply to it too."""
        self._composition.rules.take_in(home)
        self._known.adopt(ref, home)

    def drop(self, agent_id: str) -> None:
        """Release an agent; its tokens still count."""
        self._known.drop(agent_id)

    def find(self, agent_id: str) -> tuple[Ref[Any], AgentState] | None:
        """Return an agent of the session by its id, teammates included; None if it is not in memory."""
        return self._known.find(agent_id)

    def living(self) -> Iterable[AgentState]:
        """Return the records of all agents but the main one that have not ended."""
        return self._known.living_children()

    def make_child(self, wish: SubagentSpec) -> AgentState:
        """Return the record of a new agent."""
        return self._composition.make_home(wish.definition, wish=wish)

    def forget(self, home: AgentState) -> None:
        """Forget an agent that has ended."""
        self._composition.rules.let_go(home)

    async def find_definitions(self) -> Definitions:
        """Return the definitions as they are now."""
        return await self._composition.definitions.refresh()

    def has_budget(self) -> bool:
        """True if the session may still spend something."""
        return self._budget.exceeded is None

    async def report_to_main(self, report_id: str, text: str) -> bool:
        """Accept what a running task has printed for the main agent, and return when it is in that one's own inbox.

        Returns:
            False if too many reports wait, or it cannot be stored.
        """
        if sum(item.origin == MONITOR for item in self._inbox.queued()) >= MAX_REPORTS:
            return False
        try:
            await self._inbox.accept(report_id, text, origin=MONITOR)
        except (BoxFull, JournalError, UsageError):
            return False
        with trio.move_on_after(FORWARD_S), suppress(ActorEnded, Undelivered):
            await self._inbox.wait_passed(Lane.LATER)  # so that the end of the task comes behind it
        return True


@final
@attrs.frozen
class FolderArchive:
    """Agents as the run folder tells of them."""

    run_folder: Path
    blocking: Blocking

    async def load(self, agent_id: str) -> tuple[Mapping[str, Any], Loaded]:
        """Return what is kept of an agent, and its conversation.

        Raises:
            UsageError: There is nothing of it.
        """
        loaded = await load_agent(self.run_folder, agent_id, self.blocking)
        record = await self.blocking.run(read_record, self.run_folder, agent_id)
        if not record:
            raise UsageError(f"nothing says what kind of agent {agent_id!r} was: its record is missing")
        return record, loaded

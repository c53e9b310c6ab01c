"""The tools by which models use the sub-agents, worktrees and schedules of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, final

from greenroom.agents import AgentServices
from greenroom.agents.subagents import (
    AGENT_TOOL,
    ENTER_WORKTREE,
    EXIT_WORKTREE,
    LIST_AGENTS,
    SEND_MESSAGE,
    AgentTool,
    EnterWorktree,
    ExitWorktree,
    ListAgents,
    Post,
    SubagentPool,
    make_send_message,
)
from greenroom.session.assembly._session_services import Services
from greenroom.session.equipment._composition import Composition
from greenroom.session.parts._session_inbox import SessionInbox
from greenroom.session.parts._session_schedules import SessionSchedules
from greenroom.session.parts._session_teams import SessionTeams
from greenroom.session.schedules._schedule_tools import ScheduleTools
from greenroom.tasks import TaskView

if TYPE_CHECKING:
    from greenroom.session.parts._session_remotes import SessionRemotes


@final
class SubagentTools:
    """Puts the tools of one session in the place of those that stand for them.

    Attributes:
        schedules: The scheduled prompts.

    Args:
        services: Those of the session.
        inbox: Takes the scheduled prompts.
        composition: Has the tools of the session.
        pool: The sub-agents.
        post: Messages between agents.
        teams: The teams, which teammates join.
        commit: Returns when everything recorded so far is durable; raises `JournalError` if it cannot be.
        wait_durable: The same for tools; raises `ToolError`.
    """

    def __init__(
        self,
        services: Services,
        inbox: SessionInbox,
        composition: Composition,
        pool: SubagentPool,
        post: Post,
        teams: SessionTeams,
        *,
        commit: Callable[[], Awaitable[None]],
        wait_durable: Callable[[], Awaitable[None]],
    ) -> None:
        self._composition = composition
        self._pool = pool
        self._post = post
        self._teams = teams
        self.schedules = SessionSchedules(services, inbox)
        self._remotes = open_remotes(services, composition.services)
        self._commit = commit
        self._wait_durable = wait_durable

    def bind(self) -> None:
        """Bind the tools to this session, before its first agent is made."""
        entered_worktrees, find = self._pool.entered_worktrees, self._pool.find_home
        self._composition.toolbox.bind(
            {
                AGENT_TOOL: self._agent_tool(),
                SEND_MESSAGE: make_send_message(self._post, self._commit),
                LIST_AGENTS: ListAgents(post=self._post),
                ENTER_WORKTREE: EnterWorktree(entered_worktrees=entered_worktrees, find_home=find),
                EXIT_WORKTREE: ExitWorktree(entered_worktrees=entered_worktrees, find_home=find),
                **ScheduleTools(self.schedules, find).all(),
            }
        )

    async def restore_remotes(self, left: Sequence[TaskView]) -> None:
        """Take up the agents on hosts of earlier processes of the run."""
        if self._remotes is not None and left:
            await self._remotes.restore(left)

    async def close_remotes(self) -> None:
        """Stop the agents on hosts; bounded and shielded."""
        if self._remotes is not None:
            await self._remotes.close()

    def relist(self) -> None:
        """Show models the definitions of this moment, from their next request on."""
        self._composition.toolbox.exchange(AGENT_TOOL, self._agent_tool(), self._composition.rules.homes)

    def _agent_tool(self) -> AgentTool:
        return AgentTool(
            pool=self._pool,
            teams=self._teams.describe,
            spawn_teammate=self._teams.join,
            launch_remote=None if self._remotes is None else self._remotes.launch,
            wait_durable=self._wait_durable,
            definitions=self._composition.definitions.current,
        )


def open_remotes(services: Services, asking: AgentServices) -> SessionRemotes | None:
    """Return what starts agents on hosts; None if there is no host, or the session is done again from a record."""
    has_hosts = services.plan.settings.scalars.remote.hosts or services.plan.spec.host.placed_hosts
    if not has_hosts or services.effects.is_rerun:
        return None
    from greenroom.session.parts._session_remotes import SessionRemotes

    return SessionRemotes(services, asking)

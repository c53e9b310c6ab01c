"""The tools by which models use the sub-agents, teammates and worktrees of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import final

from greenroom.agents.crew import (
    AGENT_TOOL,
    ENTER_WORKTREE,
    EXIT_WORKTREE,
    SEND_MESSAGE,
    AgentTool,
    Crew,
    Elsewhere,
    EnterWorktree,
    ExitWorktree,
    Post,
    make_send_message,
)
from greenroom.agents.delegation import AgentCall, RemoteRoute, SpawnResult, TeammateRoute, Teams
from greenroom.session.equipment._composition import Composition
from greenroom.session.parts._session_teams import SessionTeams
from greenroom.tools import ToolError


@final
class CrewTools:
    """Puts the tools of one session in the place of those that stand for them.

    Args:
        composition: Has the tools of the session.
        crew: The sub-agents.
        post: Messages between agents.
        teams: The teams, which teammates join.
        commit: Returns when everything recorded so far is durable; raises `JournalError` if it cannot be.
        wait_durable: The same for tools; raises `ToolError`.
    """

    def __init__(
        self,
        composition: Composition,
        crew: Crew,
        post: Post,
        teams: SessionTeams,
        *,
        commit: Callable[[], Awaitable[None]],
        wait_durable: Callable[[], Awaitable[None]],
    ) -> None:
        self._composition = composition
        self._crew = crew
        self._post = post
        self._elsewhere = SessionElsewhere(teams)
        self._commit = commit
        self._wait_durable = wait_durable

    def bind(self) -> None:
        """Bind the tools to this session, before its first agent is made."""
        stays, find = self._crew.stays, self._crew.find_home
        self._composition.toolbox.bind(
            {
                AGENT_TOOL: self._agent_tool(),
                SEND_MESSAGE: make_send_message(self._post, self._commit),
                ENTER_WORKTREE: EnterWorktree(stays=stays, find_home=find),
                EXIT_WORKTREE: ExitWorktree(stays=stays, find_home=find),
            }
        )

    def relist(self) -> None:
        """Show models the definitions of this moment, from their next request on."""
        self._composition.toolbox.exchange(AGENT_TOOL, self._agent_tool(), self._composition.rules.homes)

    def _agent_tool(self) -> AgentTool:
        return AgentTool(
            crew=self._crew,
            elsewhere=self._elsewhere,
            wait_durable=self._wait_durable,
            definitions=self._composition.definitions.current,
        )


@final
class SessionElsewhere(Elsewhere):
    """Destinations of the tool Agent besides sub-agents: the session's team, and remote hosts, which do not exist yet.

    Args:
        teams: The teams of the session.
    """

    def __init__(self, teams: SessionTeams) -> None:
        self._teams = teams

    def teams(self) -> Teams:
        """Return the team of the session."""
        settings = self._teams.settings
        return Teams(are_on=settings.enabled, team=self._teams.team_name, is_implicit=settings.implicit)

    async def spawn_teammate(self, route: TeammateRoute, call: AgentCall) -> SpawnResult:
        """Add a teammate to the team.

        Raises:
            ToolError: It cannot join.
        """
        return await self._teams.join(route, call)

    @property
    def has_remote_hosts(self) -> bool:
        """True if a remote host is configured."""
        return False

    async def launch_remote(self, route: RemoteRoute, call: AgentCall) -> SpawnResult:
        """Start an agent on a remote host.

        Raises:
            ToolError: No remote host is configured.
        """
        raise ToolError("no remote host is configured")

"""Destinations of the tool Agent besides sub-agents: the team of the session, and remote hosts, which do not exist yet."""

from __future__ import annotations

from typing import final

from greenroom.agents.crew import Elsewhere
from greenroom.agents.delegation import AgentCall, RemoteRoute, SpawnResult, TeammateRoute, Teams
from greenroom.session.parts._session_teams import SessionTeams
from greenroom.tools import ToolError


@final
class SessionElsewhere(Elsewhere):
    """Implements the tool's port.

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

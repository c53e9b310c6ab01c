"""The way of the tool Agent to what is no part of the crew: the team of the session, and remote hosts, of which there are none yet."""

from __future__ import annotations

from typing import Protocol, final

from greenroom.agents.crew import Elsewhere
from greenroom.agents.delegation import AgentCall, RemoteRoute, SpawnResult, TeammateRoute, Teams
from greenroom.teams import TeamSettings
from greenroom.tools import ToolError


class TeamHost(Protocol):
    """Where teammates join."""

    @property
    def team_name(self) -> str | None:
        """The name of the team that is open; None where there is none."""
        ...

    async def join(self, route: TeammateRoute, call: AgentCall) -> SpawnResult:
        """Let a teammate join.

        Raises:
            ToolError: It cannot.
        """
        ...


@final
class SessionElsewhere(Elsewhere):
    """Fills the port of the tool, which is made before there can be any team.

    Attributes:
        host: The teams of the session, once they are there.
    """

    def __init__(self, settings: TeamSettings) -> None:
        self._settings = settings
        self.host: TeamHost | None = None

    def teams(self) -> Teams:
        """Return the team of the session."""
        settings = self._settings
        name = None if self.host is None else self.host.team_name
        return Teams(are_on=settings.enabled, team=name, is_implicit=settings.implicit)

    async def spawn_teammate(self, route: TeammateRoute, call: AgentCall) -> SpawnResult:
        """Let a teammate join.

        Raises:
            ToolError: It cannot.
        """
        assert self.host is not None
        return await self.host.join(route, call)

    @property
    def has_remote_hosts(self) -> bool:
        """Whether a remote host is configured."""
        return False

    async def launch_remote(self, route: RemoteRoute, call: AgentCall) -> SpawnResult:
        """Start an agent on a remote host.

        Raises:
            ToolError: There is none.
        """
        raise ToolError("no remote host is configured")

"""The tools TeamCreate and TeamDelete: a model's way to create a team that it leads, and to close it again.

Only a lead has them. A team whose members are active is not closed. A name that is taken gets a variant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Final, final

import attrs

from greenroom.core import GreenroomError
from greenroom.teams._member_names import LEAD, NAME_CHARACTERS, member_id
from greenroom.teams._team import Team
from greenroom.teams._teammate_status import MemberStatus
from greenroom.tools import Tool, ToolContext, ToolError, tool

ACTIVE: Final = "Cannot cleanup team with {count} active member(s): {names}. Use requestShutdown to gracefully terminate teammates first."
_OTHER: Final = re.compile(r"[^\w.-]+")


@final
@attrs.frozen
class TeamTools:
    """The factory of a lead's two tools.

    Args:
        current: Returns the open team.
        create: Opens a team for a model, under that name or a variant, with a description. It raises `ToolError` if a
            team is open already.
        delete: Closes the open team. It raises `ToolError` if the program opened it.
    """

    current: Callable[[], Team | None]
    create: Callable[[str, str], Awaitable[Team]]
    delete: Callable[[], Awaitable[None]]

    def both(self) -> tuple[Tool, ...]:
        """Return both tools."""
        return (self._create(), self._delete())

    def _create(self) -> Tool:
        open_team = self.create

        @tool(name="TeamCreate")
        async def create(team_name: str, ctx: ToolContext, description: str = "", agent_type: str = "") -> str:  # noqa: ARG001 - older callers give it
            """Make a team that you lead, with an empty list of tasks that its members share.

            Teammates join by the tool Agent with `name` and `team_name`. They are not told of your conversation; what they are to
            know stands in the prompt. They write to you with SendMessage, take tasks of the list by themselves, and are idle when
            there is nothing for them to do. You lead one team at a time.

            Args:
                team_name: What it is called; the result has the name that it got.
                description: What it is for.
                agent_type: What kind of agent you are in it.
            """
            ctx.progress(f"Making the team {team_name}")
            try:
                team = await open_team(plain_team_name(team_name), description)
            except GreenroomError as error:
                raise ToolError(f"cannot create the team: {error}") from error
            made = {"team_name": team.name, "lead_agent_id": member_id(LEAD, team.name)}
            ctx.attach(made)
            return json.dumps(made, ensure_ascii=False)

        return create

    def _delete(self) -> Tool:
        current, close_team = self.current, self.delete

        @tool(name="TeamDelete")
        async def delete(ctx: ToolContext) -> str:
            """Close the team that you lead, when its work is done: its idle members end, its list of tasks goes.

            Members that work have to be asked to end first, with SendMessage and a shutdown_request.
            """
            team = current()
            if team is None:
                return _said(ctx, success=True, message="There is no team, so there is nothing to close.")
            active = [teammate.name for teammate in team.roster.teammates if teammate.status is not MemberStatus.IDLE]
            if active:
                raise ToolError(ACTIVE.format(count=len(active), names=", ".join(active)))
            await close_team()
            return _said(ctx, success=True, message=f"The team {team.name} was closed.", team_name=team.name)

        return delete


def plain_team_name(name: str) -> str:
    """Return a valid name for a team that resembles the given one."""
    plain = _OTHER.sub("-", name).strip("-.")[:NAME_CHARACTERS]
    return plain or "team"


def _said(ctx: ToolContext, **answer: object) -> str:
    ctx.attach(answer)
    return json.dumps(answer, ensure_ascii=False)

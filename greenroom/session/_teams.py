"""The teams of a session: the one that is open, what its mates are made of, and how it is closed.

Rule 1: the main agent leads one team at a time. Rule 2: a mate is made as a sub-agent is, of the same definitions, models and
rules, with the tools of a member besides; of the lead's conversation it has nothing. Rule 3: a team is closed side by side, within
its deadline.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import Ref
from greenroom.agents import AgentDefinition, AgentHome, Lineage
from greenroom.agents.crew import ChildWish
from greenroom.core import Ports, UsageError
from greenroom.session._composition import Composition
from greenroom.session._recording import Recording
from greenroom.supervisor import StopOrder, Strategy, Supervisor, SupervisorSpec
from greenroom.teams import MateWish, Team, TeamSettings, make_team, report_tool

TEAMS: Final = "teams"
_GIVEN: Final = ("SendMessage", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
"""What a mate has whatever its definition lists (agents 2.26)."""


@final
class SessionTeams:
    """Opens the teams of one session.

    Args:
        supervisor: That of the session.
        composition: Makes agents.
        adopt: Takes note of an agent that was started.
        recording: Its record.
        ports: Disk.
        run_folder: Where a report goes.

    Attributes:
        lead: The main agent; set when it has started, before any team is opened.
        current: The team that is open.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        composition: Composition,
        *,
        adopt: Callable[[Ref[Any], AgentHome], None],
        recording: Recording,
        ports: Ports,
        run_folder: Path,
    ) -> None:
        self._supervisor = supervisor
        self._composition = composition
        self._adopt = adopt
        self._recording = recording
        self._ports = ports
        self._run_folder = run_folder
        self._branch: Supervisor | None = None
        self._is_opening = False
        self.lead: tuple[Ref[Any], AgentHome] | None = None
        self.current: Team | None = None

    @property
    def settings(self) -> TeamSettings:
        """How teams work here."""
        return self._composition.teams

    # --- opening and closing ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def open(self, name: str, *, strategy: Strategy | str) -> AsyncIterator[Team]:
        """Open a team, as `Session.open_team` says."""
        if self.current is not None or self._is_opening:
            raise UsageError("this session has an open team; leave that block before opening another")
        self._is_opening = True
        supervisor: Supervisor | None = None
        try:
            spec = SupervisorSpec(
                strategy=strategy, stop_order=StopOrder.TOGETHER, stop_budget_s=self.settings.teardown_s
            )
            supervisor = await (await self._open_branch()).spawn_supervisor(name, spec)
            self.current = await self._make_team(name, supervisor)
            yield self.current
        finally:
            _, home = self._lead
            home.tools = self._composition.tools_for(home)
            home.survivors = ()
            with trio.CancelScope(shield=True):  # bounded by the supervisor's stop budget
                if supervisor is not None:
                    supervisor.ref.stop(why="the team was closed")
                    await supervisor.ref.wait_ended()
            self.current = None
            self._is_opening = False

    @property
    def _lead(self) -> tuple[Ref[Any], AgentHome]:
        assert self.lead is not None
        return self.lead

    async def _open_branch(self) -> Supervisor:
        if self._branch is None or self._branch.ref.is_gone:
            spec = SupervisorSpec(stop_order=StopOrder.TOGETHER)
            self._branch = await self._supervisor.spawn_supervisor(TEAMS, spec)
        return self._branch

    async def _make_team(self, name: str, supervisor: Supervisor) -> Team:
        lead, home = self._lead
        team, lead_tools = await make_team(
            name,
            supervisor=supervisor,
            lead=lead,
            lead_home=home,
            ground=self,
            check_open=self._recording.check_open,
            wait_durable=self._recording.commit,
        )
        report = report_tool(self._run_folder / "report.md", self._ports.disk)
        home.tools = self._composition.tools_for(home, (*lead_tools, report))
        home.survivors = (team.describe_mates,)
        return team

    # --- what mates are made of ------------------------------------------------------------------------------------

    async def make_mate(self, wish: MateWish) -> AgentHome:
        """Return what belongs to a new teammate.

        Raises:
            UsageError: Its definition is not there, or cannot be used.
        """
        lead, lead_home = self._lead
        definition = wish.definition
        if isinstance(definition, str):
            definition = (await self._composition.definitions.refresh()).find(definition)
        home = self._composition.make_home(
            _as_mate(definition),
            wish.tools,
            wish=ChildWish(
                definition=definition,
                parent=lead_home,
                lineage=Lineage(parent=lead.id, above=(lead.id,)),
                model=wish.model,
                is_background=False,
                is_teammate=True,
            ),
        )
        if definition.effort is None:
            home.effort = lead_home.effort
        if home.admit is not None:
            await home.admit()
        return home

    def adopt(self, ref: Ref[Any], home: AgentHome) -> None:
        """Take note of a teammate that was started."""
        self._adopt(ref, home)

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def boards(self) -> list[Ref[Any]]:
        """The boards that there are."""
        return [] if self.current is None else [self.current.board.ref]

    @property
    def has_work_to_hand_out(self) -> bool:
        """Whether an item waits for a mate that could take it."""
        return self.current is not None and self.current.has_work_to_hand_out


def _as_mate(definition: AgentDefinition) -> AgentDefinition:
    """Return a definition as it holds for a teammate (agents 2.26): it has the team's tools, and no servers or skills of its own."""
    tools = definition.tools
    if tools is not None and "*" not in tools:
        tools = tuple(dict.fromkeys((*tools, *_GIVEN)))
    return attrs.evolve(definition, tools=tools, skills=(), mcp_servers=())


class OfTeams:
    """What a program does with the teams of a session; a part of `Session`."""

    teams: SessionTeams
    """What keeps them."""

    @asynccontextmanager
    async def open_team(self, name: str, *, strategy: Strategy | str = Strategy.ONE_FOR_ONE) -> AsyncIterator[Team]:
        """Open a team whose lead is the main agent; leaving the block ends its mates side by side.

        From here on the main agent has the team's tools, and `WriteReport`.

        Args:
            name: What it is called.
            strategy: Which mates are restarted when one of them has to be.

        Raises:
            UsageError: A team is open already; the main agent leads one at a time.
            NameTaken: The name is that of something else below `teams`.
        """
        async with self.teams.open(name, strategy=strategy) as team:
            yield team

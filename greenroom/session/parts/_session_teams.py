"""The teams of a session: which one is open, who opened it, and how it is closed.

Rule 1: the main agent leads one team at a time, which the program opened, or its model, or which is there with the session.
Rule 2: the lead has the tools of a member as long as the team is open, and no longer. Rule 3: a team is closed side by side,
within its deadline.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, final

import trio

from greenroom.actors import Ref
from greenroom.agents import AgentDefinition, AgentState
from greenroom.agents.definitions import GENERAL_PURPOSE
from greenroom.agents.delegation import AgentCall, TeammateRoute, TeammateSpawned, Teams
from greenroom.agents.subagents import MainAgent, Post, SubagentPool, make_send_message
from greenroom.core import GreenroomError, UsageError
from greenroom.core.ports import Ports
from greenroom.permissions import Refusals
from greenroom.session.assembly._session_spec import MAIN
from greenroom.session.equipment._composition import Composition
from greenroom.session.parts._known_agents import KnownAgents
from greenroom.session.parts._session_mates import SessionMates
from greenroom.session.record._recovery import read_team_records
from greenroom.session.settings._session_settings import SessionSettings
from greenroom.supervisor import Restart, StopOrder, Strategy, Supervisor, SupervisorSpec
from greenroom.tasks import TaskNotice
from greenroom.teams import (
    Conversations,
    Member,
    MemberStatus,
    Team,
    TeamClosed,
    TeamRecord,
    TeamSettings,
    TeamTools,
    delegate_tools,
    free_name,
    make_team,
    report_tool,
)
from greenroom.tools import Tool, ToolError
from greenroom.trace import Journal

TEAMS: Final = "teams"
RESTARTS: Final = 1_000_000
"""Maximum number of restarts of the actors of a team: each teammate has a budget of its own, and ends with it; nobody takes the team along."""


@final
class SessionTeams:
    """Opens the teams of one session.

    Args:
        supervisor: That of the session.
        composition: Makes agents.
        settings: The session's; without a person it cannot be a team by itself.
        pool: The sub-agents of the session, and the table of tasks.
        post: Their mail.
        main: The main agent, which leads the team.
        known: The agents of the session.
        recording: Its record.
        ports: Disk, and the time of day.
        run_folder: Where a report goes.
        resume_prompt: The prompt with which teammates resume a cut turn.

    Attributes:
        current: The team that is open.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        composition: Composition,
        *,
        settings: SessionSettings,
        pool: SubagentPool,
        post: Post,
        main: MainAgent,
        known: KnownAgents,
        recording: Journal,
        ports: Ports,
        run_folder: Path,
        resume_prompt: str,
    ) -> None:
        self._supervisor = supervisor
        self._composition = composition
        self._scalars = settings
        self._post = post
        self._main = main
        self._send_message = make_send_message(post, recording.commit, has_team=True)
        self._recording = recording
        self._ports = ports
        self._run_folder = run_folder
        self._pool = pool
        self._mates = SessionMates(
            composition,
            pool,
            main=main,
            known=known,
            send_message=self._send_message,
            run_folder=run_folder,
            ports=ports,
            resume_prompt=resume_prompt,
        )
        self._branch: Supervisor | None = None
        self._is_opening = False
        self._is_of_program = False
        self._names: set[str] = set()
        """Of all teams that there were."""
        self._delegates = False
        self._narrow: Callable[[Sequence[str]], Collection[str]] | None = None
        """Takes tools from the lead in any case."""
        self._records: dict[str, TeamRecord] = {}
        """Records of teams that are not open."""
        self._notices: tuple[TaskNotice, ...] = ()
        """Ends of earlier processes that teammates are to be told of once they are back."""
        self._tools_of_team: tuple[Tool, ...] = ()
        self._given: set[str] = set()
        """Names of the tools that the lead has from here."""
        self._tools_of_maker = TeamTools(current=lambda: self.current, create=self.create, delete=self.delete).both()
        self.current: Team | None = None

    @property
    def settings(self) -> TeamSettings:
        """The settings of teams."""
        return self._scalars.teams

    @property
    def team_name(self) -> str | None:
        """The name of the team that is open; None where there is none."""
        return None if self.current is None else self.current.name

    def describe(self) -> Teams:
        """Return the team of the session, as the tool Agent has to know it."""
        return Teams(are_on=self.settings.enabled, team=self.team_name, is_implicit=self.settings.implicit)

    async def start(self, session_id: str, *, is_resumed: bool) -> None:
        """Open the team that the session itself is, if the settings say so, or the one that its model had open.

        Called once the main agent has started.
        """
        self._narrow = self._lead[1].profile.narrow
        settings = self.settings
        if is_resumed:
            self._records = await self._ports.blocking.run(read_team_records, self._run_folder)
            self._names |= self._records.keys()
        if settings.enabled and settings.implicit and self._scalars.delegation.interactive:
            await self._open(f"session-{session_id[:8]}", Strategy.ONE_FOR_ONE, "")
        elif settings.enabled:
            left = [
                record.view
                for record in self._records.values()
                if record.view.is_open and not record.view.is_of_program
            ]
            if left:  # the model believes that it leads this team
                await self._open(left[-1].team, Strategy.ONE_FOR_ONE, "")
        self._equip()

    @property
    def away(self) -> frozenset[str]:
        """Ids of the agents of teammates that come back when their team is opened."""
        return frozenset(former.agent for record in self._records.values() for former in record.parked)

    def tell_later(self, notices: Iterable[TaskNotice]) -> None:
        """Deliver notices once the teams of their owners are open."""
        self._notices += tuple(notices)

    def _tell_now(self) -> None:
        """Deliver the notices of those who are back."""
        away, notices, self._notices = self.away, self._notices, ()
        for notice in notices:
            if notice.owner in away:
                self._notices += (notice,)
            else:
                self._pool.deliver(notice)

    # --- opening and closing ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def open(
        self,
        name: str,
        *,
        strategy: Strategy | str,
        description: str,
        delegate_mode: bool | None,
        conversations: Conversations,
    ) -> AsyncIterator[Team]:
        """Open a team, as `Session.open_team` says."""
        if self.current is not None or self._is_opening:
            raise UsageError("this session has an open team; leave that block, or close it, before opening another")
        try:
            team = await self._open(
                name,
                strategy,
                description,
                is_of_program=True,
                delegate_mode=delegate_mode,
                conversations=conversations,
            )
            yield team
        finally:
            await self._close()  # noqa: ASYNC102 - shielded and bounded inside

    async def _open(
        self,
        name: str,
        strategy: Strategy | str,
        description: str,
        *,
        is_of_program: bool = False,
        delegate_mode: bool | None = None,
        conversations: Conversations = Conversations.KEEP,
    ) -> Team:
        self._is_opening, self._is_of_program = True, is_of_program
        try:
            spec = SupervisorSpec(
                strategy=strategy,
                intensity=RESTARTS,
                stop_order=StopOrder.TOGETHER,
                stop_budget_s=self.settings.teardown_s,
            )
            supervisor = await (await self._open_branch()).spawn_supervisor(name, spec)
            try:
                team = await self._make_team(name, supervisor, description, conversations)
                await self._bring_back(team)
            except BaseException:
                supervisor.ref.kill("its team could not be opened")
                with trio.CancelScope(shield=True):  # bounded by its kill grace; then its name can be taken again
                    await supervisor.ref.wait_ended()
                raise
        finally:
            self._is_opening = False
        self._names.add(name)
        self.current = self._mates.team = team
        self._post.team = team.mail
        self._delegates = self.settings.delegate_mode if delegate_mode is None else delegate_mode
        self._lead[1].replace(refusals=Refusals())
        self._equip()
        self._tell_now()
        return team

    async def _bring_back(self, team: Team) -> None:
        """Start the teammates that a team had when it was closed or its process ended: idle, with their conversations
        and items.
        """
        self._mates.team = team
        for former in team.parked:
            definition = await self._mates.definition_of(team.name, former)
            if definition is None:
                self._composition.problems.append(
                    f"{former.name} of the team {team.name} is not back: there is no agent {former.definition!r}; spawn it under its name"
                )
            else:
                await team.spawn(former.name, definition=definition, restart=former.restart or Restart.TRANSIENT)
        team.settle_record()

    async def _close(self, *, is_deleted: bool = False) -> None:
        """End the members side by side, within the deadline of the team; what is known of it stays, unless it is deleted."""
        team, self.current, self._tools_of_team = self.current, None, ()
        self._delegates = False
        self._lead[1].replace(refusals=None)
        self._equip()
        if team is None:
            return
        # Its mail goes on until its teammates have ended: what they send in their last turns is read when it is open again.
        team.mail.is_closing = True
        with trio.CancelScope(shield=True):  # bounded by the supervisor's stop budget
            team.supervisor.ref.stop(why="the team was closed")
            await team.supervisor.ref.wait_ended()
        self._post.team = None
        # Of no actor: where the session was stopped, all of them have ended.
        team.roster.emit(TeamClosed(actor="", team=team.name, is_deleted=is_deleted))
        self._mates.team = None

    async def _open_branch(self) -> Supervisor:
        if self._branch is None or self._branch.ref.is_gone:
            spec = SupervisorSpec(stop_order=StopOrder.TOGETHER)
            self._branch = await self._supervisor.spawn_supervisor(TEAMS, spec)
        return self._branch

    async def _make_team(
        self, name: str, supervisor: Supervisor, description: str, conversations: Conversations
    ) -> Team:
        lead, home = self._lead
        team, lead_tools = await make_team(
            name,
            supervisor=supervisor,
            lead=lead,
            lead_home=home,
            ground=self._mates,
            check_open=self._recording.check_open,
            wait_durable=self._recording.commit,
            one_each=self.settings.agent_busy,
            conversations=conversations,
            shutdown_s=self.settings.shutdown_deadline_s,
            messages_in_a_row=self.settings.most_messages,
            wall=self._ports.clock.wall,
            description=description,
            is_of_program=self._is_of_program,
            record=await self._record_of(name),
        )
        self._tools_of_team = (*lead_tools, self._send_message)
        if self._is_of_program:
            self._tools_of_team += (report_tool(self._run_folder / "report.md", self._ports.disk),)
        return team

    async def _record_of(self, name: str) -> TeamRecord | None:
        """Return what is known of a team that was open before; None for a new one."""
        if name not in self._names:
            return None
        if name not in self._records:  # it was opened and closed since the records were read
            await self._recording.commit()
            self._records = await self._ports.blocking.run(read_team_records, self._run_folder)
        return self._records.pop(name, None)

    def _equip(self) -> None:
        """Give the lead the tools that it has now."""
        _, home = self._lead
        settings = self.settings
        is_maker = settings.enabled and not settings.implicit
        home.replace(narrow=delegate_tools if self._delegates and self._narrow is None else self._narrow)
        mine = (*(self._tools_of_maker if is_maker else ()), *self._tools_of_team)
        kept = [tool for tool in self._composition.toolbox.own(home) if tool.name not in self._given]
        self._given = {tool.name for tool in mine}
        home.replace(tools=self._composition.toolbox.choose(home, (*kept, *mine)))

    def survivors(self) -> Sequence[str]:
        """Return what the lead has to be told again after its conversation was compacted."""
        return () if self.current is None else (self.current.describe_teammates(),)

    @property
    def _lead(self) -> tuple[Ref[Any], AgentState]:
        assert self._main.started is not None
        return self._main.started

    # --- what models do --------------------------------------------------------------------------------------------

    async def create(self, name: str, description: str) -> Team:
        """Open a team for the lead's model, under that name or another one.

        Raises:
            ToolError: There is one already.
        """
        if self.current is not None or self._is_opening:
            there_is = f"you lead the team {self.team_name!r} already" if self.current else "another call makes one"
            raise ToolError(f"{there_is}; a lead has one team at a time, and TeamDelete closes it")
        return await self._open(free_name(name, self._names), Strategy.ONE_FOR_ONE, description)

    async def delete(self) -> None:
        """Close the team that is open.

        Raises:
            ToolError: It is the program's.
        """
        if self._is_of_program:
            raise ToolError("this team was opened by the program, which closes it as well")
        assert self.current is not None
        for mate in self.current.teammates.values():
            mate.kill("its team was closed for good")
        await self._close(is_deleted=True)

    async def join(self, route: TeammateRoute, call: AgentCall) -> TeammateSpawned:
        """Add a teammate to the team, for a call of the tool Agent.

        Raises:
            ToolError: It cannot.
        """
        team = self.current
        if team is None or team.name != route.team:
            raise ToolError(f"there is no team {route.team!r} any more")
        try:
            mate = await team.spawn(
                route.name,
                definition=route.definition or self._plain_definition(),
                prompt=call.prompt,
                model=call.model,
                plan_required=route.is_plan_required,
            )
        except GreenroomError as error:
            raise ToolError(f"no teammate joined: {error}") from error
        return TeammateSpawned(agent_id=mate.id, name=mate.name, team_name=team.name)

    def _plain_definition(self) -> AgentDefinition:
        """Return what a teammate of no type is."""
        return self._composition.definitions.current.get(GENERAL_PURPOSE.name) or MAIN

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def boards(self) -> list[Ref[Any]]:
        """The boards that there are."""
        return [] if self.current is None else [self.current.board.ref]

    @property
    def working(self) -> int:
        """The number of teammates that work or are about to, also after a restart; idle ones do not keep a run open."""
        if self.current is None:
            return 0
        working = sum(_is_at_work(member) for member in self.current.roster.teammates)
        return working or int(self.current.has_work_to_hand_out or self.current.shutdowns.is_ending)


def _is_at_work(member: Member) -> bool:
    waits = member.ref.statistics()
    return member.status is MemberStatus.WORKING or member.ref.is_busy or bool(waits.now or waits.next or waits.later)

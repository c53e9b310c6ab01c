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

from greenroom.actors import Down, Edge, Ref, State
from greenroom.agents import AgentDefinition, AgentHome, Lineage
from greenroom.agents.crew import ChildWish, words_of
from greenroom.core import Cause, Ports, UsageError
from greenroom.session._composition import Composition
from greenroom.session._delegation import Delegation
from greenroom.session._recording import Recording
from greenroom.supervisor import StopOrder, Strategy, Supervisor, SupervisorSpec
from greenroom.tasks import TEAMMATE, Progress, Task, TaskInfo
from greenroom.teams import MateWish, Member, MemberStatus, Team, TeamSettings, make_team, report_tool

TEAMS: Final = "teams"
_EDGES: Final = {State.COMPLETED: Edge.COMPLETE, State.FAILED: Edge.FAIL, State.KILLED: Edge.KILL}
_GIVEN: Final = ("SendMessage", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
"""What a mate has whatever its definition lists (agents 2.26)."""


@final
class SessionTeams:
    """Opens the teams of one session.

    Args:
        supervisor: That of the session.
        composition: Makes agents.
        delegation: The sub-agents of the session, their mail, and the table of tasks.
        adopt: Takes note of an agent that was started.
        drop: Forgets it; what it used counts on.
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
        delegation: Delegation,
        adopt: Callable[[Ref[Any], AgentHome], None],
        drop: Callable[[str], None],
        recording: Recording,
        ports: Ports,
        run_folder: Path,
    ) -> None:
        self._supervisor = supervisor
        self._composition = composition
        self.delegation = delegation
        self._tasks = delegation.tasks
        self._adopt = adopt
        self._drop = drop
        self._recording = recording
        self._ports = ports
        self._run_folder = run_folder
        self._branch: Supervisor | None = None
        self._is_opening = False
        self._name = ""
        self._ended: dict[str, str] = {}
        """Ids of the agents of mates that have ended and are not released, by those of their tasks."""
        self._take_part()
        self.lead: tuple[Ref[Any], AgentHome] | None = None
        self.current: Team | None = None

    @property
    def settings(self) -> TeamSettings:
        """How teams work here."""
        return self._composition.teams

    def _take_part(self) -> None:
        """Let the table of tasks know of mates besides the crew."""
        tasks, id_of, release = self._tasks, self._tasks.id_of, self._tasks.on_release

        def release_both(task: Task) -> None:
            self._release(task)
            release(task)

        tasks.id_of = lambda name: self._task_of(name) or id_of(name)
        tasks.on_release = release_both

    # --- opening and closing ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def open(self, name: str, *, strategy: Strategy | str) -> AsyncIterator[Team]:
        """Open a team, as `Session.open_team` says."""
        if self.current is not None or self._is_opening:
            raise UsageError("this session has an open team; leave that block before opening another")
        self._is_opening, self._name = True, name
        supervisor: Supervisor | None = None
        try:
            spec = SupervisorSpec(
                strategy=strategy, stop_order=StopOrder.TOGETHER, stop_budget_s=self.settings.teardown_s
            )
            supervisor = await (await self._open_branch()).spawn_supervisor(name, spec)
            self.current = await self._make_team(name, supervisor)
            self.delegation.post.team = self.current.mail
            yield self.current
        finally:
            self.delegation.post.team = None
            if self.current is not None:
                self.current.mail.is_closing = True
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
            one_each=self.settings.agent_busy,
            wall=self._ports.clock.wall,
        )
        report = report_tool(self._run_folder / "report.md", self._ports.disk)
        home.tools = self._composition.tools_for(
            home, (*lead_tools, self.delegation.send_message(has_team=True), report)
        )
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
            (*wish.tools, self.delegation.send_message(has_team=True)),
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

    def adopt(self, member: Member) -> None:
        """Take note of a teammate that was started: it stands in the table of tasks, under `name@team`."""
        home, ref = member.home, member.ref
        self._adopt(ref, home)
        earlier = self._tasks.find(member.id)
        info = TaskInfo(
            id=member.id,
            kind=TEAMMATE,
            description=f"{member.name} of the team {self._name}",
            owner="",
            output_file=self._run_folder / "tasks" / f"{home.id}.output",
            agent_type=home.definition.name,
            depth=home.lineage.depth,
            run=1 if earlier is None else earlier.info.run + 1,
        )
        task = self._tasks.open(info, is_background=True, kill=lambda cause: ref.kill(cause.why))
        task.is_silent = True  # the lead hears of it otherwise
        task.progress = home.progress = Progress()
        self._tasks.begin(task)

    def let_go(self, member: Member, down: Down) -> None:
        """Take note of its end: what it has started ends with it (DESIGN 12.18), and nothing of it is kept."""
        home = member.home
        cause = Cause(member.id, "the teammate that started it has ended")
        for one in self.delegation.crew.below(home.id):
            one.task.kill(cause)
        for shell in self._tasks.running(home.id):
            shell.kill(cause)
        task = self._tasks.find(member.id)
        if task is not None and not task.is_finished:
            if task.cause is None:
                task.cause = down.cause
            if down.state is State.FAILED:
                task.error = words_of(down.error)
            self._tasks.end(task, _EDGES[down.state])
        home.context = None
        self._composition.let_go(home)
        self._ended[member.id] = home.id

    def _release(self, task: Task) -> None:
        """Forget a mate that ended some time ago, when nobody looks at it any more."""
        agent_id = self._ended.pop(task.info.id, None)
        if agent_id is not None:
            self._drop(agent_id)

    def _task_of(self, name: str) -> str:
        """Return the id of the task of the mate that has a name; empty for none."""
        member = None if self.current is None else self.current.roster.find(name)
        return "" if member is None or member.is_lead else member.id

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def boards(self) -> list[Ref[Any]]:
        """The boards that there are."""
        return [] if self.current is None else [self.current.board.ref]

    @property
    def working(self) -> int:
        """How many mates work, or are about to, also after a restart; one that is idle keeps no run from its end."""
        if self.current is None:
            return 0
        mates = self.current.roster.mates
        working = sum(_is_at_work(one) for one in mates)
        return working or int(self.has_work_to_hand_out)

    @property
    def has_work_to_hand_out(self) -> bool:
        """Whether an item waits for a mate that could take it."""
        return self.current is not None and self.current.has_work_to_hand_out


def _is_at_work(member: Member) -> bool:
    waits = member.ref.statistics()
    return member.status is MemberStatus.WORKING or member.ref.is_busy or bool(waits.now or waits.next or waits.later)


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

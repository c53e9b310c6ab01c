"""The teammates of a session: what they are made of, how they stand in the table of tasks, what ends with them.

Rule 1: a mate is made as a sub-agent is, of the same definitions, models and rules, with the tools of a member besides; of the lead's
conversation it has nothing. Rule 2: it is a task, of a kind of its own, under `name@team`: whatever ends tasks ends it; its end is told
otherwise. Rule 3: what it has started ends with it, and nothing of it is kept.
Must not know: how teams are opened and closed.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.actors import EDGE_TO, Down, State
from greenroom.agents import AgentDefinition, AgentState, Lineage
from greenroom.agents.subagents import MainAgent, SubagentPool, SubagentSpec, words_of
from greenroom.core import Cause, UsageError
from greenroom.core.ports import Disk, Ports
from greenroom.session.assembly._session_spec import MAIN
from greenroom.session.equipment._composition import Composition
from greenroom.session.parts._known_agents import KnownAgents
from greenroom.session.record._resume import load_agent
from greenroom.tasks import TEAMMATE, NoticeMode, Task, TaskInfo
from greenroom.teams import EXIT_PLAN_MODE, LEAD, Member, Team, TeammateSpec, TeammateView
from greenroom.tools import Tool

PLANS: Final = "plans"
"""The folder of a run that contains the plans of teammates."""
_GIVEN: Final = ("SendMessage", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
"""The tools that every teammate has."""
_ABOUT: Final = (
    "You are {name}, a teammate in the team {team}, which {lead} leads. What you write as plain text nobody else reads: to tell the "
    "lead or another member something, use SendMessage. The team shares a list of tasks, which TaskList shows. When you have nothing "
    "else to do you are handed the next one; set it completed with TaskUpdate when it is done, with what you found in `findings`: there "
    "the lead reads it, and your turn ends. At the end of your turn you are idle until somebody writes to you or there is a task."
)


@final
class SessionMates:
    """Creates the teammates of one session, and takes care of them until they end.

    Args:
        composition: Makes their records.
        pool: The sub-agents of the session, and the table of tasks.
        main: The main agent, which leads them.
        known: The agents of the session.
        send_message: The tool SendMessage as members of a team have it.
        run_folder: The folder with outputs of tasks and plans.
        ports: Disk.
        resume_prompt: The prompt with which teammates resume the turn in which an earlier process ended.

    Attributes:
        team: The team that is open.
    """

    def __init__(
        self,
        composition: Composition,
        pool: SubagentPool,
        *,
        main: MainAgent,
        known: KnownAgents,
        send_message: Tool,
        run_folder: Path,
        ports: Ports,
        resume_prompt: str,
    ) -> None:
        self._ports = ports
        self._resume_prompt = resume_prompt
        self._composition = composition
        self._pool = pool
        self._tasks = pool.tasks
        self._main = main
        self._known = known
        self._send_message = send_message
        self._run_folder = run_folder
        self._ended: dict[str, str] = {}
        """Ids of the agents of teammates that have ended and are not released, by the ids of their tasks."""
        self._definitions: dict[tuple[str, str], AgentDefinition] = {}
        """By team and name, for the teammates that this process has started."""
        self.team: Team | None = None
        self._tasks.join(self)

    # --- making -----------------------------------------------------------------------------------------------------

    async def make_teammate(self, wish: TeammateSpec) -> AgentState:
        """Return what belongs to a new teammate.

        Raises:
            UsageError: Its definition is not there, or cannot be used.
        """
        assert self._main.started is not None
        lead, lead_home = self._main.started
        definition = wish.definition
        if isinstance(definition, str):
            definition = (await self._composition.definitions.refresh()).find(definition)
        definition = self._composition.changed(definition, wish.name)
        home = self._composition.make_home(
            _as_mate(definition, wish),
            (*wish.tools, self._send_message),
            wish=SubagentSpec(
                definition=definition,
                parent=lead_home,
                lineage=Lineage(parent=lead.id, above=(lead.id,)),
                model=wish.model,
                is_background=False,
                is_teammate=True,
                is_planning=wish.is_plan_required,
                exact_model=None if wish.former is None else wish.former.model,
                place=lead_home.profile.place,
                own_roots=lead_home.profile.own_roots,
                approved_mode="" if wish.former is None else wish.former.mode,
            ),
        )
        home.replace(label=wish.name, must_plan=wish.is_plan_required)
        if definition.effort is None:
            home.replace(effort=lead_home.profile.effort)
        if wish.former is not None:
            home.replace(id=wish.former.agent)
            with suppress(UsageError):  # it had not said anything
                loaded = await load_agent(self._run_folder, home.profile.id, self._ports.blocking)
                home.start_from(loaded, resumes=self._resume_prompt)
        await home.ports.admit(home)
        self._definitions[wish.team, wish.name] = definition
        return home

    async def definition_of(self, team: str, former: TeammateView) -> AgentDefinition | None:
        """Return the kind of agent that a teammate of an earlier process was; None if that is not known."""
        kept = self._definitions.get((team, former.name))
        if kept is not None:
            return kept
        return (await self._composition.definitions.refresh()).get(former.definition)

    async def write_plan(self, agent: str, number: int, plan: str) -> Path:
        """Write a plan of an agent into the run folder, and return the file.

        Raises:
            OSError: It cannot be written.
        """
        path = self._run_folder / PLANS / f"{agent}-{number}.md"
        await self._ports.blocking.run(_write, self._ports.disk, path, plan.encode("utf-8", "replace"))
        return path

    async def read_plan(self, name: str) -> tuple[Path, str]:
        """Return the file of the run folder that holds a plan, and the plan; empty where it cannot be read."""
        path = self._run_folder / PLANS / Path(name).name
        try:
            content = await self._ports.blocking.run(self._ports.disk.read, path)
        except OSError:
            return path, ""
        return path, content.decode("utf-8", "replace")

    # --- looking after ----------------------------------------------------------------------------------------------

    def adopt(self, member: Member) -> None:
        """Take note of a teammate that was started: it stands in the table of tasks."""
        home, ref = member.home, member.ref
        if self._ended.pop(member.id, None) is not None:  # what it used before counts on
            self._known.drop(home.profile.id)
        self._known.adopt(ref, home)
        info = TaskInfo(
            id=member.id,
            kind=TEAMMATE,
            description=member.name,
            owner="",
            output_file=self._run_folder / "tasks" / f"{home.profile.id}.output",
            agent_type=home.profile.definition.name,
            depth=home.profile.lineage.depth,
            run=member.run,
        )
        task = self._tasks.open(info, is_background=True, kill=lambda cause: ref.kill(cause.why))
        task.notice_mode = NoticeMode.NEVER  # the lead is notified by the team
        home.begin_run(task)
        self._tasks.begin(task)

    def discard(self, member: Member, down: Down) -> None:
        """Take note of its end: what it has started ends with it, and nothing of it is kept."""
        home = member.home
        cause = Cause(member.id, "the teammate that started it has ended")
        for below in self._pool.descendants(home.profile.id):
            below.task.kill(cause)
        for shell in self._tasks.running(home.profile.id):
            shell.kill(cause)
        task = self._tasks.find(member.id)
        if task is not None and not task.is_finished:
            if task.cause is None:
                task.cause = down.cause
            if down.state is State.FAILED:
                task.error = words_of(down.error)
            self._tasks.end(task, EDGE_TO[down.state])
        home.end_run()
        if home.worktree is not None:  # its worktree is kept, and nobody is in it any more
            self._tasks.beside(partial(self._pool.entered_worktrees.release_quietly, home))
        self._composition.rules.let_go(home)
        self._ended[member.id] = home.profile.id

    def release(self, task: Task) -> bool:
        """Release a teammate that ended some time ago and that nobody looks at any more."""
        agent_id = self._ended.pop(task.info.id, None)
        if agent_id is not None:
            self._known.drop(agent_id)
        return True

    def id_of(self, name: str) -> str:
        """Return the id of the task of the teammate with this name; empty if there is none."""
        member = None if self.team is None else self.team.roster.find(name)
        return "" if member is None or member.is_lead else member.id


def _write(disk: Disk, path: Path, content: bytes) -> None:
    disk.make_folder(path.parent)
    disk.write(path, content)


def _as_mate(definition: AgentDefinition, wish: TeammateSpec) -> AgentDefinition:
    """Return a definition as it holds for a teammate: it has the team's tools, and no servers or skills of its own."""
    tools = definition.tools
    if tools is not None and "*" not in tools:
        tools = tuple(dict.fromkeys((*tools, *_GIVEN, *([EXIT_PLAN_MODE] if wish.is_plan_required else []))))
    about = _ABOUT.format(name=wish.name, team=wish.team, lead=LEAD)
    prompts = (MAIN.system_prompt, about, definition.system_prompt.strip())
    prompt = "\n\n".join(prompt for prompt in prompts if prompt)
    return attrs.evolve(definition, system_prompt=prompt, tools=tools, skills=(), mcp_servers=())

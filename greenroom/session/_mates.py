"""The teammates of a session: what they are made of, how they stand in the table of tasks, what ends with them.

Rule 1: a mate is made as a sub-agent is, of the same definitions, models and rules, with the tools of a member besides; of the lead's
conversation it has nothing. Rule 2: it is a task, of a kind of its own, under `name@team`: whatever ends tasks ends it; its end is told
otherwise. Rule 3: what it has started ends with it, and nothing of it is kept.
Must not know: how teams are opened and closed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.actors import EDGE_TO, Down, Ref, State
from greenroom.agents import AgentDefinition, AgentHome, Lineage
from greenroom.agents.crew import ChildWish, words_of
from greenroom.core import Cause, Disk, Ports, UsageError
from greenroom.session._composition import Composition
from greenroom.session._delegation import Delegation
from greenroom.session._main import MAIN
from greenroom.session._resume import load_agent
from greenroom.tasks import TEAMMATE, Progress, Task, TaskInfo
from greenroom.teams import EXIT_PLAN_MODE, LEAD, MateView, MateWish, Member, Team

PLANS: Final = "plans"
"""The folder of a run that holds the plans of mates."""
_GIVEN: Final = ("SendMessage", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
"""What a mate has whatever its definition lists (agents 2.26)."""
_ABOUT: Final = (
    "You are {name}, a teammate in the team {team}, which {lead} leads. What you write as plain text nobody else reads: to tell the "
    "lead or another member something, use SendMessage. The team shares a list of tasks, which TaskList shows. When you have nothing "
    "else to do you are handed the next one; set it completed with TaskUpdate when it is done. At the end of your turn you are idle "
    "until somebody writes to you or there is a task."
)


@final
class SessionMates:
    """Makes the mates of one session, and looks after them.

    Args:
        composition: Makes agents.
        delegation: The sub-agents of the session, their mail, and the table of tasks.
        adopt: Takes note of an agent that was started.
        drop: Forgets it; what it used counts on.
        run_folder: Where outputs of tasks and plans are.
        ports: Disk.

    Attributes:
        lead: The main agent; set when it has started.
        team: The team that is open.
    """

    def __init__(
        self,
        composition: Composition,
        delegation: Delegation,
        *,
        adopt: Callable[[Ref[Any], AgentHome], None],
        drop: Callable[[str], None],
        run_folder: Path,
        ports: Ports,
    ) -> None:
        self._ports = ports
        self._composition = composition
        self._delegation = delegation
        self._tasks = delegation.tasks
        self._adopt = adopt
        self._drop = drop
        self._run_folder = run_folder
        self._ended: dict[str, str] = {}
        """Ids of the agents of mates that have ended and are not released, by those of their tasks."""
        self._definitions: dict[tuple[str, str], AgentDefinition] = {}
        """By team and name, of the mates that this process has started."""
        self.lead: tuple[Ref[Any], AgentHome] | None = None
        self.team: Team | None = None
        self._take_part()

    def _take_part(self) -> None:
        """Let the table of tasks know of mates besides the crew."""
        tasks, id_of, release = self._tasks, self._tasks.id_of, self._tasks.on_release

        def release_both(task: Task) -> bool:
            self._release(task)
            return release(task)

        tasks.id_of = lambda name: self._task_of(name) or id_of(name)
        tasks.on_release = release_both

    # --- making -----------------------------------------------------------------------------------------------------

    async def make_mate(self, wish: MateWish) -> AgentHome:
        """Return what belongs to a new teammate.

        Raises:
            UsageError: Its definition is not there, or cannot be used.
        """
        assert self.lead is not None
        lead, lead_home = self.lead
        definition = wish.definition
        if isinstance(definition, str):
            definition = (await self._composition.definitions.refresh()).find(definition)
        home = self._composition.make_home(
            _as_mate(definition, wish),
            (*wish.tools, self._delegation.send_message(has_team=True)),
            wish=ChildWish(
                definition=definition,
                parent=lead_home,
                lineage=Lineage(parent=lead.id, above=(lead.id,)),
                model=wish.model,
                is_background=False,
                is_teammate=True,
                is_planning=wish.is_plan_required,
                exact_model=None if wish.former is None else wish.former.model,
                place=lead_home.place,
                own_roots=lead_home.own_roots,
                approved_mode="" if wish.former is None else wish.former.mode,
            ),
        )
        home.label, home.must_plan = wish.name, wish.is_plan_required
        if definition.effort is None:
            home.effort = lead_home.effort
        if wish.former is not None:
            home.id = wish.former.agent
            with suppress(UsageError):  # it had not said anything
                home.loaded = await load_agent(self._run_folder, home.id, self._ports.blocking)
        await home.ports.admit(home)
        self._definitions[wish.team, wish.name] = definition
        return home

    async def definition_of(self, team: str, former: MateView) -> AgentDefinition | None:
        """Return what kind of agent a mate of an earlier time was; None where nobody knows any more."""
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
            self._drop(home.id)
        self._adopt(ref, home)
        info = TaskInfo(
            id=member.id,
            kind=TEAMMATE,
            description=member.name,
            owner="",
            output_file=self._run_folder / "tasks" / f"{home.id}.output",
            agent_type=home.definition.name,
            depth=home.lineage.depth,
            run=member.run,
        )
        task = self._tasks.open(info, is_background=True, kill=lambda cause: ref.kill(cause.why))
        task.is_silent = True  # the lead hears of it otherwise
        task.progress = Progress()
        home.task = task
        self._tasks.begin(task)

    def let_go(self, member: Member, down: Down) -> None:
        """Take note of its end: what it has started ends with it (DESIGN 12.18), and nothing of it is kept."""
        home = member.home
        cause = Cause(member.id, "the teammate that started it has ended")
        for one in self._delegation.crew.below(home.id):
            one.task.kill(cause)
        for shell in self._tasks.running(home.id):
            shell.kill(cause)
        task = self._tasks.find(member.id)
        if task is not None and not task.is_finished:
            if task.cause is None:
                task.cause = down.cause
            if down.state is State.FAILED:
                task.error = words_of(down.error)
            self._tasks.end(task, EDGE_TO[down.state])
        home.context = None
        if home.stay is not None:  # its worktree is kept, and nobody is in it any more
            self._tasks.beside(partial(self._delegation.stays.let_go_beside, home))
        self._composition.let_go(home)
        self._ended[member.id] = home.id

    def _release(self, task: Task) -> None:
        """Forget a mate that ended some time ago, when nobody looks at it any more."""
        agent_id = self._ended.pop(task.info.id, None)
        if agent_id is not None:
            self._drop(agent_id)

    def _task_of(self, name: str) -> str:
        """Return the id of the task of the mate that has a name; empty for none."""
        member = None if self.team is None else self.team.roster.find(name)
        return "" if member is None or member.is_lead else member.id


def _write(disk: Disk, path: Path, content: bytes) -> None:
    disk.make_folder(path.parent)
    disk.write(path, content)


def _as_mate(definition: AgentDefinition, wish: MateWish) -> AgentDefinition:
    """Return a definition as it holds for a teammate (agents 2.26): it has the team's tools, and no servers or skills of its own."""
    tools = definition.tools
    if tools is not None and "*" not in tools:
        tools = tuple(dict.fromkeys((*tools, *_GIVEN, *([EXIT_PLAN_MODE] if wish.is_plan_required else []))))
    about = _ABOUT.format(name=wish.name, team=wish.team, lead=LEAD)
    prompts = (MAIN.system_prompt, about, definition.system_prompt.strip())
    prompt = "\n\n".join(one for one in prompts if one)
    return attrs.evolve(definition, system_prompt=prompt, tools=tools, skills=(), mcp_servers=())

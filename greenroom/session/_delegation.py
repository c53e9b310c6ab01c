"""What a session's crew stands on: its composition, its tree, its run folder; and how the host uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, final

import attrs
import trio

from greenroom.actors import Ref
from greenroom.agents import AgentDefinition, AgentState, Lineage, Loaded
from greenroom.agents.crew import (
    AGENT_TOOL,
    ENTER_WORKTREE,
    EXIT_WORKTREE,
    FORK,
    SEND_MESSAGE,
    AgentTool,
    ChildWish,
    Crew,
    EnterWorktree,
    ExitWorktree,
    HookAgents,
    Member,
    Order,
    Post,
    SkillForks,
    Stays,
    denied_types,
    fork_home,
    is_one_shot,
    make_send_message,
    report_after_crash,
)
from greenroom.agents.definitions import Definitions
from greenroom.core import Blocking, Cause, JournalError, Ports, StartFailed, Stopping, UsageError
from greenroom.session._composition import Composition
from greenroom.session._elsewhere import SessionElsewhere
from greenroom.session._handles import TaskHandle
from greenroom.session._neighbours import FolderNeighbours
from greenroom.session._recording import Recording
from greenroom.session._recovery import WHY_LOST, Due, Left, read_record
from greenroom.session._resume import load_agent
from greenroom.session._status import TaskStatus, status_of
from greenroom.supervisor import StopOrder, Supervisor, SupervisorSpec
from greenroom.tasks import AGENT, LOST, MCP_CALL, SHELL, TEAMMATE, TaskInfo, TaskNotice, Tasks
from greenroom.tools import Tool, ToolError

BACKGROUND: Final = "background"
TOGETHER: Final = SupervisorSpec(stop_order=StopOrder.TOGETHER)


@final
class SessionGround:
    """What the agents of a crew are made of.

    Args:
        composition: Makes them.
        adopt: Takes note of an agent that was started.
        drop: Forgets it.
    """

    def __init__(
        self,
        composition: Composition,
        adopt: Callable[[Ref[Any], AgentState], None],
        drop: Callable[[str], None],
        find: Callable[[str], tuple[Ref[Any], AgentState] | None],
    ) -> None:
        self._composition = composition
        self._adopt = adopt
        self.drop = drop
        self.find = find

    def adopt(self, ref: Ref[Any], home: AgentState) -> None:
        """Take note of an agent that was started: lasting answers are for it too."""
        self._composition.take_in(home)
        self._adopt(ref, home)

    def make_child(self, wish: ChildWish) -> AgentState:
        """Return what belongs to a new agent."""
        return self._composition.make_home(wish.definition, wish=wish)

    def let_go(self, home: AgentState) -> None:
        """Forget an agent that has ended."""
        self._composition.let_go(home)

    async def find_definitions(self) -> Definitions:
        """Return the definitions as they are now."""
        return await self._composition.definitions.refresh()

    def has_budget(self) -> bool:
        """Whether anything may still be spent."""
        return self._composition.budget.exceeded is None


@final
@attrs.frozen
class FolderArchive:
    """Agents as the run folder tells of them."""

    run_folder: Path
    blocking: Blocking

    async def load(self, agent_id: str) -> tuple[Mapping[str, Any], Loaded]:
        """Return what is kept of an agent, and its conversation.

        Raises:
            UsageError: There is nothing of it.
        """
        loaded = await load_agent(self.run_folder, agent_id, self.blocking)
        record = await self.blocking.run(read_record, self.run_folder, agent_id)
        if not record:
            raise UsageError(f"nothing says what kind of agent {agent_id!r} was: its record is missing")
        return record, loaded


@final
class Delegation:
    """The sub-agents of a session, and what the host does with them. Made by `open_session`."""

    def __init__(
        self,
        supervisor: Supervisor,
        composition: Composition,
        tasks: Tasks,
        ground: SessionGround,
        *,
        ports: Ports,
        run_folder: Path,
        write: Callable[[Path, bytes], None],
        wait_durable: Callable[[], Awaitable[None]],
        stays: Stays,
    ) -> None:
        self.stays = stays
        self._supervisor = supervisor
        self._branch: Supervisor | None = None
        self._opening = trio.Lock()
        self._composition = composition
        self.tasks = tasks
        self.crew = Crew(
            tasks=tasks,
            open_branch=self._open_branch,
            ground=ground,
            settings=composition.delegation,
            ports=ports,
            run_folder=run_folder,
            write=write,
            stays=stays,
            wait_durable=wait_durable,
        )
        self.forks = SkillForks(crew=self.crew, equip=composition.hooks.add, wait_durable=self._durable)
        composition.fork_skill = self.forks
        composition.hooks.asker = HookAgents(crew=self.crew, limit=composition.hooks.limit)
        neighbours = FolderNeighbours(run_folder, ports.blocking, ports.disk, ports.ids)
        self.post = Post(self.crew, FolderArchive(run_folder, ports.blocking), neighbours)
        self.elsewhere = SessionElsewhere(composition.teams)
        self._wait_durable = wait_durable
        self._run_folder = run_folder

    def bound_tools(self) -> dict[str, Tool]:
        """Return the tools that stand for this session's crew."""
        agent = self._agent_tool()
        find = self.crew.find_home
        return {
            AGENT_TOOL: agent,
            SEND_MESSAGE: self.send_message(),
            ENTER_WORKTREE: EnterWorktree(stays=self.stays, find_home=find),
            EXIT_WORKTREE: ExitWorktree(stays=self.stays, find_home=find),
        }

    def _agent_tool(self) -> AgentTool:
        return AgentTool(
            crew=self.crew,
            elsewhere=self.elsewhere,
            wait_durable=self._durable,
            definitions=self._composition.definitions.current,
        )

    def relist(self) -> None:
        """Let models read of the definitions that count now, from their next request on."""
        self._composition.exchange(AGENT_TOOL, self._agent_tool())

    def send_message(self, *, has_team: bool = False) -> Tool:
        """Return the tool SendMessage, in the words for members of a team or in those for other agents."""
        return make_send_message(self.post, self._wait_durable, has_team=has_team)

    async def _durable(self) -> None:
        try:
            await self._wait_durable()
        except JournalError as error:
            raise ToolError(f"it was done, and cannot be put on record: {error}") from error

    async def _open_branch(self) -> Supervisor:
        if self._branch is not None and not self._branch.ref.is_gone:
            await trio.lowlevel.checkpoint_if_cancelled()
            return self._branch
        async with self._opening:
            if self._branch is None or self._branch.ref.is_gone:
                try:
                    self._branch = await self._supervisor.spawn_supervisor(BACKGROUND, TOGETHER)
                except StartFailed as error:
                    raise Stopping(self._supervisor.ref.path) from error
            return self._branch

    # --- an earlier process ----------------------------------------------------------------------------------------

    def take_up(self, left: Left) -> None:
        """Take note of the agents and tasks that earlier processes of the run had, and tell what nobody was told of.

        It begins a turn of the main agent's, unless a person's answer is waited for: that turn would give the call up.
        """
        crew = self.crew
        crew.spawned += left.agents
        for name, agent_id in left.names:
            crew.recall_name(name, agent_id)
        wakes = crew.main_home is not None and not crew.main_home.start.keeps_open
        for due in left.due:
            crew.deliver(attrs.evolve(self._notice_of(due), wakes=wakes))

    def _notice_of(self, due: Due) -> TaskNotice:
        view = due.view
        info = TaskInfo(
            id=view.task,
            kind=view.type,
            description=view.description,
            owner=view.owner,
            tool_use_id=view.call,
            output_file=self._run_folder / "tasks" / f"{view.task}.output",
            agent_type=view.agent,
            depth=view.depth,
            run=view.run,
        )
        cause = Cause(view.cause, WHY_LOST if view.cause == LOST else "") if view.cause else None
        task = self.tasks.recall(info, state=view.state, error=view.error, cause=cause)
        task.exit_code, task.usage = view.exit_code, due.usage
        kept = str(due.record.get("worktree") or "")
        if kept and due.view.type == AGENT:
            task.worktree, task.worktree_branch = kept, str(due.record.get("branch") or "")
        if view.type == MCP_CALL:
            task.result = due.text or None
        if view.type == AGENT:
            task.result = self.crew.report_of(due.text, info.output_file) if due.text else ""
            task.result = report_after_crash(task.result, self.crew.main_home)
        if view.cause == LOST and due.has_transcript and not self._is_one_shot(view.agent):
            return attrs.evolve(task.notice, summary=f"{task.notice.summary}; a message to {view.task} goes on with it")
        return task.notice

    def _is_one_shot(self, definition: str) -> bool:
        found = self._composition.definitions.current.get(definition)
        return found is not None and is_one_shot(found)

    # --- the host --------------------------------------------------------------------------------------------------

    async def spawn(
        self,
        definition: str | AgentDefinition,
        prompt: str,
        *,
        background: bool,
        name: str,
        description: str,
        model: str | None,
        isolation: Literal["worktree"] | None,
        notify: Literal["host", "main"],
    ) -> Member:
        """Start an agent for the host, as `Session.spawn` says."""
        if not prompt.strip():
            raise UsageError("an agent needs a prompt; this one is blank")
        forked: AgentState | None = None
        if isinstance(definition, str):
            known = await self.crew.ground.find_definitions()
            if definition == FORK and FORK not in known:
                forked = self._to_fork(model)
            definition = _kind_of_fork(forked) if forked is not None else known.find(definition)
        kind: AgentDefinition = definition

        def make(lineage: Lineage) -> AgentState:
            if forked is not None:
                return fork_home(forked, lineage)
            wish = ChildWish(definition=kind, parent=None, lineage=lineage, model=model, is_background=background)
            home = self.crew.main_home
            if home is not None and home.worktree is not None:  # where the session is, there it works
                wish = attrs.evolve(wish, place=home.profile.place, own_roots=home.profile.own_roots)
            return self.crew.ground.make_child(wish)

        main = self.crew.main
        order = Order(
            home=make,
            definition=kind,
            prompt=prompt,
            description=description or kind.name,
            caller=forked,
            caller_id=main.id if forked is not None and main is not None else "",
            is_fork=forked is not None,
            owner=main.id if notify == "main" and main is not None else "",
            is_background=background,
            is_silent=notify != "main",
            name=name,
            in_worktree=(isolation or (None if forked is not None else kind.isolation)) == "worktree",
            waits=True,
        )
        try:
            member = await self.crew.start(order)
        except ToolError as error:
            raise UsageError(str(error)) from error
        if not background:
            try:
                await member.task.wait_released()
            except trio.Cancelled:
                member.task.kill(Cause("host", "the call that waited for it was cancelled"))
                raise
        return member

    def _to_fork(self, model: str | None) -> AgentState:
        """Return what belongs to the main agent, which a person forks (agents 1.100)."""
        main = self.crew.main_home
        if main is None or main.conversation is None:
            raise UsageError("there is nothing to fork yet: the main agent has not started")
        if self.crew.settings.coordinator:
            raise UsageError("a coordinator is not forked: spawn an agent of a type")
        if model is not None:
            raise UsageError(f"a fork keeps the model of the main agent: leave out model={model!r}")
        rule = denied_types(main).get(FORK)
        if rule is not None:
            raise UsageError(f"the agent type {FORK!r} is denied by the rule {rule}")
        return main

    async def stop_at_budget(self) -> None:
        """Once nothing more may be spent, end what runs in the background (agents 1.73); its notices begin no turns."""
        denial = await self._composition.budget.wait_exceeded()
        for one in self.tasks.running():
            if one.is_background and one.info.kind != TEAMMATE:  # a teammate's turns fail, and it lives on
                one.is_quiet = True
                one.kill(Cause("budget", str(denial)))

    @property
    def is_quiet(self) -> bool:
        """Whether no agent runs, and the end of each was told."""
        return self.crew.is_quiet

    @property
    def has_commands(self) -> bool:
        """True if a command or a call of an MCP server runs in the background, or its end has not been looked after."""
        return any(one.info.kind in {SHELL, MCP_CALL} and not one.is_settled for one in self.tasks.all())


def _kind_of_fork(parent: AgentState) -> AgentDefinition:
    return attrs.evolve(parent.profile.definition, name=FORK)


class OfHost:
    """What a program does with the sub-agents of a session; a part of `Session`."""

    delegation: Delegation
    """What keeps them."""
    _recording: Recording

    async def spawn(
        self,
        definition: str | AgentDefinition,
        prompt: str,
        *,
        background: bool = False,
        name: str = "",
        description: str = "",
        model: str | None = None,
        isolation: Literal["worktree"] | None = None,
        notify: Literal["host", "main"] = "host",
    ) -> TaskHandle:
        """Start an agent and return its handle; where too many run, it waits for a place, `pending`.

        It comes back when that is on record, and waits before where more is to be written than the disk keeps up with.

        Cancelled before it is on its way, nothing is left; cancelled while it is waited for, it is killed.

        Args:
            definition: The name of a definition, or one; `fork` for a fork of the main agent, with all that it knows now.
            prompt: What it is told.
            background: False returns when it has ended, or was moved to the background.
            name: What it is reached by besides its id.
            description: What it does, in some words; by default the name of its definition.
            model: An alias or an id; by default as its definition says.
            isolation: `worktree` for a checkout of its own.
            notify: Who is told of its end: nobody but the handle, or also the main agent, by a notice.

        Raises:
            UsageError: There is no such definition, it cannot be used, or no worktree can be made.
            JournalError: It could not be put on record.
            Stopping: The session ends.
        """
        await self._recording.wait_open()
        delegation = self.delegation
        member = await delegation.spawn(
            definition,
            prompt,
            background=background,
            name=name,
            description=description,
            model=model,
            isolation=isolation,
            notify=notify,
        )
        handle = TaskHandle(delegation.crew, delegation.post, member, self._recording)
        await self._recording.commit()
        return handle

    def background_all(self) -> list[str]:
        """Let every call go on that waits for an agent, a command or an MCP server, which does not notice; returns the ids."""
        # A hook waits for its agent whatever becomes of the calls.
        services = {one.id for one in self.delegation.crew.members.values() if one.order.is_service}
        running = self.delegation.tasks.running()
        waited_for = [one for one in running if not one.is_background and one.info.id not in services]
        return [one.info.id for one in waited_for if one.move_to_background()]

    def kill_all(self, why: str = "killed") -> list[str]:
        """End every agent, command and call that runs in the background, as a person's word; returns the ids."""
        running = [one for one in self.delegation.tasks.running() if one.is_background]
        for one in running:
            one.is_stopped_by_user = True
        return [one.info.id for one in running if one.kill(Cause("host", why))]

    async def abandon_tasks(self, why: str, *, within_s: float) -> None:
        """End every agent, command and call without a notice to anybody, and wait until they have ended.

        Args:
            why: The reason that is recorded.
            within_s: Seconds after which it no longer waits.
        """
        left = self.delegation.tasks.running()
        for task in left:
            task.is_silent = True
        for task in left:
            task.kill(Cause("host", why))
        with trio.move_on_after(within_s):
            for task in left:
                await task.wait_settled()

    def tasks(self) -> list[TaskStatus]:
        """Return how each agent, command and call stands that runs, or ended not too long ago, in the order of starting."""
        colors = {one.id: one.definition.color for one in self.delegation.crew.members.values()}
        return [status_of(one, color=colors.get(one.info.id)) for one in self.delegation.tasks.all()]

    def find_task(self, task: str) -> TaskStatus | None:
        """Return how a task stands, by its id or the name of its agent; None if it is unknown or was forgotten."""
        found = self.delegation.tasks.find(task)
        return None if found is None else status_of(found)

    def handle(self, agent: str) -> TaskHandle:
        """Return the handle of an agent that somebody started, such as one of the model's; of its latest run.

        Args:
            agent: Its id or its name.

        Raises:
            UsageError: There is no such agent in memory; `session.tasks()` lists those that there are.
        """
        crew = self.delegation.crew
        member = crew.members.get(crew.id_of(agent))
        if member is None:
            there_are = ", ".join(crew.members) or "none"
            raise UsageError(f"there is no agent {agent!r} in memory; there are: {there_are}")
        return TaskHandle(crew, self.delegation.post, member, self._recording)

    def kill_task(self, task: str, why: str = "killed") -> bool:
        """End one agent or command, wherever it runs, as a person's word; says whether it still ran.

        Args:
            task: Its id, or the name of an agent.
            why: The reason that is recorded.

        Raises:
            UsageError: There is no such task.
        """
        found = self.delegation.tasks.find(task)
        if found is None:
            running = ", ".join(one.info.id for one in self.delegation.tasks.running()) or "none"
            raise UsageError(f"there is no task {task!r}; these run: {running}")
        if not found.is_finished:
            found.is_stopped_by_user = True
        return found.kill(Cause("host", why))

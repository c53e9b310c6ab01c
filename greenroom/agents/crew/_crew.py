"""The sub-agents of a session: started, linked, found, resumed, ended, reported, released.

Whatever refuses an agent refuses it before its worktree, its task and its name exist. Record, actor and first
message are made in one step. An agent that is killed takes along what descends from it; one that ends by itself does
not. The end of a run is reported to the agent that asked for it, else to the nearest living ancestor, at last to main.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import EDGE_TO, Down, Ref, State
from greenroom.agents._conversation import Appended
from greenroom.agents._inputs import Note
from greenroom.agents._loading import Loaded
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.crew._child import child_kind, child_spec
from greenroom.agents.crew._fork import directive
from greenroom.agents.crew._handoffs import AfterCare, HandOffs
from greenroom.agents.crew._main_agent import MainAgent
from greenroom.agents.crew._orders import DelegationSettings, Ground, Member, Order
from greenroom.agents.crew._places import Places
from greenroom.agents.crew._reports import readable, report_of, with_denials, words_of
from greenroom.agents.crew._stays import Stays
from greenroom.agents.crew._telling import Telling
from greenroom.agents.delegation._results import NO_OUTPUT
from greenroom.agents.delegation._routing import SpawnRefused
from greenroom.core import Cause, Event, JournalBusy, JournalError, Ports, Stopping, actor_id, escape_text, message_of
from greenroom.supervisor import Supervisor
from greenroom.tasks import AGENT, SHELL, NoticeMode, Task, TaskInfo, TaskNotice, Tasks, TaskUsage
from greenroom.worktrees import Hold, Worktrees

SEND_MESSAGE: Final = "SendMessage"


@final
class Crew:
    """All agents of a session that were started by another one, or by the host, save teammates.

    Args:
        tasks: The table that they stand in.
        open_branch: Returns the supervisor that they live under.
        ground: Makes their records.
        main: The main agent.
        settings: The maximum number of agents, and more.
        run_folder: The folder of their outputs and transcripts.
        write: Appends to a file of the run folder, in order with the journal.
        worktrees: Makes checkouts; None where the session starts no programs.
        record: Records an event and returns when it is durable.
        wait_durable: Returns when everything recorded so far is durable.
    """

    def __init__(
        self,
        *,
        tasks: Tasks,
        open_branch: Callable[[], Awaitable[Supervisor]],
        ground: Ground,
        main: MainAgent,
        settings: DelegationSettings,
        ports: Ports,
        run_folder: Path,
        write: Callable[[Path, bytes], None],
        worktrees: Worktrees | None,
        record: Callable[[Event], Awaitable[None]],
        wait_durable: Callable[[], Awaitable[None]],
    ) -> None:
        self.tasks = tasks
        self.ground = ground
        self.settings = settings
        self.stays = Stays(
            worktrees=worktrees, tasks=tasks, record=record, others=ground.living, on_move=self._note_move
        )
        """The worktrees that agents have entered."""
        self.places = Places(worktrees, self.stays)
        self.members: dict[str, Member] = {}
        self.names: dict[str, list[str]] = {}
        """Every name that was given, with the agents that had it, in order."""
        self.spawned = 0
        self._main = main
        self._open_branch = open_branch
        self._ids = ports.ids
        self._outputs = run_folder / "tasks"
        self._run_folder = run_folder
        self._write = write
        self._starting = self._reserved = self._running = 0
        self._branch: Supervisor | None = None
        self._waiting: deque[Member] = deque()
        self._resuming: set[str] = set()
        self._wait_durable = wait_durable
        self._is_closed = self._is_starting_next = self._is_held_up = False
        self._telling = Telling(tasks, ground, self.members)
        self._hand_offs = HandOffs(self.find_home)
        tasks.join(self, deliver=self.deliver)

    def __repr__(self) -> str:
        return f"<Crew: {self.running} of {len(self.members)} run>"

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def main(self) -> Ref[Any] | None:
        """The main agent's address; None before it has started."""
        return None if self._main.started is None else self._main.started[0]

    @property
    def main_home(self) -> AgentState | None:
        """The main agent's record; None before it has started."""
        return self._main.home

    @property
    def running(self) -> int:
        """The number of agents with a place: those that run, and those that are just being started."""
        return self._running + self._reserved

    def id_of(self, agent: str) -> str:
        """Return the id of the agent that has a name now; of an id, that id."""
        return self.names.get(agent, [agent])[-1]

    def find_home(self, agent_id: str) -> AgentState | None:
        """Return what belongs to an agent of the session, teammates included."""
        found = self.home_of(agent_id)
        if found is None:
            other = self.ground.find(agent_id)
            return None if other is None else other[1]
        return found

    def home_of(self, agent_id: str) -> AgentState | None:
        """Return what belongs to an agent that is in memory, main included."""
        if self.main is not None and agent_id == self.main.id:
            return self.main_home
        member = self.members.get(agent_id)
        return None if member is None else member.home

    def below(self, agent_id: str) -> list[Member]:
        """Return what descends from an agent, and is in memory."""
        return [member for member in self.members.values() if agent_id in member.lineage.above]

    @property
    def is_quiet(self) -> bool:
        """True if no agent runs, and the end of each has been told."""
        is_busy = self.running or self._starting or self._waiting
        return not is_busy and all(member.task.is_settled for member in self.members.values())

    # --- starting --------------------------------------------------------------------------------------------------

    async def start(self, order: Order) -> Member:
        """Start an agent, and return when it is registered and on its way; there is no checkpoint after that.

        Cancelled before, nothing is left.

        Raises:
            UsageError: Its definition cannot be used.
            ToolError: No worktree can be made for it.
            JournalError: Nothing new may begin.
            Stopping: The session ends.
        """
        # One that may wait takes the place that is free when it has come to that; the runtime's own take none.
        place = 0 if order.waits or order.is_service else 1
        self._starting += 1
        self._reserved += place
        hold = None
        try:
            self._branch = await self._open_branch()
            agent_id = actor_id(self._ids)
            home = order.home(self._lineage(order))
            home.replace(id=agent_id)
            await home.ports.admit(home)
            above = self.members.get(order.caller_id)
            if order.in_worktree:
                hold = await self.places.open(agent_id, home)
            else:
                hold = self.places.share(home, order.caller or self.main_home, above)
            member = self._begin(agent_id, order, home, hold)
            hold = None
        finally:
            self._starting -= 1
            self._reserved -= place
            self._start_next()
            if hold is not None:
                with trio.CancelScope(shield=True):  # bounded by git's own limit
                    await hold.release()
        return member

    def _begin(self, agent_id: str, order: Order, home: AgentState, hold: Hold | None) -> Member:
        """Register an agent and send it on its way, or let it wait for a place, in one step."""
        if self._is_closed:
            raise Stopping("session")
        if order.caller is not None:
            self.free_name(order.name)
        task = self._open_task(agent_id, order, home)
        member = Member(id=agent_id, order=order, lineage=home.profile.lineage, task=task, home=home, hold=hold)
        self.members[agent_id] = member
        text = order.prompt if order.caller is None else escape_text(order.prompt)
        if order.is_fork:
            place, parent = (
                (str(home.profile.place), str(order.caller.cwd)) if order.in_worktree and order.caller else ("", "")
            )
            text = directive(text, place=place, parent=parent)
        if order.waits and (self._waiting or self.running >= self.settings.max_running):
            self._waiting.append(member)
            member.wait_with(text)
        else:
            self._launch_or_drop(member, Note(text))
        self.spawned += not order.is_service
        if order.name and order.is_background:
            self.take_name(member)
        return member

    def _lineage(self, order: Order) -> Lineage:
        caller, main = order.caller, self.main
        if caller is None:
            return Lineage(above=(main.id,) if main is not None else ())
        above = (order.caller_id, *caller.profile.lineage.above)
        skills = (*caller.profile.lineage.skills, *([order.skill] if order.skill else []))
        return Lineage(parent=order.caller_id, above=above, call=order.call, skill=order.skill, skills=skills)

    def _open_task(self, agent_id: str, order: Order, home: AgentState, *, run: int = 1) -> Task:
        """Register a run in the table."""
        info, kill = self._info(agent_id, order, home, run=run), partial(self._kill_actor, agent_id)
        task = self.tasks.open(info, is_background=order.is_background, kill=kill)
        home.begin_run(task, stall_s=self.settings.stall_s or math.inf)
        if order.is_silent:
            task.notice_mode = NoticeMode.NEVER
        return task

    def _info(self, agent_id: str, order: Order, home: AgentState, *, run: int) -> TaskInfo:
        return TaskInfo(
            id=agent_id,
            kind=AGENT,
            description=order.description,
            owner=order.owner,
            tool_use_id=order.call,
            output_file=self._outputs / f"{agent_id}.output",
            agent_type=order.definition.name,
            depth=home.profile.lineage.depth,
            run=run,
            default_result=NO_OUTPUT,
        )

    def free_name(self, name: str) -> str:
        """Return a name that an agent is to have.

        Raises:
            SpawnRefused: One that runs has it.
        """
        holder = self.members.get(self.id_of(name)) if name in self.names else None
        if holder is not None and holder.is_running:
            why = f"the agent {holder.id} is called {name!r} and runs; choose another name, or send it a message"
            raise SpawnRefused("name_taken", why)
        return name

    def take_name(self, member: Member) -> None:
        """Register an agent under its name."""
        self.recall_name(member.order.name, member.id)

    def recall_name(self, name: str, agent_id: str) -> None:
        """Register an agent under a name; one of an earlier process, too."""
        holders = self.names.setdefault(name, [])
        if agent_id not in holders:
            holders.append(agent_id)

    def launch(self, member: Member, first: Note) -> None:
        """Make the actor of a run and give it its first message, in one step.

        Raises:
            Stopping: The session ends.
            JournalError: Nothing new may begin.
        """
        branch = self._branch
        assert branch is not None
        run = member.task.info.run
        member.write_record(self._run_folder, self._write)
        cell = branch.start(
            child_kind(member.home),
            member.home,
            run == 1,
            partial(self._ready, member, member.task),
            partial(self._write_output, member),
            spec=child_spec(member.id if run == 1 else None),
        )
        ref = member.launched(Ref(cell))
        self._running += not member.order.is_service
        ref.tell(first, size_bytes=len(first.text))
        self.ground.adopt(ref, member.home)
        ref.watch(partial(self._ended, member, member.task))

    def _ready(self, member: Member, task: Task) -> None:
        """Note that a run can begin; the agent reads whom it can write to, as things are now."""
        home = member.home
        if task.info.run == 1 and not member.order.is_fork and SEND_MESSAGE in home.profile.tools:
            named = [each.order.name for each in self.members.values() if each.order.name and each is not member]
            listed = ", ".join(["`main`", *(f"`{name}`" for name in dict.fromkeys(named))])
            home.pending.remind(f"With {SEND_MESSAGE} you reach other agents of this session: {listed}.")
        self.tasks.begin(task)

    def _launch_or_drop(self, member: Member, first: Note) -> None:
        """Launch it; where that cannot be, its task ends before it has begun, and nobody but the caller hears of it."""
        try:
            self.launch(member, first)
        except BaseException:
            member.task.notice_mode = NoticeMode.NEVER
            if member.task.info.run == 1:  # `start` releases its worktree
                member.take_hold()
            self._settle(member, member.task, State.KILLED)
            raise

    # --- going on with one that has ended --------------------------------------------------------------------------

    def claim(self, agent_id: str) -> bool:
        """Claim an agent that is about to be resumed; return False if it is claimed already."""
        if agent_id in self._resuming:
            return False
        self._resuming.add(agent_id)
        return True

    def unclaim(self, agent_id: str) -> None:
        """Take that back."""
        self._resuming.discard(agent_id)

    def revive(self, agent_id: str, order: Order, lineage: Lineage, loaded: Loaded, *, run: int) -> Member:
        """Take an agent back into memory; its last run has ended."""
        home = order.home(lineage)
        home.replace(id=agent_id, lineage=lineage)
        home.start_from(loaded)
        task = self.tasks.recall(self._info(agent_id, order, home, run=run))
        self.tasks.release_later(task)  # unless it is resumed
        home.begin_run(task)
        member = Member(id=agent_id, order=order, lineage=lineage, task=task, home=home)
        self.members[agent_id] = member
        return member

    async def get_ready(self, member: Member) -> None:
        """Wait until another run of an agent can begin.

        Raises:
            ToolError: Its worktree is gone, or somebody else's now.
            Stopping: The session ends.
        """
        self._branch = await self._open_branch()
        await self.places.take_up(member)

    def begin_again(self, member: Member, first: Note, *, owner: str) -> None:
        """Start another run of an agent in the background, after `get_ready`; it takes a place in any case.

        Raises:
            Stopping: The session ends.
            JournalError: Nothing new may begin.
        """
        order = attrs.evolve(member.order, is_background=True, is_silent=not owner, owner=owner, call="", tell=None)
        member.begin_again(order, self._open_task(member.id, order, member.home, run=member.task.info.run + 1))
        self._launch_or_drop(member, first)

    # --- ending ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End those that wait for a place, and reviews, because the session ends; nobody waits for either any more."""
        self._is_closed = True
        self._hand_offs.close()
        for member in list(self._waiting):
            member.task.kill(Cause("session", "the session ends"))

    def _kill_actor(self, agent_id: str, cause: Cause) -> None:
        member = self.members[agent_id]
        if member.ref is None:  # it waits for a place
            self._waiting.remove(member)
            self._settle(member, member.task, State.KILLED)
        else:
            member.ref.kill(cause.why)

    def _ended(self, member: Member, task: Task, down: Down) -> None:
        if task.cause is None and down.state is State.KILLED:
            task.cause = member.home.run.ended_by or down.cause
        if down.state is State.FAILED:
            task.error = words_of(down.error)
        self._running -= not member.order.is_service
        try:
            self._settle(member, task, down.state)
        except Exception:  # whatever goes wrong with its report, it does not run any more
            if not task.is_finished:
                self.tasks.end(task, EDGE_TO[down.state])
            raise

    def _settle(self, member: Member, task: Task, state: State) -> None:
        home, progress = member.home, task.progress
        assert progress is not None
        task.result = with_denials(self.report_of(home.last_text, task.info.output_file), home.run.denials)
        task.ended_s = trio.current_time()
        task.usage = TaskUsage(
            total_tokens=progress.token_count,
            tool_uses=progress.tool_use_count,
            duration_ms=task.duration_ms,
        )
        home.end_run()
        if state is State.KILLED:
            for child in self.below(member.id):
                child.task.kill(Cause(member.id, "the agent that it was started for was stopped"))
        self._end_shells(member, task, state)
        with suppress(JournalError):  # what has ended is not held up by a disk on which nothing new begins
            member.write_record(self._run_folder, self._write)
        self._append_output(task, f"\n[{state.value}{f': {task.error}' if task.error else ''}]\n")
        review = self._hand_offs.begin(member, task, state)
        is_looked_after = review is not None or member.hold is not None or home.worktree is not None
        after_care = partial(self._look_after, member, task, review) if is_looked_after else None
        self.tasks.end(task, EDGE_TO[state], after_care)
        self._telling.pass_on(home, self._main.started)
        self._start_next()

    def report_of(self, text: str, output_file: Path) -> str:
        """Return what the reader of a run gets of its last text."""
        return report_of(text, output_file, limit=self.settings.report_chars)

    def _end_shells(self, member: Member, task: Task, state: State) -> None:
        """End the commands that an agent left running, or limit how long they may go on."""
        for shell in self.tasks.running(member.id):
            if shell.info.kind != SHELL:
                continue
            if state is State.KILLED or not task.is_background:
                shell.kill(Cause(member.id, "the agent that started it has ended"))
            else:
                self.tasks.limit(shell, self.settings.shell_max_s)

    def _start_next(self) -> None:
        if self._is_starting_next or self._is_held_up:  # the loop that runs, or is to come, starts them
            return
        self._is_starting_next = True
        try:
            while self._waiting and not self._is_closed and self.running < self.settings.max_running:
                member = self._waiting.popleft()
                try:
                    self.launch(member, Note(member.first))
                except JournalBusy:
                    self._waiting.appendleft(member)
                    self._is_held_up = True
                    self.tasks.beside(self._go_on_when_written)
                    return
                except (Stopping, JournalError) as error:
                    member.task.error = message_of(error)
                    self._settle(member, member.task, State.FAILED)
        finally:
            self._is_starting_next = False

    async def _go_on_when_written(self) -> None:
        with suppress(JournalError):  # which the next one that is started says
            await self._wait_durable()
        self._is_held_up = False
        self._start_next()

    async def _look_after(self, member: Member, task: Task, review: AfterCare | None) -> None:
        if review is not None:
            await review()
        await self.places.let_go(member, task)
        with suppress(JournalError):
            member.write_record(self._run_folder, self._write)

    def release(self, task: Task) -> bool:
        """Release what an agent held; it is on disk. Return False if the agent is about to be resumed."""
        member = self.members.get(task.info.id)
        if member is None or member.task is not task:
            return True
        if member.id in self._resuming:
            return False
        del self.members[member.id]
        self.ground.let_go(member.home)
        self.ground.drop(member.id)
        return True

    # --- telling ---------------------------------------------------------------------------------------------------

    def deliver(self, notice: TaskNotice) -> None:
        """Hand a notice to its reader, in the step in which the task ended."""
        self._telling.deliver(notice, self._main.started)

    def _note_move(self, home: AgentState) -> None:
        member = self.members.get(home.profile.id)
        if member is not None:
            with suppress(JournalError):  # it is written again at the end of its run
                member.write_record(self._run_folder, self._write)

    def _write_output(self, member: Member, appended: Appended) -> None:
        if text := readable(appended.message):
            self._append_output(member.task, text)

    def _append_output(self, task: Task, text: str) -> None:
        with suppress(JournalError):  # the conversation refuses too, and says so
            self._write(task.info.output_file, text.encode(errors="replace"))
